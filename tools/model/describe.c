/* SPDX-License-Identifier: Apache-2.0 */
/* gantry model info and explain: what a model is, what of it is refused, and where its nodes
 * run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "function/function.h"
#include "model/model.h"
#include "shared/printable.h"

const char *model_type_text(const gantry_onnx_value_t *value, char out[MODEL_TYPE_BYTES]) {
    const gantry_shape_t *shape = &value->shape;
    const char *name = value->dtype == GANTRY_DTYPE_NONE ? "?" : gantry_dtype_name(value->dtype);
    size_t used = (size_t)snprintf(out, MODEL_TYPE_BYTES, "%s [", name);
    if (shape->rank < 0) used += (size_t)snprintf(out + used, MODEL_TYPE_BYTES - used, "...");
    for (int32_t k = 0; k < shape->rank && used < MODEL_TYPE_BYTES; ++k) {
        const char *label = value->dim_names ? value->dim_names[k] : NULL;
        const char *comma = k > 0 ? ", " : "";
        used += shape->dims[k] >= 0 ? (size_t)snprintf(out + used, MODEL_TYPE_BYTES - used,
                                                       "%s%lld", comma, (long long)shape->dims[k])
                                    : (size_t)snprintf(out + used, MODEL_TYPE_BYTES - used,
                                                       "%s%.100s", comma, label ? label : "?");
    }
    if (used < MODEL_TYPE_BYTES) (void)snprintf(out + used, MODEL_TYPE_BYTES - used, "]");
    return out;
}

/* ---- info as text ---- */

static void model_print_row(const char *what, const char *name, const char *text) {
    (void)printf("  %-9s ", what);
    function_print_text(name);
    (void)printf("%s", *name ? " " : "");
    function_print_text(text);
    (void)printf("\n");
}

static void model_print_values(const model_call_t *call, const char *what, size_t count,
                               model_get_fn *get) {
    for (size_t i = 0; i < count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        char type[MODEL_TYPE_BYTES], text[MODEL_TYPE_BYTES + 64];
        if (get(call->model, i, &value) != GANTRY_OK) return;
        (void)snprintf(text, sizeof text, "%s%s", model_type_text(&value, type),
                       value.is_optional ? ", with a value in the file" : "");
        model_print_row(i == 0 ? what : "", value.name, text);
    }
}

static void model_print_opsets(const model_call_t *call, const gantry_onnx_info_t *info) {
    for (size_t i = 0; i < info->opset_count; ++i) {
        gantry_onnx_opset_t opset = {0};
        char text[64];
        if (gantry_onnx_model_get_opset(call->model, i, &opset) != GANTRY_OK) return;
        (void)snprintf(text, sizeof text, "%" PRId64, opset.version);
        model_print_row(i == 0 ? "opsets" : "", *opset.domain ? opset.domain : "ai.onnx", text);
    }
}

static void model_print_metadata(const model_call_t *call, const gantry_onnx_info_t *info) {
    for (size_t i = 0; i < info->metadata_count; ++i) {
        gantry_metadata_t metadata;
        if (gantry_onnx_model_get_metadata(call->model, i, &metadata) != GANTRY_OK) return;
        model_print_row(i == 0 ? "metadata" : "", metadata.key, metadata.text);
    }
}

/* Ops with their numbers, or those that are refused with the reasons. */
static void model_print_ops(const model_call_t *call, const gantry_onnx_info_t *info,
                            bool are_refused) {
    size_t printed = 0;
    for (size_t i = 0; i < info->op_count; ++i) {
        gantry_onnx_op_t op = {.struct_size = sizeof op};
        if (gantry_onnx_model_get_op(call->model, i, &op) != GANTRY_OK) return;
        if (are_refused && !op.reason) continue;
        if (are_refused) {
            model_print_row(printed++ == 0 ? "refused" : "", op.op, op.reason);
            continue;
        }
        (void)printf("%s", printed++ > 0 ? ", " : "");
        function_print_text(op.domain);
        (void)printf("%s", *op.domain ? "." : "");
        function_print_text(op.op);
        (void)printf(" %zu", op.count);
    }
}

