/* SPDX-License-Identifier: Apache-2.0 */
/* gantry __man: the manual page gantry(1), in the macros of man(7). The build writes and installs
 * it. */
#include <string.h>

#include "command/command.h"
#include "common/tool.h"

/* Text as troff reads it. A line must not begin with a dot or an apostrophe, and a hyphen is a
 * minus sign, which can be copied into a shell. */
static void print_escaped(const char *text) {
    if (*text == '.' || *text == '\'') (void)fputs("\\&", stdout);
    for (; *text; ++text) {
        if (*text == '\\') {
            (void)fputs("\\e", stdout);
        } else if (*text == '-') {
            (void)fputs("\\-", stdout);
        } else {
            (void)fputc(*text, stdout);
        }
    }
}

static void print_line(const char *text) {
    print_escaped(text);
    (void)fputc('\n', stdout);
}

/* A sentence from a text that begins with a small letter and has no full stop. */
static void print_sentence(const char *text) {
    if (*text >= 'a' && *text <= 'z') {
        (void)fputc(*text - 'a' + 'A', stdout);
        ++text;
    }
    print_escaped(text);
    (void)fputs(".\n", stdout);
}

static void command_man_print_paragraphs(const char *text) {
    while (*text) {
        char paragraph[2048];
        const char *end = strstr(text, "\n\n");
        const size_t length = end ? (size_t)(end - text) : strlen(text);
        (void)snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        (void)fputs(".PP\n", stdout);
        print_line(paragraph);
        text += length + strspn(text + length, "\n");
    }
}

static void command_man_print_options(const gantry_command_t *command) {
    for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
        const gantry_command_option_t *option = &command->options[i];
        char text[512];
        (void)fputs(".TP\n\\fB\\-\\-", stdout);
        print_escaped(option->name);
        (void)fputs("\\fR", stdout);
        if (option->value_name) (void)printf(" \\fI%s\\fR", option->value_name);
        (void)fputc('\n', stdout);
        gantry_command_option_text(option, text, sizeof text);
        print_sentence(text);
    }
}

/* Prints the codes of this command only, because the usual ones are under EXIT STATUS. */
static void print_exit_codes(const gantry_command_t *command) {
    for (size_t i = 0; i < GANTRY_COMMAND_MOST_LINES && command->exit_codes[i].text; ++i) {
        if (i == 0) (void)fputs(".PP\nExit codes:\n", stdout);
        (void)printf(".TP\n%d\n", command->exit_codes[i].code);
        print_sentence(command->exit_codes[i].text);
    }
}

static void print_examples(const gantry_command_t *command) {
    for (size_t i = 0; i < GANTRY_COMMAND_MOST_LINES && command->examples[i].line; ++i) {
        (void)fputs(i == 0 ? ".PP\nExamples:\n.TP\n\\fB" : ".TP\n\\fB", stdout);
        print_escaped(command->examples[i].line);
        (void)fputs("\\fR\n", stdout);
        if (command->examples[i].text) print_sentence(command->examples[i].text);
        if (!command->examples[i].text) (void)fputs("\\&\n", stdout);
    }
}

static void print_command(const gantry_command_t *command) {
    (void)printf(".SS gantry %s\n", command->name);
    (void)printf("\\fBgantry %s\\fR", command->name);
    if (gantry_command_option_count(command)) (void)fputs(" [\\fIOPTION\\fR...]", stdout);
    if (command->operands) (void)fputc(' ', stdout);
    if (command->operands) print_escaped(command->operands);
    (void)fputs("\n.PP\n", stdout);
    print_sentence(command->summary);
    if (command->description) command_man_print_paragraphs(command->description);
    command_man_print_options(command);
    print_exit_codes(command);
    print_examples(command);
}

static void print_foot(void) {
    static const gantry_command_t any = {.name = ""};
    gantry_command_exit_code_t code;
    (void)fputs(".SH EXIT STATUS\n", stdout);
    for (size_t i = 0; gantry_command_exit_code_at(&any, i, &code); ++i) {
        (void)printf(".TP\n%d\n", code.code);
        print_sentence(code.text);
    }
    (void)fputs(
        ".PP\n"
        "The commands above list codes of their own.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n\\fBGANTRY_LOG_LEVEL\\fR\n"
        "Prints Gantry\\(aqs log from this level on to standard error: debug, info, warning, error.\n"
        ".TP\n\\fBGANTRY_VISIBLE_DEVICES\\fR, \\fBCUDA_VISIBLE_DEVICES\\fR\n"
        "Choose the devices that programs see.\n"
        ".TP\n\\fBNO_COLOR\\fR, \\fBTERM\\fR\n"
        "There are no colours if NO_COLOR is not empty, TERM is dumb, or the output is no terminal.\n"
        ".PP\n"
        "\\fBgantry settings\\fR lists every variable of Gantry with its value.\n"
        ".SH SEE ALSO\n"
        "\\fBclinfo\\fR(1), \\fBnvidia\\-smi\\fR(1)\n",
        stdout);
}

static int man_run(const gantry_command_values_t *values) {
    (void)values;
    (void)printf(".\\\" Made by gantry __man from the tables of the program.\n");
    (void)printf(".TH GANTRY 1 \"\" \"Gantry %s\" \"User commands\"\n", gantry_version());
    (void)fputs(
        ".SH NAME\ngantry \\- finds, explains, measures and watches compute devices\n"
        ".SH SYNOPSIS\n\\fBgantry\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.br\n"
        "\\fBgantry help\\fR [\\fICOMMAND\\fR]\n"
        ".SH DESCRIPTION\n"
        "An option\\(aqs value follows it, or an equals sign: \\fB\\-\\-device cpu:0\\fR, "
        "\\fB\\-\\-device=cpu:0\\fR.\n"
        "\\fB\\-\\-\\fR ends the options.\n"
        "Each command has the option \\fB\\-\\-help\\fR.\n"
        ".SH COMMANDS\n",
        stdout);
    for (size_t i = 0; i < gantry_command_count(); ++i) {
        if (!gantry_command_at(i)->is_hidden) print_command(gantry_command_at(i));
    }
    print_foot();
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_man = {
    .name = "__man", .summary = "prints the manual page", .is_hidden = true, .run = man_run};
