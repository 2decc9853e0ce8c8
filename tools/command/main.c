/* SPDX-License-Identifier: Apache-2.0 */
/* gantry: the command line of Gantry. Finds the command, reads its line and runs it. */
#include <errno.h>
#include <string.h>

#include "base/os/arguments.h"
#include "command/command.h"
#include "common/tool.h"

static int refuse_command(const char *word) {
    char accepted[512] = "";
    gantry_command_nearest_t nearest = {.word = word};
    for (size_t i = 0; i < gantry_command_count(); ++i) {
        const gantry_command_t *command = gantry_command_at(i);
        const size_t used = strlen(accepted);
        if (command->is_hidden) continue;
        (void)snprintf(accepted + used, sizeof accepted - used, "%s%s", used ? ", " : "",
                       command->name);
        gantry_command_nearest_offer(&nearest, command->name);
    }
    const char *best = gantry_command_nearest_best(&nearest);
    (void)gantry_tool_fail("\"%s\" is not understood; accepted: %s%s%s%s", word, accepted,
                           best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
    (void)fprintf(stderr, "usage: gantry COMMAND [OPTION...]\ngantry --help says more\n");
    return GANTRY_TOOL_WRONG_USAGE;
}

/* Output that could not be written is a failure: a full disk must not look like a short list. */
static int check_output(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    (void)gantry_tool_fail("standard output cannot be written: %s", strerror(errno));
    return code == GANTRY_TOOL_OK ? GANTRY_TOOL_FAILED : code;
}

/* ---- gantry help ---- */

static int help_run(const gantry_command_values_t *values) {
    const bool is_json = gantry_command_has(values, "json");
    const bool is_of_one = values->operand_count > 0;
    const gantry_command_t *command = is_of_one ? gantry_command_find(values->operands[0]) : NULL;
    if (is_of_one && !command) return refuse_command(values->operands[0]);
    if (is_json) {
        gantry_command_print_json(stdout, command);
    } else if (is_of_one) {
        gantry_command_print_help(stdout, command);
    } else {
        gantry_command_print_overview(stdout);
    }
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_help = {
    .name = "help",
    .summary = "explains a command",
    .operands = "[COMMAND]",
    .operand_most = 1,
    .operand_offer = GANTRY_OFFER_SUBCOMMANDS,
    .options = {GANTRY_OPTION_JSON},
    .examples = {{"gantry help tune", "explains `gantry tune`, as gantry tune --help does"},
                 {"gantry help --json", "lists all commands with their options and exit codes"}},
    .run = help_run};

/* ---- gantry version ---- */

static int version_run(const gantry_command_values_t *values) {
    gantry_json_t json;
    if (!gantry_command_has(values, "json")) {
        (void)printf("gantry %s\n", gantry_version());
        return GANTRY_TOOL_OK;
    }
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "gantry", gantry_version());
    gantry_json_end(&json);
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_version = {.name = "version",
                                                 .summary = "prints Gantry's version",
                                                 .options = {GANTRY_OPTION_JSON},
                                                 .examples = {{"gantry version", NULL}},
                                                 .run = version_run};

/* ---- every command ---- */

static int run_command(const gantry_command_t *command, int count, char **words) {
    gantry_command_values_t values;
    int code = GANTRY_TOOL_WRONG_USAGE;
    const bool is_good = gantry_command_parse(command, count, words, &values);
    if (is_good && values.wants_help) gantry_command_print_help(stdout, command);
    if (is_good) code = values.wants_help ? GANTRY_TOOL_OK : command->run(&values);
    gantry_command_values_deinit(&values);
    return code;
}

int main(int argc, char **argv) {
    argv = gantry__os_arguments(&argc, argv);
    if (argc < 2) {
        gantry_command_print_overview(stderr);
        return GANTRY_TOOL_WRONG_USAGE;
    }
    const char *word = argv[1];
    if (gantry_command_is_help(word)) word = "help";
    if (strcmp(word, "--version") == 0) word = "version";
    const gantry_command_t *command = gantry_command_find(word);
    if (!command) return refuse_command(word);
    return check_output(run_command(command, argc - 2, argv + 2));
}
