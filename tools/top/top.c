/* SPDX-License-Identifier: Apache-2.0 */
/* gantry top: what the devices do, who uses them, and the memory of Gantry's programs. Opens no
 * device. */
#include "top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/terminal.h"
#include "command/command.h"
#include "common/tool.h"

#define LEAST_INTERVAL 0.1
#define MOST_INTERVAL 3600.0

/* Reads all figures. The use of a processor is a difference of two readings. */
static bool collect_for_one_frame(gantry_top_t *top) {
    bool lacks_use = false;
    if (!gantry_top_collect(top)) return false;
    for (size_t i = 0; i < top->device_count; ++i) {
        const uint32_t known = top->devices[i].figures.known;
        lacks_use |= (known & GANTRY_TELEMETRY_LOAD) && !(known & GANTRY_TELEMETRY_PROCESSOR);
    }
    if (!lacks_use) return true;
    gantry__os_sleep_ns(260000000);
    return gantry_top_collect(top);
}

static int print_once(gantry_top_t *top, bool is_json) {
    size_t columns, lines;
    if (!collect_for_one_frame(top)) return gantry_tool_fail_last();
    if (is_json) {
        gantry_top_print_json(top);
        return GANTRY_TOOL_OK;
    }
    gantry_top_frame_t *frame = malloc(sizeof *frame);
    if (!frame) return gantry_tool_fail("memory is out");
    gantry_top_screen_size(&columns, &lines);
    gantry_top_compose(top, 0.0, gantry__os_is_terminal(stdout) ? columns : 120, frame);
    for (size_t i = 0; i < frame->count; ++i) (void)printf("%s\n", frame->text[i]);
    free(frame);
    return GANTRY_TOOL_OK;
}

/* Returns false after a message: the live view needs a keyboard and a screen. */
static bool has_terminal(void) {
    const char *kind = gantry__os_terminal_kind(stdout);
    const bool is_input = gantry__os_is_terminal(stdin), is_output = gantry__os_is_terminal(stdout),
               is_dumb = kind && strcmp(kind, "dumb") == 0;
    if (is_input && is_output && !is_dumb) return true;
    (void)gantry_tool_fail("%s: this is one frame, as with --once",
                           !is_output  ? "standard output is no terminal"
                           : !is_input ? "standard input is no terminal"
                                       : "the terminal cannot move its cursor (TERM=dumb)");
    return false;
}

static int top_run(const gantry_command_values_t *values) {
    double interval = 2.0;
    if (!gantry_command_duration(values, "interval", &interval)) return GANTRY_TOOL_WRONG_USAGE;
    if (interval < LEAST_INTERVAL || interval > MOST_INTERVAL)
        return gantry_command_refuse_value(values, "interval", "100ms to 1h");
    const bool is_json = gantry_command_has(values, "json");
    const bool is_once = is_json || gantry_command_has(values, "once") || !has_terminal();
    gantry_top_t *top = calloc(1, sizeof *top);
    if (!top) return gantry_tool_fail("memory is out");
    top->runtime = gantry_command_open_runtime(values, NULL);
    int code = GANTRY_TOOL_FAILED;
    if (top->runtime) code = is_once ? print_once(top, is_json) : gantry_top_watch(top, interval);
    gantry_runtime_release(top->runtime);
    free(top);
    return code;
}

const gantry_command_t gantry_command_top = {
    .name = "top",
    .summary = "shows what the devices do now, and who uses them",
    .description =
        "A live view of memory, utilisation, temperature, power, clocks, memory errors and "
        "processes, from the drivers' monitors; no device is opened. q or Control-C ends it. "
        "Without a terminal, or with TERM=dumb, one frame is printed.\n\n"
        "A program that is started with GANTRY_STATUS=1 also shows the memory that it holds through "
        "Gantry. If GANTRY_STATUS is a folder, the program writes its file there, and gantry top "
        "reads that folder.",
    .options = {{"once", NULL, "prints one frame and ends"},
                GANTRY_OPTION_JSON,
                {"interval", "TIME", "reads the figures so often, 100ms to 1h (default: 2s)"},
                GANTRY_OPTION_CPU_AS_GPU},
    .exit_codes = {{GANTRY_TOOL_OK, "success; q or Control-C ended the view"}},
    .examples = {{"gantry top", NULL},
                 {"gantry top --once --json", "prints the figures of this moment for a program"}},
    .run = top_run};
