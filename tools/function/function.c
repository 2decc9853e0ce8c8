/* SPDX-License-Identifier: Apache-2.0 */
/* gantry function: what a saved function is, what it computes, where it runs. */
#include "function/function.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *function_type_text(const gantry_function_value_t *value, char *out, size_t out_bytes) {
    const gantry_shape_t *shape = &value->shape;
    if (value->dtype == GANTRY_DTYPE_NONE) {
        (void)snprintf(out, out_bytes, "of any size");
        return out;
    }
    size_t used = (size_t)snprintf(out, out_bytes, "%s [", gantry_dtype_name(value->dtype));
    for (int32_t k = 0; k < shape->rank && used < out_bytes; ++k) {
        const char *comma = k > 0 ? ", " : "";
        used += shape->dims[k] < 0 ? (size_t)snprintf(out + used, out_bytes - used, "%s?", comma)
                                   : (size_t)snprintf(out + used, out_bytes - used, "%s%lld", comma,
                                                      (long long)shape->dims[k]);
    }
    if (used < out_bytes) (void)snprintf(out + used, out_bytes - used, "]");
    return out;
}

const char *function_value_name(const gantry_function_value_t *value, size_t index, char out[32]) {
    if (*value->name) return value->name;
    (void)snprintf(out, 32, "%zu", index);
    return out;
}

/* ---- explain ---- */

static char *explanation_of(gantry_function_t *function, gantry_explain_form_t form) {
    size_t needed = 0;
    if (gantry_function_explain(function, form, NULL, 0, &needed) != GANTRY_OK) return NULL;
    char *text = malloc(needed + 1);
    if (text && gantry_function_explain(function, form, text, needed + 1, &needed) == GANTRY_OK)
        return text;
    free(text);
    return NULL;
}

/* A function whose sizes are open is traced by a call. */
static int explain(const function_call_t *call) {
    static const gantry_explain_form_t forms[] = {GANTRY_EXPLAIN_TEXT, GANTRY_EXPLAIN_JSON,
                                                  GANTRY_EXPLAIN_GRAPHVIZ};
    const bool is_json = call->json || gantry_command_choice(call->values, "form", 0) == 1;
    const gantry_explain_form_t form =
        is_json ? GANTRY_EXPLAIN_JSON : forms[gantry_command_choice(call->values, "form", 0)];
    if (!function_try(call)) return GANTRY_TOOL_FAILED;
    char *text = explanation_of(call->function, form);
    if (!text) return gantry_tool_fail_last();
    (void)printf("%s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
    free(text);
    return GANTRY_TOOL_OK;
}

/* ---- the command ---- */

static int act(const function_call_t *call, const char *action) {
    if (strcmp(action, "info") == 0) return function_info(call);
    return strcmp(action, "run") == 0 ? function_run(call) : explain(call);
}

static int load_and_act(function_call_t *call) {
    const gantry_function_load_options_t options = {
        .struct_size = sizeof options, .device = gantry_command_value(call->values, "device")};
    gantry_json_t json;
    if (gantry_function_load(call->runtime, call->path, &options, &call->function) != GANTRY_OK)
        return gantry_tool_fail_last();
    gantry_json_init(&json, stdout);
    if (gantry_command_has(call->values, "json")) call->json = &json;
    const int code = act(call, call->values->operands[0]);
    gantry_function_release(call->function);
    return code;
}

static int function_command(const gantry_command_values_t *values) {
    function_call_t call = {.values = values, .path = values->operands[1]};
    call.runtime = gantry_command_open_runtime(values, NULL);
    if (!call.runtime) return GANTRY_TOOL_FAILED;
    const int code = load_and_act(&call);
    gantry_runtime_release(call.runtime);
    return code;
}

const gantry_command_t gantry_command_function = {
    .name = "function",
    .summary = "says what a saved function is, runs it, or explains where it runs",
    .description =
        "info prints inputs, outputs, metadata, variables and ops. run computes the outputs and prints them, or writes them "
        "to .npy files. explain prints the device of each node with the reason, copies and memory, as "
        "gantry_function_explain.\n\n"
        "An input that no --input names is filled as --fill says, with --size for its open sizes.",
    .operands = "info|run|explain FILE",
    .operand_least = 2,
    .operand_most = 2,
    .operand_choices = "info|run|explain",
    .operand_offer = GANTRY_OFFER_FILES,
    .options = {{"input", "NAME=FILE",
                 "reads an input from a .npy file; NAME is its name or number", true, NULL,
                 GANTRY_OFFER_FILES},
                {"fill", "WHAT", "fills the other inputs", false, "random|ones|zeros"},
                {"seed", "N", "draws random inputs from this seed, 0 without it"},
                {"size", "N", "takes N for open sizes of filled inputs, 1 without it"},
                {"output", "NAME=FILE", "writes an output to a .npy file, and prints no output",
                 true, NULL, GANTRY_OFFER_FILES},
                {"form", "FORM", "chooses what explain prints", false, "text|json|graphviz"},
                {"device", "DEVICE", "puts weights and ops on this device", false, NULL,
                 GANTRY_OFFER_DEVICES},
                GANTRY_OPTION_JSON,
                GANTRY_OPTION_VERBOSE,
                GANTRY_OPTION_CPU_AS_GPU},
    .exit_codes = {{1, "the file is no saved function, is newer or damaged, or a call failed"}},
    .examples = {{"gantry function info model.safetensors", NULL},
                 {"gantry function run model.safetensors --input x=x.npy --output y=y.npy",
                  "computes a file from a file"},
                 {"gantry function explain model.safetensors --size 32",
                  "explains a call with 32 rows"}},
    .run = function_command};