static void model_print_info(const model_call_t *call, const gantry_onnx_info_t *info) {
    char size[GANTRY_TOOL_TEXT_BYTES], text[128];
    function_print_text(call->path);
    (void)printf(": ");
    function_print_text(info->graph_name);
    (void)printf("\n");
    (void)snprintf(text, sizeof text, "%.60s%s%.30s, IR %" PRId64,
                   *info->producer ? info->producer : "a program without a name",
                   *info->producer_version ? " " : "", info->producer_version, info->ir_version);
    model_print_row("made by", "", text);
    model_print_opsets(call, info);
    model_print_values(call, "inputs", gantry_onnx_model_input_count(call->model),
                       gantry_onnx_model_get_input);
    model_print_values(call, "outputs", gantry_onnx_model_output_count(call->model),
                       gantry_onnx_model_get_output);
    model_print_metadata(call, info);
    (void)printf("  %-9s %s\n", "weights", gantry_tool_size_text(info->weight_bytes, size));
    (void)printf("  %-9s %zu: ", "nodes", info->node_count);
    model_print_ops(call, info, false);
    (void)printf("\n");
    model_print_ops(call, info, true);
}

/* ---- info as JSON ---- */

static void model_add_values(const model_call_t *call, const char *key, size_t count,
                             model_get_fn *get) {
    gantry_json_array(call->json, key);
    for (size_t i = 0; i < count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (get(call->model, i, &value) != GANTRY_OK) break;
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", value.name);
        gantry_json_text(call->json, "dtype",
                         value.dtype == GANTRY_DTYPE_NONE ? NULL : gantry_dtype_name(value.dtype));
        gantry_json_bool(call->json, "has_value", value.is_optional);
        if (value.shape.rank < 0) gantry_json_null(call->json, "shape");
        if (value.shape.rank >= 0) gantry_json_array(call->json, "shape");
        for (int32_t k = 0; k < value.shape.rank; ++k) {
            if (value.shape.dims[k] >= 0)
                gantry_json_integer(call->json, NULL, value.shape.dims[k]);
            else
                gantry_json_text(call->json, NULL, value.dim_names ? value.dim_names[k] : NULL);
        }
        if (value.shape.rank >= 0) gantry_json_end(call->json);
        gantry_json_end(call->json);
    }
    gantry_json_end(call->json);
}

static void model_add_ops(const model_call_t *call, const gantry_onnx_info_t *info) {
    gantry_json_array(call->json, "ops");
    for (size_t i = 0; i < info->op_count; ++i) {
        gantry_onnx_op_t op = {.struct_size = sizeof op};
        if (gantry_onnx_model_get_op(call->model, i, &op) != GANTRY_OK) break;
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "op", op.op);
        gantry_json_text(call->json, "domain", op.domain);
        gantry_json_integer(call->json, "opset", op.version);
        gantry_json_unsigned(call->json, "nodes", op.count);
        gantry_json_text(call->json, "refused", op.reason);
        gantry_json_end(call->json);
    }
    gantry_json_end(call->json);
}

static void model_add_texts(const model_call_t *call, const gantry_onnx_info_t *info) {
    gantry_json_object(call->json, "opsets");
    for (size_t i = 0; i < info->opset_count; ++i) {
        gantry_onnx_opset_t opset = {0};
        if (gantry_onnx_model_get_opset(call->model, i, &opset) == GANTRY_OK)
            gantry_json_integer(call->json, *opset.domain ? opset.domain : "ai.onnx",
                                opset.version);
    }
    gantry_json_end(call->json);
    gantry_json_object(call->json, "metadata");
    for (size_t i = 0; i < info->metadata_count; ++i) {
        gantry_metadata_t metadata;
        if (gantry_onnx_model_get_metadata(call->model, i, &metadata) == GANTRY_OK)
            gantry_json_text(call->json, metadata.key, metadata.text);
    }
    gantry_json_end(call->json);
}

