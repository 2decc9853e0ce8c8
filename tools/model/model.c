/* SPDX-License-Identifier: Apache-2.0 */
/* gantry model: what an ONNX model is, what it computes, how fast, and where. */
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "common/tool.h"

#define ACTIONS "info|run|bench|explain|convert"

#ifdef GANTRY_TOOL_HAS_ONNX
#include "model/model.h"

static int model_act(const model_call_t *call) {
    static const struct {
        const char *name;
        int (*act)(const model_call_t *call);
    } actions[] = {{"info", model_info},
                   {"run", model_run},
                   {"bench", model_bench},
                   {"explain", model_explain},
                   {"convert", model_convert}};
    size_t at = 0;
    while (strcmp(actions[at].name, call->action) != 0) ++at;
    return actions[at].act(call);
}

static int model_load_and_act(model_call_t *call) {
    const bool describes =
        strcmp(call->action, "info") == 0 || strcmp(call->action, "explain") == 0;
    const gantry_onnx_options_t options = {
        .struct_size = sizeof options,
        .follows_links = gantry_command_has(call->values, "follow-links"),
        .keeps_refused = describes};
    const double begin = model_now();
    gantry_json_t json;
    if (gantry_onnx_model_load(call->runtime, call->path, &options, &call->model) != GANTRY_OK)
        return gantry_tool_fail_last();
    call->load_seconds = model_now() - begin;
    gantry_json_init(&json, stdout);
    if (gantry_command_has(call->values, "json")) call->json = &json;
    int code = model_check_dims(call);
    if (code == GANTRY_TOOL_OK) code = model_act(call);
    gantry_onnx_model_release(call->model);
    return code;
}

/* The options that not every action takes, with those that take them. */
static const struct {
    const char *option, *actions;
} model_owners[] = {{"save", "run"},
                    {"compare", "run"},
                    {"seconds", "bench"},
                    {"form", "explain"},
                    {"memory", "info"},
                    {"threads", "run bench"},
                    {"input", "info run bench explain convert"},
                    {"inputs", "info run bench explain convert"},
                    {"fill", "info run bench explain convert"},
                    {"seed", "info run bench explain convert"}};

static int model_check_line(const gantry_command_values_t *values) {
    const char *action = values->operands[0];
    const bool converts = strcmp(action, "convert") == 0;
    const bool makes_inputs = strcmp(action, "info") != 0 || gantry_command_has(values, "memory");
    for (size_t i = 0; i < sizeof model_owners / sizeof model_owners[0]; ++i) {
        if (gantry_command_has(values, model_owners[i].option) &&
            !strstr(model_owners[i].actions, action))
            return gantry_command_refuse(values->command,
                                         "--%s is not an option of %s; accepted: %s with it",
                                         model_owners[i].option, action, model_owners[i].actions);
        if (gantry_command_has(values, model_owners[i].option) && !makes_inputs)
            return gantry_command_refuse(values->command,
                                         "--%s is an option of info with --memory only",
                                         model_owners[i].option);
    }
    if (converts != (values->operand_count == 3))
        return gantry_command_refuse(
            values->command,
            converts ? "convert needs a second file, which it writes" : "%s takes one file",
            action);
    if (gantry_command_has(values, "save") && gantry_command_has(values, "compare"))
        return gantry_command_refuse(values->command,
                                     "--compare prints differences; --save goes without it");
    if (gantry_command_has(values, "json") && gantry_command_choice(values, "form", 1) != 1)
        return gantry_command_refuse_value(values, "form", "json with --json");
    return GANTRY_TOOL_OK;
}

/* A device that is not here is an error, not a run on another one. */
static bool model_has_device(const model_call_t *call, const char *option) {
    const char *name = gantry_command_value(call->values, option);
    const gantry_logical_device_t *device;
    if (!name || gantry_find_logical_device(call->runtime, name, &device) == GANTRY_OK) return true;
    (void)gantry_tool_fail_last();
    return false;
}

