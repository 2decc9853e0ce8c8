/* SPDX-License-Identifier: Apache-2.0 */
/* gantry __exit_codes: the table of all exit codes in docs/command.md, in Markdown. */
#include "command/command.h"
#include "common/tool.h"

static const gantry_command_t any = {.name = ""};

/* The command's own text for the code; NULL: it has none. */
static const char *own_text(const gantry_command_t *command, int code) {
    for (size_t i = 0; i < GANTRY_COMMAND_MOST_LINES && command->exit_codes[i].text; ++i)
        if (command->exit_codes[i].code == code) return command->exit_codes[i].text;
    return NULL;
}

static void print_rows(int code) {
    gantry_command_exit_code_t usual;
    if (code <= GANTRY_TOOL_WRONG_USAGE && gantry_command_exit_code_at(&any, (size_t)code, &usual))
        (void)printf("| %d | every one | %s |\n", code, usual.text);
    for (size_t i = 0; i < gantry_command_count(); ++i) {
        const gantry_command_t *command = gantry_command_at(i);
        const char *text = own_text(command, code);
        if (text && !command->is_hidden)
            (void)printf("| %d | `gantry %s` | %s |\n", code, command->name, text);
    }
}

static int exit_codes_run(const gantry_command_values_t *values) {
    (void)values;
    (void)printf("| exit code | command | meaning |\n|---|---|---|\n");
    for (int code = 0; code < 256; ++code) print_rows(code);
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_exit_codes = {.name = "__exit_codes",
                                                    .summary = "prints the table of exit codes",
                                                    .is_hidden = true,
                                                    .run = exit_codes_run};