/* The object stays open for the memory. */
static void model_add_info(const model_call_t *call, const gantry_onnx_info_t *info) {
    gantry_json_object(call->json, NULL);
    gantry_json_text(call->json, "file", call->path);
    gantry_json_text(call->json, "graph", info->graph_name);
    gantry_json_text(call->json, "producer", info->producer);
    gantry_json_text(call->json, "producer_version", info->producer_version);
    gantry_json_integer(call->json, "ir_version", info->ir_version);
    model_add_texts(call, info);
    model_add_values(call, "inputs", gantry_onnx_model_input_count(call->model),
                     gantry_onnx_model_get_input);
    model_add_values(call, "outputs", gantry_onnx_model_output_count(call->model),
                     gantry_onnx_model_get_output);
    gantry_json_unsigned(call->json, "weight_bytes", info->weight_bytes);
    gantry_json_unsigned(call->json, "nodes", info->node_count);
    model_add_ops(call, info);
}

/* ---- memory ---- */

static void model_print_memory_of(const model_call_t *call,
                                  const gantry_function_memory_t *memory) {
    char planned[GANTRY_TOOL_TEXT_BYTES], constant[GANTRY_TOOL_TEXT_BYTES];
    char result[GANTRY_TOOL_TEXT_BYTES];
    if (!call->json) {
        (void)printf("  %-9s %s: %s of constants, %s between nodes, %s of results\n", "memory",
                     memory->device, gantry_tool_size_text(memory->constant_bytes, constant),
                     gantry_tool_size_text(memory->planned_bytes, planned),
                     gantry_tool_size_text(memory->result_bytes, result));
        return;
    }
    gantry_json_object(call->json, NULL);
    gantry_json_text(call->json, "device", memory->device);
    gantry_json_unsigned(call->json, "constant_bytes", memory->constant_bytes);
    gantry_json_unsigned(call->json, "planned_bytes", memory->planned_bytes);
    gantry_json_unsigned(call->json, "result_bytes", memory->result_bytes);
    gantry_json_end(call->json);
}

static bool model_function_takes(gantry_function_t *function, const char *name) {
    for (size_t i = 0; i < gantry_function_input_count(function); ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (gantry_function_get_input(function, i, &value) == GANTRY_OK &&
            strcmp(value.name, name) == 0)
            return true;
    }
    return false;
}

/* Names the inputs by whose elements the function was made, because sizes depend on them, and says
 * where the elements come from. given: those that have files. */
static int model_print_bound(const model_call_t *call, gantry_function_t *function,
                             const convert_set_t *given) {
    if (call->json) gantry_json_array(call->json, "bound_inputs");
    for (size_t i = 0; i < given->count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        const bool is_given = given->tensors[i].data != NULL;
        if (gantry_onnx_model_get_input(call->model, i, &value) != GANTRY_OK)
            return gantry_tool_fail_last();
        if (model_function_takes(function, value.name) || (value.is_optional && !is_given))
            continue;
        if (!call->json) {
            model_print_row("", value.name,
                            is_given ? "has the elements of its file, on which sizes depend"
                                     : "has elements as --fill says, on which sizes depend; "
                                       "--input gives others");
            continue;
        }
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "name", value.name);
        gantry_json_bool(call->json, "is_filled", !is_given);
        gantry_json_end(call->json);
    }
    if (call->json) gantry_json_end(call->json);
    return GANTRY_TOOL_OK;
}

static int model_print_devices(const model_call_t *call, gantry_function_t *function) {
    gantry_function_memory_t memory[16] = {{.struct_size = sizeof memory[0]}};
    size_t count = 0;
    if (gantry_function_get_memory(function, 16, memory, &count) != GANTRY_OK)
        return gantry_tool_fail_last();
    if (call->json) gantry_json_array(call->json, "memory");
    for (size_t i = 0; i < count && i < 16; ++i) model_print_memory_of(call, &memory[i]);
    if (call->json) gantry_json_end(call->json);
    return GANTRY_TOOL_OK;
}