static int model_open_and_act(model_call_t *call) {
    uint64_t threads = 0;
    if (!gantry_command_integer(call->values, "seed", 0, INT64_MAX - 1000000, &call->seed) ||
        !gantry_command_integer(call->values, "size", 1, INT32_MAX, &call->size) ||
        !gantry_command_integer(call->values, "threads", 1, 1024, &threads) ||
        !model_read_dims(call))
        return GANTRY_TOOL_WRONG_USAGE;
    call->fill = gantry_command_choice(call->values, "fill", MODEL_FILL_RANDOM);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .cpu_threads = (int32_t)threads};
    call->runtime = gantry_command_open_runtime(call->values, &options);
    if (!call->runtime) return GANTRY_TOOL_FAILED;
    const bool has_devices = model_has_device(call, "device") && model_has_device(call, "compare");
    const int code = has_devices ? model_load_and_act(call) : GANTRY_TOOL_FAILED;
    gantry_runtime_release(call->runtime);
    return code;
}

static int model_command(const gantry_command_values_t *values) {
    model_call_t call = {.values = values,
                         .action = values->operands[0],
                         .path = values->operands[1],
                         .device = gantry_command_value(values, "device"),
                         .size = 1};
    int code = model_check_line(values);
    if (code == GANTRY_TOOL_OK) code = model_open_and_act(&call);
    for (size_t i = 0; i < call.dim_count; ++i) free((char *)(uintptr_t)call.dims[i].name);
    free(call.dims);
    return code;
}
#else
static int model_command(const gantry_command_values_t *values) {
    return gantry_tool_fail(
        "%s: this gantry command was built without libgantry_onnx, which reads models; build with GANTRY_ONNX=ON",
        values->operands[1]);
}
#endif

const gantry_command_t gantry_command_model = {
    .name = "model",
    .summary = "says what an ONNX model is, runs and times it, and explains where it runs",
    .description =
        "info prints inputs, outputs, operator sets, metadata, ops, and each op that is refused with the reason. run computes the "
        "outputs and prints them, or writes them to files. bench measures loading, the first run and the next ones. explain "
        "prints the device of each node with the reason. convert writes the function of one choice of sizes, which gantry "
        "function runs.\n\n"
        "An input that no --input names is filled as --fill says; its open sizes come from --dim and --size. An input with a "
        "value in the file takes that.",
    .operands = ACTIONS " FILE [OUT]",
    .operand_least = 2,
    .operand_most = 3,
    .operand_choices = ACTIONS,
    .operand_offer = GANTRY_OFFER_FILES,
    .options =
        {{"input", "NAME=FILE", "reads an input from a .npy file; NAME is its name or number", true,
          NULL, GANTRY_OFFER_FILES},
         {"inputs", "FILE", "reads inputs from an .npz or .safetensors file by their names", true,
          NULL, GANTRY_OFFER_FILES},
         {"fill", "WHAT", "fills the other inputs", false, "random|ones|zeros"},
         {"seed", "N", "draws random inputs from this seed, 0 without it"},
         {"dim", "NAME=SIZE", "gives a dimension with a name its size in filled inputs", true},
         {"size", "N", "takes N for the other open sizes, 1 without it"},
         {"save", "OUT",
          "writes the outputs: to out_0.npy, ... of a folder, or to one .npz or .safetensors file",
          false, NULL, GANTRY_OFFER_FILES},
         {"compare", "DEVICE", "runs on a second device, too, and prints the differences", false,
          NULL, GANTRY_OFFER_DEVICES},
         {"seconds", "N", "measures for N seconds (2)"},
         {"threads", "N", "takes N threads of the processor"},
         {"memory", "NAME=SIZE",
          "adds the memory of a run with this size of a dimension; none where all are known", true},
         {"form", "FORM", "chooses what explain prints", false, "text|json|graphviz"},
         {"follow-links", NULL, "follows links of external data"},
         {"device", "DEVICE", "puts weights and ops on this device", false, NULL,
          GANTRY_OFFER_DEVICES},
         GANTRY_OPTION_JSON,
         GANTRY_OPTION_VERBOSE,
         GANTRY_OPTION_CPU_AS_GPU},
    .exit_codes = {{1, "the file is no model, is refused or damaged, or a run failed"}},
    .examples = {{"gantry model info model.onnx", NULL},
                 {"gantry model run model.onnx --input x=x.npy --save results",
                  "computes files from a file"},
                 {"gantry model run model.onnx --dim batch=8 --compare cpu:0",
                  "compares the chosen device with the processor"}},
    .run = model_command};
