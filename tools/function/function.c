/* SPDX-License-Identifier: Apache-2.0 */
/* gantry function: what a saved function is, what it computes, where it runs. */
#include "function/function.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/printable.h"

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

void function_print_text(const char *text) {
    for (const char *at = text; *at;) {
        const size_t bytes = gantry__utf8_bytes(at);
        if (bytes == 0 || gantry__utf8_command(at, bytes) != 0)
            (void)putchar('?');
        else
            (void)fwrite(at, 1, bytes, stdout);
        at += bytes ? bytes : 1;
    }
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

/* A function whose sizes are open is traced by a call, and one of known sizes when it is loaded. A
 * file of an input is read, so it must fit. */
static bool explain_needs_call(const function_call_t *call) {
    bool is_open = gantry_command_has(call->values, "input");
    for (size_t i = 0; i < gantry_function_input_count(call->function); ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        if (gantry_function_get_input(call->function, i, &value) != GANTRY_OK) return true;
        for (int32_t k = 0; k < value.shape.rank; ++k) is_open |= value.shape.dims[k] < 0;
    }
    return is_open;
}

static int explain(const function_call_t *call) {
    static const gantry_explain_form_t forms[] = {GANTRY_EXPLAIN_TEXT, GANTRY_EXPLAIN_JSON,
                                                  GANTRY_EXPLAIN_GRAPHVIZ};
    const gantry_explain_form_t form =
        forms[gantry_command_choice(call->values, "form", call->json ? 1 : 0)];
    const int code = explain_needs_call(call) ? function_try(call) : GANTRY_TOOL_OK;
    if (code != GANTRY_TOOL_OK) return code;
    char *text = explanation_of(call->function, form);
    if (!text) return gantry_tool_fail_last();
    gantry__make_printable(text, '\n');
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

/* The options that not every action takes, with those that take them. */
static const struct {
    const char *option, *actions;
} owners[] = {{"input", "run explain"}, {"output", "run"},   {"fill", "run"},
              {"seed", "run"},          {"form", "explain"}, {"size", "run explain"}};

/* Reads the line. Returns the exit code, after a message. */
static int function_read_line(function_call_t *call) {
    const gantry_command_values_t *values = call->values;
    const char *action = values->operands[0];
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; ++i) {
        if (gantry_command_has(values, owners[i].option) && !strstr(owners[i].actions, action))
            return gantry_command_refuse(values->command,
                                         "--%s is not an option of %s; accepted: %s with it",
                                         owners[i].option, action, owners[i].actions);
    }
    if (gantry_command_has(values, "json") && gantry_command_choice(values, "form", 1) != 1)
        return gantry_command_refuse_value(values, "form", "json with --json");
    call->fill = strcmp(action, "explain") == 0
                     ? FUNCTION_FILL_ZEROS
                     : gantry_command_choice(values, "fill", FUNCTION_FILL_RANDOM);
    return gantry_command_integer(values, "seed", 0, INT64_MAX - 1000000, &call->seed) &&
                   gantry_command_integer(values, "size", 0, INT32_MAX, &call->size)
               ? GANTRY_TOOL_OK
               : GANTRY_TOOL_WRONG_USAGE;
}

static int function_command(const gantry_command_values_t *values) {
    function_call_t call = {.values = values, .path = values->operands[1], .size = 1};
    const int line = function_read_line(&call);
    if (line != GANTRY_TOOL_OK) return line;
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
        "An input that no --input names is filled as --fill says, with --size for its open sizes. explain "
        "calls the function only if a size is open or --input is given, with zeros in the other inputs.",
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