static int model_print_memory(const model_call_t *call) {
    gantry_function_t *function;
    convert_set_t given;
    int code = model_make_function(call, &function);
    if (code != GANTRY_TOOL_OK) return code;
    code = model_print_devices(call, function);
    if (code == GANTRY_TOOL_OK) {
        code = model_read_inputs(call, &given);
        if (code == GANTRY_TOOL_OK) code = model_print_bound(call, function, &given);
        convert_set_deinit(&given);
    }
    gantry_function_release(function);
    return code;
}

int model_info(const model_call_t *call) {
    gantry_onnx_info_t info = {.struct_size = sizeof info};
    if (gantry_onnx_model_get_info(call->model, &info) != GANTRY_OK) return gantry_tool_fail_last();
    if (call->json)
        model_add_info(call, &info);
    else
        model_print_info(call, &info);
    const int code =
        gantry_command_has(call->values, "memory") ? model_print_memory(call) : GANTRY_TOOL_OK;
    if (call->json) gantry_json_end(call->json);
    return code;
}

/* ---- explain ---- */

static char *model_explanation(const model_call_t *call, gantry_explain_form_t form) {
    size_t needed = 0;
    if (gantry_onnx_model_explain(call->model, form, NULL, 0, &needed) != GANTRY_OK) return NULL;
    char *text = malloc(needed + 1);
    if (text &&
        gantry_onnx_model_explain(call->model, form, text, needed + 1, &needed) == GANTRY_OK)
        return text;
    free(text);
    return NULL;
}

static bool model_is_refused(const model_call_t *call) {
    gantry_onnx_info_t info = {.struct_size = sizeof info};
    gantry_onnx_op_t op = {.struct_size = sizeof op};
    if (gantry_onnx_model_get_info(call->model, &info) != GANTRY_OK) return true;
    for (size_t i = 0; i < info.op_count; ++i)
        if (gantry_onnx_model_get_op(call->model, i, &op) != GANTRY_OK || op.reason) return true;
    return false;
}

int model_explain(const model_call_t *call) {
    static const gantry_explain_form_t forms[] = {GANTRY_EXPLAIN_TEXT, GANTRY_EXPLAIN_JSON,
                                                  GANTRY_EXPLAIN_GRAPHVIZ};
    const size_t form = gantry_command_choice(call->values, "form", call->json ? 1 : 0);
    const int code = model_is_refused(call) ? GANTRY_TOOL_OK : model_trace(call);
    if (code != GANTRY_TOOL_OK) return code;
    char *text = model_explanation(call, forms[form]);
    if (!text) return gantry_tool_fail_last();
    gantry__make_printable(text, '\n');
    (void)printf("%s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
    free(text);
    return GANTRY_TOOL_OK;
}

/* ---- convert ---- */

/* Names the inputs whose elements the function has as constants, because sizes depend on them.
 * given: those that have files; numbers that were made are no constants of a file. */
static int model_check_constants(const model_call_t *call, gantry_function_t *function,
                                 const convert_set_t *given) {
    for (size_t i = 0; i < given->count; ++i) {
        gantry_onnx_value_t value = {.struct_size = sizeof value};
        if (gantry_onnx_model_get_input(call->model, i, &value) != GANTRY_OK)
            return gantry_tool_fail_last();
        if (model_function_takes(function, value.name)) continue;
        if (given->tensors[i].data) {
            function_print_text(value.name);
            (void)printf(" is a constant of the function, because sizes depend on its elements\n");
        } else if (!value.is_optional) {
            return gantry_tool_fail(
                "sizes depend on the elements of the input %.200s, which become constants of the "
                "function; --input or --inputs gives them",
                value.name);
        }
    }
    return GANTRY_TOOL_OK;
}

int model_convert(const model_call_t *call) {
    gantry_function_t *function;
    convert_set_t given;
    int code = model_make_function(call, &function);
    if (code != GANTRY_TOOL_OK) return code;
    code = model_read_inputs(call, &given);
    if (code == GANTRY_TOOL_OK) code = model_check_constants(call, function, &given);
    convert_set_deinit(&given);
    if (code == GANTRY_TOOL_OK &&
        gantry_function_save(function, call->values->operands[2], NULL) != GANTRY_OK)
        code = gantry_tool_fail_last();
    gantry_function_release(function);
    return code;
}
