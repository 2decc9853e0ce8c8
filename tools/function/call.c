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
    size_t input_count, output_count;
} function_values_t;

/* ---- inputs ---- */

static const gantry_tensor_t *function_call_draw(gantry_scope_t *scope, gantry_dtype_t dtype,
                                                 gantry_shape_t shape, int64_t seed) {
    const bool is_floating = GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_FLOATING;
    const gantry_tensor_t *numbers = gantry_random_uniform(scope, shape, GANTRY_FLOAT32, &seed);
    if (dtype == GANTRY_BOOL) return gantry_greater(scope, numbers, gantry_scalar_f32(scope, 0.5f));
    if (!is_floating) numbers = gantry_mul(scope, numbers, gantry_scalar_f32(scope, 10));
    return gantry_cast(scope, numbers, dtype);
}

static const gantry_tensor_t *fill(const function_call_t *call, gantry_scope_t *scope,
                                   const gantry_function_value_t *value, uint64_t seed,
                                   uint64_t size) {
    gantry_shape_t shape = value->shape;
    for (int32_t k = 0; k < shape.rank; ++k) {
        if (shape.dims[k] < 0) shape.dims[k] = (int64_t)size;
    }
    switch (gantry_command_choice(call->values, "fill", 0)) {
        case 0: return function_call_draw(scope, value->dtype, shape, (int64_t)seed);
        case 1: return gantry_ones(scope, value->dtype, shape);
        default: return gantry_zeros(scope, value->dtype, shape);
    }
}

/* The file of "NAME=FILE" for a value, or NULL. */
static const char *function_call_file_of(const function_call_t *call, const char *option,
                                         const gantry_function_value_t *value, size_t index) {
    char number[32];
    const char *given;
    (void)snprintf(number, sizeof number, "%zu", index);
    for (size_t i = 0; (given = gantry_command_value_at(call->values, option, i)); ++i) {
        const char *equals = strchr(given, '=');
        const size_t length = equals ? (size_t)(equals - given) : 0;
        const bool is_named =
            length > 0 && strlen(value->name) == length && memcmp(given, value->name, length) == 0;
        const bool is_numbered =
            length > 0 && strlen(number) == length && memcmp(given, number, length) == 0;
        if (is_named || is_numbered) return equals + 1;
    }
    return NULL;
}

/* Each value of the option names an input or output; false after a message. */
static bool function_call_check_names(const function_call_t *call, const char *option, size_t count,
                                      gantry_status_t (*get)(gantry_function_t *, size_t,
                                                             gantry_function_value_t *)) {
    size_t given = 0, found = 0;
    while (gantry_command_value_at(call->values, option, given)) ++given;
    for (size_t i = 0; i < count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (get(call->function, i, &value) == GANTRY_OK)
            found += function_call_file_of(call, option, &value, i) != NULL;
    }
    if (given <= found) return true;
    (void)gantry_tool_fail(
        "--%s: %zu values name %zu of the function's %zu %ss; NAME=FILE, once for each, with a name or number of `gantry function info` is accepted",
        option, given, found, count, option);
    return false;
}

static bool function_call_make_inputs(const function_call_t *call, gantry_scope_t *scope,
                                      const function_values_t *values) {
    uint64_t seed = 0, size = 1;
    if (!gantry_command_integer(call->values, "seed", 0, INT64_MAX - 1000000, &seed) ||
        !gantry_command_integer(call->values, "size", 0, INT32_MAX, &size))
        return false;
    for (size_t i = 0; i < values->input_count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (gantry_function_get_input(call->function, i, &value) != GANTRY_OK) return false;
        const char *file = function_call_file_of(call, "input", &value, i);
        values->inputs[i] =
            file ? gantry_load_npy(scope, file) : fill(call, scope, &value, seed + i, size);
    }
    return true;
}

/* ---- outputs ---- */

static bool print_output(const function_call_t *call, const gantry_tensor_t *output, size_t index) {
    gantry_function_value_t value = {.struct_size = sizeof value};
    char type[TYPE_BYTES], number[32];
    size_t needed = 0;
    if (gantry_function_get_output(call->function, index, &value) != GANTRY_OK ||
        gantry_tensor_format(output, NULL, NULL, 0, &needed) != GANTRY_OK)
        return false;
    char *text = malloc(needed + 1);
    bool good = text && gantry_tensor_format(output, NULL, text, needed + 1, &needed) == GANTRY_OK;
    value.dtype = gantry_tensor_dtype(output);
    value.shape = *gantry_tensor_shape(output);
    const char *name = function_value_name(&value, index, number);
    (void)function_type_text(&value, type, sizeof type);
    if (good && call->json) {
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", name);
        gantry_json_text(call->json, "type", type);
        gantry_json_text(call->json, "text", text);
        gantry_json_end(call->json);
    } else if (good) {
        (void)printf("%s %s\n%s\n", name, type, text);
    }
    free(text);
    return good;
}

static bool function_call_write_outputs(const function_call_t *call, gantry_scope_t *scope,
                                        const function_values_t *values) {
    for (size_t i = 0; i < values->output_count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (gantry_function_get_output(call->function, i, &value) != GANTRY_OK) return false;
        const char *file = function_call_file_of(call, "output", &value, i);
        if (file && gantry_save_npy(scope, values->outputs[i], file) != GANTRY_OK) return false;
    }
    return true;
}

static bool print_outputs(const function_call_t *call, gantry_scope_t *scope,
                          const function_values_t *values) {
    bool good = true;
    if (gantry_command_has(call->values, "output"))
        return function_call_write_outputs(call, scope, values);
    if (call->json) gantry_json_array(call->json, NULL);
    for (size_t i = 0; good && i < values->output_count; ++i)
        good = print_output(call, values->outputs[i], i);
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

static bool call_once(const function_call_t *call, bool gives) {
    gantry_function_t *function = call->function;
    function_values_t values = {.input_count = gantry_function_input_count(function),
                                .output_count = gantry_function_output_count(function)};
    if (!function_call_check_names(call, "input", values.input_count, gantry_function_get_input) ||
        !function_call_check_names(call, "output", values.output_count, gantry_function_get_output))
        return false;
    values.inputs = calloc(values.input_count + 1, sizeof *values.inputs);
    values.outputs = calloc(values.output_count + 1, sizeof *values.outputs);
    gantry_scope_t *scope =
        gantry_scope_begin(call->runtime, gantry_command_value(call->values, "device"));
    bool good = values.inputs && values.outputs && scope;
    if (good)
        good = run_in(call, scope, &values, gives);
    else
        (void)gantry_tool_fail_last();
    if (scope) (void)gantry_scope_end(scope);
    free((void *)values.inputs);
    free((void *)values.outputs);
    return good;
}

int function_run(const function_call_t *call) {
    return call_once(call, true) ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

bool function_try(const function_call_t *call) { return call_once(call, false); }
