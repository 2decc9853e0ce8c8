/* SPDX-License-Identifier: Apache-2.0 */
/* gantry model: inputs from files or made, and sizes for dimensions with names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "function/function.h"
#include "model/model.h"

/* ---- dimensions ---- */

static bool model_read_dim(model_call_t *call, const char *option, const char *text) {
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    errno = 0;
    const long long size = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || equals == text || end == equals + 1 || *end || errno != 0 || size < 1) {
        (void)gantry_command_refuse(
            call->values->command,
            "--%s is \"%s\"; accepted: NAME=SIZE, the name of a dimension and 1 or more, as batch=8",
            option, text);
        return false;
    }
    char *name = gantry_tool_copy(text);
    if (!name) {
        (void)gantry_tool_fail("out of host memory");
        return false;
    }
    name[equals - text] = '\0';
    call->dims[call->dim_count++] = (gantry_onnx_dim_t){name, (int64_t)size};
    return true;
}

static size_t model_count_values(const model_call_t *call, const char *option) {
    size_t count = 0;
    while (gantry_command_value_at(call->values, option, count)) ++count;
    return count;
}

bool model_read_dims(model_call_t *call) {
    static const char *const options[] = {"dim", "memory"};
    call->dims = calloc(model_count_values(call, "dim") + model_count_values(call, "memory") + 1,
                        sizeof *call->dims);
    if (!call->dims) {
        (void)gantry_tool_fail("out of host memory");
        return false;
    }
    for (size_t o = 0; o < 2; ++o) {
        const char *text;
        for (size_t i = 0; (text = gantry_command_value_at(call->values, options[o], i)); ++i) {
            const bool is_none = o == 1 && strcmp(text, "none") == 0;
            if (!is_none && !model_read_dim(call, options[o], text)) return false;
        }
    }
    return true;
}

/* Whether a dimension of an input has this name; names gets those that there are. */
static bool model_has_dim(const model_call_t *call, const char *wanted, char *names,
                          size_t names_size) {
    bool found = false;
    for (size_t i = 0; i < gantry_onnx_model_input_count(call->model); ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (gantry_onnx_model_get_input(call->model, i, &value) != GANTRY_OK) continue;
        for (int32_t k = 0; value.dim_names && k < value.shape.rank; ++k) {
            const char *name = value.dim_names[k];
            if (!name) continue;
            found |= strcmp(name, wanted) == 0;
            const size_t used = strlen(names);
            if (!strstr(names, name))
                (void)snprintf(names + used, names_size - used, "%s%.100s", used ? ", " : "", name);
        }
    }
    return found;
}

int model_check_dims(const model_call_t *call) {
    for (size_t i = 0; i < call->dim_count; ++i) {
        char names[1024] = "";
        if (model_has_dim(call, call->dims[i].name, names, sizeof names)) continue;
        return gantry_command_refuse(
            call->values->command, "no input has a dimension \"%s\"; accepted: %s",
            call->dims[i].name, *names ? names : "--size, because none has a name");
    }
    return GANTRY_TOOL_OK;
}

/* ---- files ---- */

static size_t model_find_input(const model_call_t *call, const char *text, size_t length) {
    const size_t count = gantry_onnx_model_input_count(call->model);
    size_t numbered = count;
    for (size_t i = 0; i < count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        char number[32];
        if (gantry_onnx_model_get_input(call->model, i, &value) != GANTRY_OK) continue;
        if (strlen(value.name) == length && memcmp(value.name, text, length) == 0) return i;
        const int digits = snprintf(number, sizeof number, "%zu", i);
        if ((size_t)digits == length && memcmp(number, text, length) == 0) numbered = i;
    }
    return numbered;
}

/* Takes the elements of a file's tensor as the input's. */
static bool model_take(convert_tensor_t *input, convert_tensor_t *tensor) {
    input->dtype = tensor->dtype;
    input->shape = tensor->shape;
    input->bytes = tensor->bytes;
    input->data = tensor->data;
    tensor->data = NULL;
    return true;
}

static bool model_load_tensor(const convert_source_t *source, convert_tensor_t *tensor) {
    if (tensor->problem) {
        (void)gantry_tool_fail("%s: the tensor \"%.200s\" cannot be read: %s", source->path,
                               tensor->name, tensor->problem);
        return false;
    }
    return convert_load(source, tensor);
}

static bool model_load_one(const char *file, convert_tensor_t *input) {
    convert_source_t source;
    convert_set_t set;
    bool good = convert_open(file, &source, &set);
    if (good && set.count != 1) {
        good = false;
        (void)gantry_tool_fail("%s has %zu tensors, not one; --inputs reads several by name", file,
                               set.count);
    }
    good =
        good && model_load_tensor(&source, &set.tensors[0]) && model_take(input, &set.tensors[0]);
    convert_set_deinit(&set);
    convert_close(&source);
    return good;
}

/* NAME ends at the last '=' after an input's name or number, because both parts may have
 * others. */
