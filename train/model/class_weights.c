/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model/class_weights.h"

#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"

/* False: a type that labels do not have. */
static bool read_label(const gantry_array_t *a, int64_t i, double *out) {
    switch (a->dtype) {
        case GANTRY_BOOL:
        case GANTRY_UINT8: *out = ((const uint8_t *)a->data)[i]; break;
        case GANTRY_INT8: *out = ((const int8_t *)a->data)[i]; break;
        case GANTRY_INT16: *out = ((const int16_t *)a->data)[i]; break;
        case GANTRY_UINT16: *out = ((const uint16_t *)a->data)[i]; break;
        case GANTRY_INT32: *out = ((const int32_t *)a->data)[i]; break;
        case GANTRY_UINT32: *out = ((const uint32_t *)a->data)[i]; break;
        case GANTRY_INT64: *out = (double)((const int64_t *)a->data)[i]; break;
        case GANTRY_FLOAT32: *out = (double)((const float *)a->data)[i]; break;
        case GANTRY_FLOAT64: *out = ((const double *)a->data)[i]; break;
        default: return false;
    }
    return true;
}

/* The label, or the place of the largest one of a row. */
static bool find_class(const gantry_array_t *labels, int64_t row, double *out_class) {
    const int64_t width = labels->shape.rank == 2 ? labels->shape.dims[1] : 1;
    double largest, value = 0;
    if (!read_label(labels, row * width, &largest)) return false;
    *out_class = width == 1 ? largest : 0;
    for (int64_t i = 1; i < width; ++i) {
        (void)read_label(labels, row * width + i, &value);
        if (value <= largest) continue;
        largest = value;
        *out_class = (double)i;
    }
    return true;
}

static gantry_status_t weigh_samples(gantry__class_weights_t *c, const gantry_model_t *model,
                                     const gantry_array_t *labels) {
    double class_number = 0;
    for (int64_t row = 0; row < labels->shape.dims[0]; ++row) {
        if (!find_class(labels, row, &class_number))
            return gantry__train_refuse(
                NULL,
                "gantry_model_fit: class_weights with labels of type %s; integers, bool, float32 and float64 are accepted",
                gantry_dtype_name(labels->dtype));
        if (!(class_number >= 0 && class_number < (double)c->count))
            return gantry__train_refuse(
                NULL,
                "gantry_model_fit: labels[%lld] is %g; class_weights has %zu classes, and a label from 0 to %zu is accepted",
                (long long)row, class_number, c->count, c->count - 1);
        const double weight = c->weights[(size_t)class_number];
        if (model->dtype == GANTRY_FLOAT64)
            ((double *)c->samples)[row] = weight;
        else
            ((float *)c->samples)[row] = (float)weight;
    }
    return GANTRY_OK;
}

static gantry_status_t class_weights_check_batch(const gantry_model_t *model,
                                                 const gantry_array_t *batch, size_t count) {
    const size_t labels = model->net.input_count;
    if (model->program.label_count > 1)
        return gantry__train_refuse(
            NULL, "gantry_model_fit: class_weights with labels of %zu outputs; of one are accepted",
            model->program.label_count);
    if (count <= labels) return GANTRY_OK; /* the step refuses it */
    if (count > labels + 1)
        return gantry__train_refuse(
            NULL,
            "gantry_model_fit: class_weights with a batch of %zu components, which has weights of samples; %zu are accepted",
            count, labels + 1);
    const gantry_shape_t *shape = &batch[labels].shape;
    if (shape->rank == 1 || (shape->rank == 2 && shape->dims[1] > 0)) return GANTRY_OK;
    char text[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(shape, text, sizeof text);
    return gantry__train_refuse(
        NULL,
        "gantry_model_fit: class_weights with labels of shape %s; [batch], [batch, 1] and [batch, classes] are accepted",
        text);
}

gantry_status_t gantry__class_weights_add(gantry__class_weights_t *c, const gantry_model_t *model,
                                          const gantry_array_t **batch, size_t *count) {
    const size_t labels = model->net.input_count;
    if (!c->weights) return GANTRY_OK;
    GANTRY__TRY(class_weights_check_batch(model, *batch, *count));
    if (*count <= labels) return GANTRY_OK;
    const int64_t rows = (*batch)[labels].shape.dims[0];
    if (rows > c->room) {
        gantry__free(c->samples);
        c->room = 0;
        c->samples = gantry__alloc((size_t)rows, sizeof(double));
        if (!c->samples) return GANTRY_RESOURCE_EXHAUSTED;
        c->room = rows;
    }
    GANTRY__TRY(weigh_samples(c, model, &(*batch)[labels]));
    memcpy(c->batch, *batch, *count * sizeof c->batch[0]);
    c->batch[labels + 1] = (gantry_array_t){model->dtype, GANTRY_SHAPE(rows), c->samples};
    *batch = c->batch;
    *count = labels + 2;
    return GANTRY_OK;
}

void gantry__class_weights_deinit(gantry__class_weights_t *c) { gantry__free(c->samples); }
