/* SPDX-License-Identifier: Apache-2.0 */
/* What a model accepts: the types and shapes of its inputs, and named dimensions, which have one
 * size in all inputs of a run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/model/model_state.h"

/* The size that the options give a named dimension; -1: none. */
static int64_t size_by_options(const gantry_onnx_model_t *model, const char *name) {
    for (size_t i = 0; name && i < model->dim_count; ++i) {
        if (strcmp(model->dims[i].name, name) == 0) return model->dims[i].size;
    }
    return -1;
}

void gantry__onnx_describe_value(const gantry_onnx_model_t *model, bool is_input, size_t index,
                                 gantry_onnx_value_t *out_value) {
    const gantry__onnx_graph_t *graph = model->graph_model->graph;
    const gantry__onnx_value_t number = is_input ? graph->inputs[index] : graph->outputs[index];
    const gantry__onnx_value_info_t *info = &model->graph_model->values[number];
    const gantry__onnx_type_t *type = &info->type;
    *out_value = (gantry_onnx_value_t){
        .name = info->name,
        .dtype = type->kind == GANTRY__ONNX_TENSOR ? gantry__onnx_stored_dtype(type->element)
                                                   : GANTRY_DTYPE_NONE,
        .shape = {.rank = type->rank <= GANTRY_MAX_RANK ? type->rank : -1},
        .dim_names = model->dim_names[is_input ? index : graph->input_count + index],
        .is_optional = is_input && info->tensor};
    for (int32_t i = 0; i < out_value->shape.rank; ++i) {
        int64_t *size = &out_value->shape.dims[i];
        *size = type->dims[i].size;
        if (*size < 0) *size = size_by_options(model, out_value->dim_names[i]);
    }
}

/* Writes "[batch,3,-1]". */
static void write_accepted(const gantry_onnx_value_t *value, char *out, size_t bytes) {
    size_t used = (size_t)snprintf(out, bytes, "[");
    for (int32_t i = 0; i < value->shape.rank && used < bytes; ++i) {
        char size[32];
        (void)snprintf(size, sizeof size, "%" PRId64, value->shape.dims[i]);
        const char *name = value->shape.dims[i] < 0 ? value->dim_names[i] : NULL;
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%.40s", i ? "," : "", name ? name : size);
    }
    if (used < bytes) (void)snprintf(out + used, bytes - used, "]");
}

static gantry_status_t signature_check_shape(const gantry_onnx_model_t *model,
                                             const gantry_onnx_value_t *value,
                                             const gantry_shape_t *shape) {
    bool fits = value->shape.rank < 0 || value->shape.rank == shape->rank;
    for (int32_t i = 0; fits && i < value->shape.rank; ++i)
        fits = value->shape.dims[i] < 0 || shape->dims[i] < 0 ||
               value->shape.dims[i] == shape->dims[i];
    if (fits) return GANTRY_OK;
    char accepted[512], given[256];
    write_accepted(value, accepted, sizeof accepted);
    (void)gantry_shape_format(shape, given, sizeof given);
    return gantry__refuse("%s: input '%.200s' has the shape %s; %s is accepted", model->name,
                          value->name, given, accepted);
}

static gantry_status_t check_input(const gantry_onnx_model_t *model, size_t index,
                                   const onnx_given_t *given) {
    gantry_onnx_value_t value;
    gantry__onnx_describe_value(model, true, index, &value);
    if (!given->shape) {
        if (value.is_optional) return GANTRY_OK;
        return gantry__refuse("%s: input '%.200s' is NULL; the file has no value for it",
                              model->name, value.name);
    }
    if (value.dtype != GANTRY_DTYPE_NONE && given->dtype != value.dtype)
        return gantry__refuse("%s: input '%.200s' has elements of %s; %s is accepted", model->name,
                              value.name, gantry_dtype_name(given->dtype),
                              gantry_dtype_name(value.dtype));
    return signature_check_shape(model, &value, given->shape);
}

/* Compares the named dimensions of input `first` with those of all inputs from it on. */
static gantry_status_t check_named(const gantry_onnx_model_t *model, const onnx_given_t *inputs,
                                   size_t count, size_t first, int32_t axis) {
    const char *name = model->dim_names[first][axis];
    const int64_t size = inputs[first].shape->dims[axis];
    for (size_t k = first; name && size >= 0 && k < count; ++k) {
        const gantry__onnx_type_t *type = &gantry__onnx_input_info(model, k)->type;
        for (int32_t i = 0; inputs[k].shape && i < type->rank; ++i) {
            const char *other = model->dim_names[k][i];
            const int64_t other_size = inputs[k].shape->dims[i];
            if (!other || strcmp(other, name) != 0 || other_size == size || other_size < 0)
                continue;
            return gantry__refuse(
                "%s: dimension '%.200s' is %" PRId64 " in input '%.200s' and %" PRId64
                " in input '%.200s'; one size is accepted",
                model->name, name, size, gantry__onnx_input_info(model, first)->name, other_size,
                gantry__onnx_input_info(model, k)->name);
        }
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_check_inputs(const gantry_onnx_model_t *model,
                                          const onnx_given_t *inputs, size_t count) {
    const size_t wanted = model->graph_model->graph->input_count;
    if (count != wanted)
        return gantry__refuse("%s has %zu input%s; %zu are given", model->name, wanted,
                              wanted == 1 ? "" : "s", count);
    for (size_t i = 0; i < count; ++i) GANTRY__TRY(check_input(model, i, &inputs[i]));
    for (size_t i = 0; i < count; ++i) {
        const int32_t rank = gantry__onnx_input_info(model, i)->type.rank;
        for (int32_t axis = 0; inputs[i].shape && axis < rank; ++axis)
            GANTRY__TRY(check_named(model, inputs, count, i, axis));
    }
    return GANTRY_OK;
}
