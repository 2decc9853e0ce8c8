/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that an op of the step would refuse: labels that name no class, and words that an
 * embedding does not have. They must be refused before the step, because on a device that works on
 * its own the op would fail after the step has given all variables new values, which then could not
 * be read. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/model/model_state.h"

#define FIND(type)                                                 \
    for (int64_t i = 0; i < count; ++i) {                          \
        const int64_t value = (int64_t)((const type *)a->data)[i]; \
        if (value >= 0 && value < limit) continue;                 \
        *out_value = value;                                        \
        return i;                                                  \
    }                                                              \
    break;

/* The index of the first number outside [0, limit); -1: there is none, or the type has others. */
static int64_t find_outside(const gantry_array_t *a, int64_t limit, int64_t *out_value) {
    const int64_t count = gantry_shape_elements(&a->shape);
    switch (a->dtype) {
        case GANTRY_INT8: FIND(int8_t)
        case GANTRY_UINT8: FIND(uint8_t)
        case GANTRY_INT16: FIND(int16_t)
        case GANTRY_UINT16: FIND(uint16_t)
        case GANTRY_INT32: FIND(int32_t)
        case GANTRY_UINT32: FIND(uint32_t)
        case GANTRY_INT64: FIND(int64_t)
        default: break;
    }
    return -1;
}

static gantry_status_t check_labels(const gantry_model_t *model, size_t target,
                                    const gantry_array_t *batch) {
    const gantry_shape_t *output = &model->values[model->outputs[target]].shape;
    const gantry__target_t *t = &model->targets[target];
    const int64_t classes = output->rank > 0 ? output->dims[output->rank - 1] : 0;
    const bool is_named = model->target_count > 1;
    int64_t value = 0;
    if (t->loss != GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY || classes <= 0) return GANTRY_OK;
    const int64_t index = find_outside(&batch[model->input_count + t->label], classes, &value);
    if (index < 0) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT,
        "model %s: %s%slabels[%lld]: Received a label value of %lld which is outside the valid range of [0, %lld).",
        model->name, is_named ? gantry__model_output_name(model, target) : "", is_named ? ": " : "",
        (long long)index, (long long)value, (long long)classes);
}

/* "0,5": a place, as TensorFlow writes it. */
static void say_place(const gantry_shape_t *shape, int64_t index, char *out, size_t bytes) {
    size_t used = 0;
    int64_t rest = gantry_shape_elements(shape);
    for (int32_t d = 0; d < shape->rank && used < bytes; ++d) {
        rest /= shape->dims[d];
        used += (size_t)snprintf(out + used, bytes - used, "%s%lld", d ? "," : "",
                                 (long long)(index / rest));
        index %= rest;
    }
}

static gantry_status_t check_words(const gantry_model_t *model, const gantry__model_value_t *value,
                                   const gantry_array_t *batch) {
    const gantry_layer_t *layer = value->member ? value->member->layer : NULL;
    if (!layer || !layer->takes_indices || value->inputs[0] >= (int32_t)model->input_count)
        return GANTRY_OK;
    char place[256];
    int64_t word = 0;
    const gantry_array_t *words = &batch[value->inputs[0]];
    const int64_t limit = layer->weights[0].shape.dims[0],
                  index = find_outside(words, limit, &word);
    if (index < 0) return GANTRY_OK;
    say_place(&words->shape, index, place, sizeof place);
    return gantry__train_fail(
        GANTRY_INVALID_ARGUMENT, "model %s: layer %s: indices[%s] = %lld is not in [0, %lld)",
        model->name, gantry__member_name(value->member), place, (long long)word, (long long)limit);
}

gantry_status_t gantry__model_check_ranges(const gantry_model_t *model, gantry__step_mode_t step,
                                           const gantry_array_t *batch) {
    if (!model->is_built) return GANTRY_OK;
    for (size_t v = model->input_count; v < model->value_count; ++v) {
        if (model->values[v].input_count > 0)
            GANTRY__TRY(check_words(model, &model->values[v], batch));
    }
    for (size_t t = 0; t < model->target_count && step != GANTRY__STEP_PREDICT; ++t)
        GANTRY__TRY(check_labels(model, t, batch));
    return GANTRY_OK;
}
