/* SPDX-License-Identifier: Apache-2.0 */
/* gantry --help, gantry help NAME, gantry NAME --help. */
#include <string.h>

#include "command/command.h"
#include "common/tool.h"

#define WIDEST 100 /* longer lines read badly */

static int help_width(FILE *file) {
    const int width = gantry_tool_width(file);
    return width < WIDEST ? width : WIDEST;
}

static void print_heading(FILE *file, const char *text) {
    (void)fprintf(file, "\n%s%s%s\n", gantry_tool_style(file, GANTRY_STYLE_BOLD), text,
                  gantry_tool_style(file, GANTRY_STYLE_PLAIN));
}

/* Two columns; a name that is too long for the first has a line of its own. */
static void print_pair(FILE *file, const char *name, const char *text, int column) {
    (void)fprintf(file, "  %s", name);
    if ((int)strlen(name) + 4 > column) (void)fprintf(file, "\n%*s", column, "");
    if ((int)strlen(name) + 4 <= column)
        (void)fprintf(file, "%*s", column - 2 - (int)strlen(name), "");
    gantry_tool_print_wrapped(file, text, column, column, help_width(file));
}

bool gantry_command_exit_code_at(const gantry_command_t *command, size_t index,
                                 gantry_command_exit_code_t *out) {
    static const gantry_command_exit_code_t usual[] = {
        {GANTRY_TOOL_OK, "success"},
        {GANTRY_TOOL_FAILED, "the work failed; standard error says why"},
        {GANTRY_TOOL_WRONG_USAGE, "wrong usage"}};
    size_t own = 0;
    if (index < 3) *out = usual[index];
    for (size_t i = 0; i < GANTRY_COMMAND_MOST_LINES && command->exit_codes[i].text; ++i) {
        const gantry_command_exit_code_t *code = &command->exit_codes[i];
        if (index < 3 && (size_t)code->code == index) *out = *code;
        if (code->code < 0 || code->code > 2) {
            if (index >= 3 && own == index - 3) {
                *out = *code;
                return true;
            }
            ++own;
        }
    }
    return index < 3;
}

void gantry_command_print_usage(FILE *file, const gantry_command_t *command) {
    (void)fprintf(file, "usage: gantry %s%s%s%s\n", command->name,
                  gantry_command_option_count(command) ? " [OPTION...]" : "",
                  command->operands ? " " : "", command->operands ? command->operands : "");
    if (file == stderr) (void)fprintf(file, "gantry %s --help says more\n", command->name);
}

static void print_paragraphs(FILE *file, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        char paragraph[2048];
        const size_t length = end ? (size_t)(end - text) : strlen(text);
        (void)snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        (void)fputc('\n', file);
        gantry_tool_print_wrapped(file, paragraph, 0, 0, help_width(file));
        text += length + strspn(text + length, "\n");
    }
}

void gantry_command_option_text(const gantry_command_option_t *option, char *out,
                                size_t out_bytes) {
    (void)snprintf(out, out_bytes, "%s%s%s%s", option->text, option->choices ? ": " : "",
                   option->choices ? option->choices : "",
                   option->is_repeatable ? "; may be repeated" : "");
}

static void print_options(FILE *file, const gantry_command_t *command) {
    print_heading(file, "Options");
    for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
        const gantry_command_option_t *option = &command->options[i];
        char name[96], text[512];
        (void)snprintf(name, sizeof name, "--%s%s%s", option->name, option->value_name ? " " : "",
                       option->value_name ? option->value_name : "");
        gantry_command_option_text(option, text, sizeof text);
        print_pair(file, name, text, 26);
    }
    print_pair(file, "--help", "prints this text", 26);
}

void gantry_command_print_help(FILE *file, const gantry_command_t *command) {
    gantry_command_exit_code_t code;
    gantry_command_print_usage(file, command);
    (void)fprintf(file, "\n");
    char line[256];
    (void)snprintf(line, sizeof line, "%s.", command->summary);
    if (line[0] >= 'a' && line[0] <= 'z') line[0] = (char)(line[0] - 'a' + 'A');
    gantry_tool_print_wrapped(file, line, 0, 0, help_width(file));
    if (command->description) print_paragraphs(file, command->description);
    print_options(file, command);
    print_heading(file, "Exit codes");
    for (size_t i = 0; gantry_command_exit_code_at(command, i, &code); ++i) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", code.code);
        print_pair(file, number, code.text, 8);
    }
    if (command->examples[0].line) print_heading(file, "Examples");
    for (size_t i = 0; i < GANTRY_COMMAND_MOST_LINES && command->examples[i].line; ++i) {
        (void)fprintf(file, "  %s\n", command->examples[i].line);
        if (command->examples[i].text) (void)fprintf(file, "      %s\n", command->examples[i].text);
    }
}

void gantry_command_print_overview(FILE *file) {
    (void)fprintf(file, "usage: gantry COMMAND [OPTION...]\n");
    print_heading(file, "Commands");
    for (size_t i = 0; i < gantry_command_count(); ++i) {
        const gantry_command_t *command = gantry_command_at(i);
        if (!command->is_hidden) print_pair(file, command->name, command->summary, 14);
    }
    (void)fprintf(file,
                  "\ngantry COMMAND --help lists a command's options, exit codes and examples.\n");
}