static int model_read_input(const model_call_t *call, const char *given, convert_set_t *out) {
    size_t index = out->count;
    const char *at = given + strlen(given);
    while (at > given && index == out->count) {
        --at;
        if (*at == '=') index = model_find_input(call, given, (size_t)(at - given));
    }
    if (index == out->count)
        return gantry_command_refuse(
            call->values->command,
            "--input is \"%s\", which names no input of the model; accepted: NAME=FILE with a name or number of `gantry model info`",
            given);
    if (out->tensors[index].data)
        return gantry_command_refuse(call->values->command,
                                     "--input is \"%s\", but input %zu has a file", given, index);
    return model_load_one(at + 1, &out->tensors[index]) ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

static bool model_read_archive(const model_call_t *call, const char *file, convert_set_t *out) {
    convert_source_t source;
    convert_set_t set;
    bool good = convert_open(file, &source, &set);
    for (size_t i = 0; good && i < set.count; ++i) {
        convert_tensor_t *tensor = &set.tensors[i];
        const size_t index = model_find_input(call, tensor->name, strlen(tensor->name));
        good = index < out->count && !out->tensors[index].data;
        if (!good)
            (void)gantry_tool_fail(index < out->count
                                       ? "%s: the input \"%.200s\" has a file already"
                                       : "%s: the model has no input \"%.200s\"",
                                   file, tensor->name);
        good =
            good && model_load_tensor(&source, tensor) && model_take(&out->tensors[index], tensor);
    }
    convert_set_deinit(&set);
    convert_close(&source);
    return good;
}

/* ---- made inputs ---- */

static int64_t model_size_of(const model_call_t *call, const gantry_onnx_value_t *value,
                             int32_t axis) {
    const char *name = value->dim_names ? value->dim_names[axis] : NULL;
    for (size_t i = 0; name && i < call->dim_count; ++i)
        if (strcmp(call->dims[i].name, name) == 0) return call->dims[i].size;
    return (int64_t)call->size;
}

static bool model_fill_in(const model_call_t *call, gantry_scope_t *scope,
                          const gantry_onnx_value_t *value, size_t index, convert_tensor_t *out) {
    gantry_shape_t shape = value->shape;
    for (int32_t k = 0; k < shape.rank; ++k)
        if (shape.dims[k] < 0) shape.dims[k] = model_size_of(call, value, k);
    const gantry_tensor_t *made =
        call->fill == MODEL_FILL_RANDOM
            ? function_draw(scope, value->dtype, shape, (int64_t)(call->seed + index))
        : call->fill == MODEL_FILL_ONES ? gantry_ones(scope, value->dtype, shape)
                                        : gantry_zeros(scope, value->dtype, shape);
    out->dtype = value->dtype;
    out->shape = shape;
    out->bytes = made ? gantry_tensor_bytes(made) : 0;
    out->data = malloc(out->bytes + 1);
    if (made && out->data && gantry_tensor_read(made, out->data, out->bytes) == GANTRY_OK)
        return true;
    (void)gantry_tool_fail("the input %.200s cannot be made: %s", value->name,
                           out->data ? gantry_last_message() : "out of host memory");
    return false;
}

static bool model_fill(const model_call_t *call, const gantry_onnx_value_t *value, size_t index,
                       convert_tensor_t *out) {
    if (value->dtype == GANTRY_DTYPE_NONE || value->shape.rank < 0) {
        (void)gantry_tool_fail("the file declares no %s for the input %.200s; --input reads it",
                               value->shape.rank < 0 ? "shape" : "type", value->name);
        return false;
    }
    gantry_scope_t *scope = gantry_scope_begin(call->runtime, "CPU:0");
    if (!scope) {
        (void)gantry_tool_fail_last();
        return false;
    }
    const bool good = model_fill_in(call, scope, value, index, out);
    (void)gantry_scope_end(scope);
    return good;
}

/* ---- all inputs ---- */

static bool model_list_inputs(const model_call_t *call, convert_set_t *out) {
    const gantry_shape_t none = {0};
    for (size_t i = 0; i < gantry_onnx_model_input_count(call->model); ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (gantry_onnx_model_get_input(call->model, i, &value) != GANTRY_OK) {
            (void)gantry_tool_fail_last();
            return false;
        }
        if (!convert_set_add(out, call->path, value.name, GANTRY_DTYPE_NONE, &none)) return false;
    }
    return true;
}

static int model_read_files(const model_call_t *call, convert_set_t *out) {
    const char *text;
    int code = GANTRY_TOOL_OK;
    for (size_t i = 0;
         code == GANTRY_TOOL_OK && (text = gantry_command_value_at(call->values, "input", i)); ++i)
        code = model_read_input(call, text, out);
    for (size_t i = 0;
         code == GANTRY_TOOL_OK && (text = gantry_command_value_at(call->values, "inputs", i)); ++i)
        if (!model_read_archive(call, text, out)) code = GANTRY_TOOL_FAILED;
    return code;
}

int model_read_inputs(const model_call_t *call, convert_set_t *out) {
    *out = (convert_set_t){.count = 0};
    return model_list_inputs(call, out) ? model_read_files(call, out) : GANTRY_TOOL_FAILED;
}

int model_make_inputs(const model_call_t *call, convert_set_t *out) {
    const int code = model_read_inputs(call, out);
    for (size_t i = 0; code == GANTRY_TOOL_OK && i < out->count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (gantry_onnx_model_get_input(call->model, i, &value) != GANTRY_OK)
            return gantry_tool_fail_last();
        if (out->tensors[i].data || value.is_optional) continue;
        if (!model_fill(call, &value, i, &out->tensors[i])) return GANTRY_TOOL_FAILED;
    }
    return code;
}

bool model_give_inputs(const convert_set_t *inputs, gantry_scope_t *scope,
                       const gantry_tensor_t **out) {
    for (size_t i = 0; i < inputs->count; ++i) {
        const convert_tensor_t *input = &inputs->tensors[i];
        out[i] = input->data
                     ? gantry_constant(scope, input->dtype, input->shape, input->data, input->bytes)
                     : NULL;
        if (input->data && !out[i]) return false;
    }
    return true;
}
