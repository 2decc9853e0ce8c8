/* SPDX-License-Identifier: Apache-2.0 */
/* gantry model run: one run, outputs printed or written to files. */
#include <stdlib.h>
#include <string.h>

#include "function/function.h"
#include "base/os/files.h"
#include "model/model.h"

/* ---- a run ---- */

static bool model_fail_scope(const gantry_scope_t *scope) {
    (void)gantry_tool_fail("%s", gantry_scope_message(scope));
    return false;
}

bool model_run_in(const model_call_t *call, gantry_scope_t *scope, const convert_set_t *inputs,
                  const gantry_tensor_t **outputs) {
    const gantry_tensor_t **given = calloc(inputs->count + 1, sizeof *given);
    if (!given) {
        (void)gantry_tool_fail("out of host memory");
        return false;
    }
    const bool good =
        model_give_inputs(inputs, scope, given) &&
        gantry_onnx_model_run(call->model, scope, given, inputs->count, outputs,
                              gantry_onnx_model_output_count(call->model)) == GANTRY_OK;
    free((void *)given);
    return good || model_fail_scope(scope);
}

static bool model_read_outputs(const model_call_t *call, const gantry_tensor_t *const *outputs,
                               convert_set_t *out) {
    for (size_t i = 0; i < gantry_onnx_model_output_count(call->model); ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (gantry_onnx_model_get_output(call->model, i, &value) != GANTRY_OK) {
            (void)gantry_tool_fail_last();
            return false;
        }
        convert_tensor_t *tensor =
            convert_set_add(out, call->path, value.name, gantry_tensor_dtype(outputs[i]),
                            gantry_tensor_shape(outputs[i]));
        if (!tensor) return false;
        tensor->data = malloc(tensor->bytes + 1);
        if (tensor->data &&
            gantry_tensor_read(outputs[i], tensor->data, tensor->bytes) == GANTRY_OK)
            continue;
        (void)gantry_tool_fail("the output %.200s cannot be read: %s", value.name,
                               tensor->data ? gantry_last_message() : "out of host memory");
        return false;
    }
    return true;
}

bool model_run_on(const model_call_t *call, const char *device, const convert_set_t *inputs,
                  convert_set_t *out) {
    const size_t count = gantry_onnx_model_output_count(call->model);
    const gantry_tensor_t **outputs = calloc(count + 1, sizeof *outputs);
    gantry_scope_t *scope = gantry_scope_begin(call->runtime, device);
    *out = (convert_set_t){.count = 0};
    if (!scope || !outputs) {
        if (scope) (void)gantry_scope_end(scope);
        free((void *)outputs);
        (void)gantry_tool_fail("%s", scope ? "out of host memory" : gantry_last_message());
        return false;
    }
    const bool good =
        model_run_in(call, scope, inputs, outputs) && model_read_outputs(call, outputs, out);
    free((void *)outputs);
    (void)gantry_scope_end(scope);
    return good;
}

/* The caller deinits both sets. Returns the exit code. */
static int model_make_and_run(const model_call_t *call, convert_set_t *inputs,
                              convert_set_t *outputs) {
    *outputs = (convert_set_t){.count = 0};
    const int code = model_make_inputs(call, inputs);
    if (code != GANTRY_TOOL_OK) return code;
    return model_run_on(call, call->device, inputs, outputs) ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

int model_trace(const model_call_t *call) {
    convert_set_t inputs, outputs;
    const int code = model_make_and_run(call, &inputs, &outputs);
    convert_set_deinit(&inputs);
    convert_set_deinit(&outputs);
    return code;
}

static int model_function_of_shapes(const model_call_t *call, const convert_set_t *inputs,
                                    gantry_function_t **out_function) {
    gantry_shape_t *shapes = calloc(inputs->count + 1, sizeof *shapes);
    if (!shapes) return gantry_tool_fail("out of host memory");
    for (size_t i = 0; i < inputs->count; ++i) {
        shapes[i] = inputs->tensors[i].shape;
        if (!inputs->tensors[i].data) shapes[i].rank = -1;
    }
    const gantry_status_t status =
        gantry_onnx_model_trace(call->model, shapes, inputs->count, call->device, out_function);
    free(shapes);
    if (status == GANTRY_OK) return GANTRY_TOOL_OK;
    if (status != GANTRY_FAILED_PRECONDITION) return gantry_tool_fail_last();
    convert_set_t outputs = {0};
    const bool good = model_run_on(call, call->device, inputs, &outputs);
    convert_set_deinit(&outputs);
    if (!good) return GANTRY_TOOL_FAILED;
    if (gantry_onnx_model_get_function(call->model, out_function) != GANTRY_OK)
        return gantry_tool_fail_last();
    *out_function = gantry_function_retain(*out_function);
    return GANTRY_TOOL_OK;
}

int model_make_function(const model_call_t *call, gantry_function_t **out_function) {
    convert_set_t inputs;
    int code = model_make_inputs(call, &inputs);
    if (code == GANTRY_TOOL_OK) code = model_function_of_shapes(call, &inputs, out_function);
    convert_set_deinit(&inputs);
    return code;
}

/* ---- files ---- */

static bool model_ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), bytes = strlen(end);
    return length > bytes && strcmp(text + length - bytes, end) == 0;
}

