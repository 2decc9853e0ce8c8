/* SPDX-License-Identifier: Apache-2.0 */
/* gantry function run: inputs from files or filled, one call, outputs to files or printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function/function.h"

#define TYPE_BYTES 256

typedef struct function_values_t {
    const gantry_tensor_t **inputs, **outputs;
    const char **input_files, **output_files; /* of the line; NULL: none for this one */
    size_t input_count, output_count;
} function_values_t;

/* ---- inputs ---- */

const gantry_tensor_t *function_draw(gantry_scope_t *scope, gantry_dtype_t dtype,
                                     gantry_shape_t shape, int64_t seed) {
    const bool is_floating = GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_FLOATING;
    const gantry_tensor_t *numbers = gantry_random_uniform(scope, shape, GANTRY_FLOAT32, &seed);
    if (dtype == GANTRY_BOOL) return gantry_greater(scope, numbers, gantry_scalar_f32(scope, 0.5f));
    if (!is_floating) numbers = gantry_mul(scope, numbers, gantry_scalar_f32(scope, 10));
    return gantry_cast(scope, numbers, dtype);
}

static const gantry_tensor_t *fill(const function_call_t *call, gantry_scope_t *scope,
                                   const gantry_function_value_t *value, uint64_t seed) {
    gantry_shape_t shape = value->shape;
    for (int32_t k = 0; k < shape.rank; ++k) {
        if (shape.dims[k] < 0) shape.dims[k] = (int64_t)call->size;
    }
    switch (call->fill) {
        case FUNCTION_FILL_RANDOM: return function_draw(scope, value->dtype, shape, (int64_t)seed);
        case FUNCTION_FILL_ONES: return gantry_ones(scope, value->dtype, shape);
        default: return gantry_zeros(scope, value->dtype, shape);
    }
}

static bool function_call_make_inputs(const function_call_t *call, gantry_scope_t *scope,
                                      const function_values_t *values) {
    for (size_t i = 0; i < values->input_count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (gantry_function_get_input(call->function, i, &value) != GANTRY_OK) return false;
        const char *file = values->input_files[i];
        values->inputs[i] =
            file ? gantry_load_npy(scope, file) : fill(call, scope, &value, call->seed + i);
    }
    return true;
}

/* ---- outputs ---- */

/* Prints name, type and elements; to JSON, the file instead if the output is in one. */
static bool print_output(const function_call_t *call, const gantry_tensor_t *output, size_t index,
                         const char *text, const char *file) {
    gantry_function_value_t value = {.struct_size = sizeof value};
    char type[TYPE_BYTES], number[32];
    if (gantry_function_get_output(call->function, index, &value) != GANTRY_OK) return false;
    value.dtype = gantry_tensor_dtype(output);
    value.shape = *gantry_tensor_shape(output);
    const char *name = function_value_name(&value, index, number);
    (void)function_type_text(&value, type, sizeof type);
    if (call->json) {
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", name);
        gantry_json_text(call->json, "type", type);
        gantry_json_text(call->json, file ? "file" : "text", file ? file : text);
        gantry_json_end(call->json);
    } else if (text) {
        function_print_text(name);
        (void)printf(" %s\n%s\n", type, text);
    }
    return true;
}

static bool print_elements(const function_call_t *call, const gantry_tensor_t *output,
                           size_t index) {
    size_t needed = 0;
    if (gantry_tensor_format(output, NULL, NULL, 0, &needed) != GANTRY_OK) return false;
    char *text = malloc(needed + 1);
    const bool good = text &&
                      gantry_tensor_format(output, NULL, text, needed + 1, &needed) == GANTRY_OK &&
                      print_output(call, output, index, text, NULL);
    free(text);
    return good;
}

static bool write_files(gantry_scope_t *scope, const function_values_t *values) {
    for (size_t i = 0; i < values->output_count; ++i) {
        const char *file = values->output_files[i];
        if (file && gantry_save_npy(scope, values->outputs[i], file) != GANTRY_OK) return false;
    }
    return true;
}

static bool print_outputs(const function_call_t *call, gantry_scope_t *scope,
                          const function_values_t *values) {
    const bool has_files = gantry_command_has(call->values, "output");
    bool good = !has_files || write_files(scope, values);
    if (!good) return false;
    if (call->json) gantry_json_array(call->json, NULL);
    for (size_t i = 0; good && i < values->output_count; ++i) {
        const gantry_tensor_t *output = values->outputs[i];
        const char *file = values->output_files[i];
        if (!has_files) good = print_elements(call, output, i);
        if (file) good = print_output(call, output, i, NULL, file);
    }
    if (call->json) gantry_json_end(call->json);
    return good;
}

/* ---- the call ---- */

static bool run_in(const function_call_t *call, gantry_scope_t *scope,
                   const function_values_t *values, bool gives) {
    if (!function_call_make_inputs(call, scope, values)) return false;
    if (gantry_scope_status(scope) == GANTRY_OK)
        (void)gantry_function_call(scope, call->function, values->inputs, values->input_count,
                                   values->outputs, values->output_count);
    if (gantry_scope_status(scope) != GANTRY_OK) {
        (void)gantry_tool_fail("%s", gantry_scope_message(scope));
        return false;
    }
    if (!gives || print_outputs(call, scope, values)) return true;
    (void)gantry_tool_fail_last();
    return false;
}

static int call_with_files(const function_call_t *call, const function_values_t *values,
                           bool gives) {
    int code = function_read_files(call, "input", values->input_count, gantry_function_get_input,
                                   values->input_files);
    if (code == GANTRY_TOOL_OK && gives)
        code = function_read_files(call, "output", values->output_count, gantry_function_get_output,
                                   values->output_files);
    if (code != GANTRY_TOOL_OK) return code;
    gantry_scope_t *scope =
        gantry_scope_begin(call->runtime, gantry_command_value(call->values, "device"));
    if (!scope) return gantry_tool_fail_last();
    if (!run_in(call, scope, values, gives)) code = GANTRY_TOOL_FAILED;
    (void)gantry_scope_end(scope);
    return code;
}

static int call_once(const function_call_t *call, bool gives) {
    function_values_t values = {.input_count = gantry_function_input_count(call->function),
                                .output_count = gantry_function_output_count(call->function)};
    values.inputs = calloc(values.input_count + 1, sizeof *values.inputs);
    values.outputs = calloc(values.output_count + 1, sizeof *values.outputs);
    values.input_files = calloc(values.input_count + 1, sizeof *values.input_files);
    values.output_files = calloc(values.output_count + 1, sizeof *values.output_files);
    const int code = values.inputs && values.outputs && values.input_files && values.output_files
                         ? call_with_files(call, &values, gives)
                         : gantry_tool_fail("out of host memory");
    free((void *)values.inputs);
    free((void *)values.outputs);
    free((void *)values.input_files);
    free((void *)values.output_files);
    return code;
}

int function_run(const function_call_t *call) { return call_once(call, true); }

int function_try(const function_call_t *call) { return call_once(call, false); }
