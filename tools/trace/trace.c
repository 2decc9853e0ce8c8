/* SPDX-License-Identifier: Apache-2.0 */
/* gantry trace: shows a file that GANTRY_TRACE wrote, as tables, JSON or a page. */
#include "command/command.h"
#include "common/tool.h"
#include "trace/report.h"

enum { MOST_GAPS = 5 }; /* shown of each device */

static int trace_show(const gantry_trace_report_t *report, const gantry_command_values_t *values,
                      uint64_t top) {
    const char *html = gantry_command_value(values, "html");
    if (html && !gantry_trace_write_html(report, html)) return GANTRY_TOOL_FAILED;
    if (gantry_command_has(values, "json")) {
        gantry_trace_write_json(report, stdout);
    } else if (!html) {
        gantry_trace_print_text(report, (size_t)top);
    }
    return GANTRY_TOOL_OK;
}

static int trace_run(const gantry_command_values_t *values) {
    const char *path = values->operands[0];
    uint64_t top = 15;
    gantry_trace_t trace;
    gantry_trace_report_t report = {.trace = NULL};
    int code;
    if (!gantry_command_integer(values, "top", 1, 1000000, &top)) return GANTRY_TOOL_WRONG_USAGE;
    if (!gantry_trace_read(path, &trace)) {
        code = gantry_tool_fail("%s: %s", path, trace.failure);
    } else if (!gantry_trace_report_make(&trace, MOST_GAPS, &report)) {
        code = gantry_tool_fail("%s: no memory for the tables", path);
    } else {
        code = trace_show(&report, values, top);
    }
    gantry_trace_report_free(&report);
    gantry_trace_free(&trace);
    return code;
}

const gantry_command_t gantry_command_trace = {
    .name = "trace",
    .summary = "shows where the time of a program went, from a file that GANTRY_TRACE wrote",
    .description =
        "Prints the ops that took most time, how long each device was idle and what the host did "
        "meanwhile, copies, and ops that ran on another device than requested.\n\n"
        "A program writes the file if GANTRY_TRACE=FILE is set, or by gantry_trace_start. Perfetto "
        "and Chrome (chrome://tracing) open it, too. docs/profile.md explains its events.",
    .operands = "FILE",
    .operand_least = 1,
    .operand_most = 1,
    .operand_offer = GANTRY_OFFER_FILES,
    .options =
        {{"html", "PAGE",
          "writes one page with the timeline as a picture, tables and a search; it needs no network",
          .offer = GANTRY_OFFER_FILES},
         {"top", "N", "prints N rows of each table; 15 if not given"},
         GANTRY_OPTION_JSON},
    .exit_codes = {{1, "the file cannot be read, or is no trace; the message names the line"}},
    .examples = {{"GANTRY_TRACE=run.json ./program", "runs a program with a timeline"},
                 {"gantry trace run.json", NULL},
                 {"gantry trace run.json --html run.html", "makes a page for a browser"}},
    .run = trace_run};