/* out_0.npy, out_1.npy, ...: an output's name may be any text. */
static bool model_save_folder(const char *folder, convert_set_t *outputs) {
    if (gantry__os_make_folder(folder, 0777) != 0) {
        gantry__os_info_t info;
        if (gantry__os_path_info(folder, &info) != 0 || info.kind != GANTRY__OS_FOLDER) {
            (void)gantry_tool_fail(
                "--save is %s, which is no folder and cannot be made; a name that ends with .npz or .safetensors is one file",
                folder);
            return false;
        }
    }
    for (size_t i = 0; i < outputs->count; ++i) {
        char path[4096];
        convert_set_t one = {.tensors = &outputs->tensors[i], .count = 1};
        (void)snprintf(path, sizeof path, "%s/out_%zu.npy", folder, i);
        if (!convert_write(path, CONVERT_NPY, &one)) return false;
    }
    return true;
}

/* A name that no archive may have becomes the output's number. */
static bool model_name_safely(convert_set_t *outputs) {
    for (size_t i = 0; i < outputs->count; ++i) {
        convert_tensor_t *tensor = &outputs->tensors[i];
        const char *why;
        char number[32];
        if (convert_zip_name_is_safe(tensor->name, &why)) continue;
        (void)snprintf(number, sizeof number, "%zu", i);
        char *name = gantry_tool_copy(number);
        if (!name) return false;
        free(tensor->name);
        tensor->name = name;
    }
    return true;
}

static bool model_save(const char *path, convert_set_t *outputs) {
    const bool is_npz = model_ends_with(path, ".npz");
    if (!is_npz && !model_ends_with(path, ".safetensors")) return model_save_folder(path, outputs);
    if (is_npz && !model_name_safely(outputs)) return false;
    return convert_write(path, is_npz ? CONVERT_NPZ : CONVERT_SAFETENSORS, outputs);
}

/* ---- printing ---- */

static const gantry_tensor_t *model_constant_of(gantry_scope_t *scope,
                                                const convert_tensor_t *tensor) {
    return gantry_constant(scope, tensor->dtype, tensor->shape, tensor->data, tensor->bytes);
}

static bool model_print_output(const model_call_t *call, const convert_tensor_t *tensor,
                               const char *text) {
    char shape[256];
    (void)gantry_shape_format(&tensor->shape, shape, sizeof shape);
    if (call->json) {
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", tensor->name);
        gantry_json_text(call->json, "dtype", gantry_dtype_name(tensor->dtype));
        gantry_json_array(call->json, "shape");
        for (int32_t k = 0; k < tensor->shape.rank; ++k)
            gantry_json_integer(call->json, NULL, tensor->shape.dims[k]);
        gantry_json_end(call->json);
        if (text) gantry_json_text(call->json, "text", text);
        gantry_json_end(call->json);
        return true;
    }
    function_print_text(tensor->name);
    (void)printf(" %s %s\n%s%s", gantry_dtype_name(tensor->dtype), shape, text ? text : "",
                 text ? "\n" : "");
    return true;
}

static bool model_print_elements(const model_call_t *call, const convert_tensor_t *output) {
    gantry_scope_t *scope = gantry_scope_begin(call->runtime, "CPU:0");
    const gantry_tensor_t *tensor = scope ? model_constant_of(scope, output) : NULL;
    size_t needed = 0;
    char *text = NULL;
    bool good = tensor && gantry_tensor_format(tensor, NULL, NULL, 0, &needed) == GANTRY_OK &&
                (text = malloc(needed + 1)) &&
                gantry_tensor_format(tensor, NULL, text, needed + 1, &needed) == GANTRY_OK;
    if (!good) (void)gantry_tool_fail_last();
    good = good && model_print_output(call, output, text);
    free(text);
    if (scope) (void)gantry_scope_end(scope);
    return good;
}

static bool model_print_outputs(const model_call_t *call, convert_set_t *outputs) {
    const char *save = gantry_command_value(call->values, "save");
    bool good = !save || model_save(save, outputs);
    if (good && call->json) gantry_json_array(call->json, NULL);
    for (size_t i = 0; good && i < outputs->count; ++i)
        good = save ? !call->json || model_print_output(call, &outputs->tensors[i], NULL)
                    : model_print_elements(call, &outputs->tensors[i]);
    if (good && call->json) gantry_json_end(call->json);
    return good;
}

int model_run(const model_call_t *call) {
    convert_set_t inputs, outputs;
    int code = model_make_and_run(call, &inputs, &outputs);
    if (code == GANTRY_TOOL_OK && gantry_command_has(call->values, "compare"))
        code = model_compare(call, &inputs, &outputs);
    else if (code == GANTRY_TOOL_OK && !model_print_outputs(call, &outputs))
        code = GANTRY_TOOL_FAILED;
    convert_set_deinit(&inputs);
    convert_set_deinit(&outputs);
    return code;
}
