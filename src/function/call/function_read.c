/* SPDX-License-Identifier: Apache-2.0 */
/* What a function says of itself: its inputs, outputs and metadata. */
#include "function/call/function.h"
#include "shared/struct_size.h"

size_t gantry_function_input_count(const gantry_function_t *function) {
    return function ? function->input_count : 0;
}

size_t gantry_function_output_count(const gantry_function_t *function) {
    return function ? function->output_count : 0;
}

size_t gantry_function_metadata_count(const gantry_function_t *function) {
    return function ? function->texts.metadata_count : 0;
}

static gantry_status_t check_place_of(const gantry_function_t *function, const char *call,
                                      const char *what, size_t index, size_t count) {
    if (!function) return gantry__refuse("%s: the function is NULL; a function is accepted", call);
    if (index < count) return GANTRY_OK;
    return gantry__fail(GANTRY_OUT_OF_RANGE, "%s: function %s has %zu %s; %zu is not below", call,
                        function->name, count, what, index);
}

gantry_status_t gantry_function_get_input(gantry_function_t *function, size_t index,
                                          gantry_function_value_t *out_value) {
    GANTRY__TRY(check_place_of(function, "gantry_function_get_input", "inputs", index,
                               gantry_function_input_count(function)));
    const gantry_input_spec_t *input = &function->inputs[index];
    const gantry_function_value_t value = {
        .struct_size = sizeof value, .name = input->name, .dtype = input->dtype, input->shape};
    return gantry__struct_fill(out_value, &value, sizeof value,
                               "gantry_function_get_input: out_value");
}

gantry_status_t gantry_function_get_output(gantry_function_t *function, size_t index,
                                           gantry_function_value_t *out_value) {
    GANTRY__TRY(check_place_of(function, "gantry_function_get_output", "outputs", index,
                               gantry_function_output_count(function)));
    gantry_function_value_t value = {
        .struct_size = sizeof value,
        .name = function->texts.output_names ? function->texts.output_names[index] : ""};
    gantry__mutex_lock(&function->lock);
    const gantry__specialization_t *newest = function->specialization;
    if (newest) {
        value.dtype = newest->output_dtypes[index];
        value.shape = newest->shapes[function->input_count + index];
    }
    gantry__mutex_unlock(&function->lock);
    return gantry__struct_fill(out_value, &value, sizeof value,
                               "gantry_function_get_output: out_value");
}

gantry_status_t gantry_function_get_metadata(const gantry_function_t *function, size_t index,
                                             gantry_metadata_t *out_metadata) {
    if (!out_metadata)
        return gantry__refuse(
            "gantry_function_get_metadata: out_metadata is NULL; an address is accepted");
    GANTRY__TRY(check_place_of(function, "gantry_function_get_metadata", "texts of metadata", index,
                               gantry_function_metadata_count(function)));
    *out_metadata = function->texts.metadata[index];
    return GANTRY_OK;
}
