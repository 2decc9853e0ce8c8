/* SPDX-License-Identifier: Apache-2.0 */
/* gantry: shows the devices of this machine, Gantry's settings and ops, and tunes kernels. */
#include <stdio.h>
#include <string.h>

#include <gantry/gantry.h>

#include "gantry_tool.h"

static const char usage[] =
    "usage: gantry devices [--json] [--opencl-cpu-as-gpu] [--verbose]\n"
    "       gantry settings [--json] [--opencl-cpu-as-gpu]\n"
    "       gantry ops [--json | --markdown]\n"
    "       gantry tune [--device cpu:0 | opencl:0 ...] [--what NAME] [--seconds N] [--dry-run] [--list | --reset] [--verbose]\n"
    "       gantry version\n"
    "\n"
    "devices   lists every backend with its state and reason, and every device with its names, memory, driver and parts\n"
    "settings  lists every setting with its value, its source and the values it overrules, for each device if these differ\n"
    "ops       lists every op with its inputs, attributes and kernels on each device\n"
    "tune      measures matrix products and what work costs on each device for N seconds (60), and keeps the best for later runs\n"
    "version   prints Gantry's version\n";

void gantry_tool_log(void *user, gantry_log_level_t level, const char *text) {
    const bool *is_verbose = user;
    if (level >= GANTRY_LEVEL_WARNING)
        (void)fprintf(stderr, "%s: ", level == GANTRY_LEVEL_ERROR ? "error" : "warning");
    if (level >= GANTRY_LEVEL_WARNING || *is_verbose) (void)fprintf(stderr, "%s\n", text);
}

static int refuse(const char *word) {
    (void)fprintf(stderr, "gantry: \"%s\" is not understood\n%s", word, usage);
    return 2;
}

int main(int argc, char **argv) {
    bool is_verbose = false;
    gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = gantry_tool_log, .log_user = &is_verbose};
    gantry_tool_format_t format = GANTRY_TOOL_TEXT;
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "tune") == 0) {
        const char *refused;
        int code = gantry_tool_tune(argc - 2, argv + 2, &refused);
        return refused ? refuse(refused) : code;
    }
    if (strcmp(command, "probe") == 0 && argc == 3) return gantry_tool_probe(argv[2]);
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--json") == 0) {
            format = GANTRY_TOOL_JSON;
        } else if (strcmp(argv[i], "--markdown") == 0 && strcmp(command, "ops") == 0) {
            format = GANTRY_TOOL_MARKDOWN;
        } else if (strcmp(argv[i], "--opencl-cpu-as-gpu") == 0) {
            options.opencl_cpu_as_gpu = GANTRY_ON;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            is_verbose = true;
            options.log_level = GANTRY_LEVEL_DEBUG;
        } else {
            return refuse(argv[i]);
        }
    }
    if (strcmp(command, "version") == 0) {
        (void)printf("gantry %s\n", gantry_version());
        return 0;
    }
    bool is_devices = strcmp(command, "devices") == 0,
         is_settings = strcmp(command, "settings") == 0;
    if (!is_devices && !is_settings && strcmp(command, "ops") != 0) return refuse(command);
    /* At level info, backends would open their libraries to name them. `settings` shows the log
     * level that other programs have. */
    if (!is_verbose && !is_settings) options.log_level = GANTRY_LEVEL_WARNING;
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) {
        (void)fprintf(stderr, "gantry: %s\n", gantry_last_message());
        return 1;
    }
    bool is_json = format == GANTRY_TOOL_JSON;
    int code = is_devices    ? gantry_tool_devices(runtime, is_json)
               : is_settings ? gantry_tool_settings(runtime, is_json)
                             : gantry_tool_ops(runtime, format);
    gantry_runtime_release(runtime);
    return code;
}
