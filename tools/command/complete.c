/* SPDX-License-Identifier: Apache-2.0 */
/* gantry __complete SHELL: the completion of bash, zsh or fish. The build writes and installs the
 * three files. They hold the tables' names and texts; only devices and ops are queried while the
 * user types. */
#include <string.h>

#include "command/command.h"
#include "common/tool.h"

/* In single quotes, as all three shells read it. */
static void print_quoted(const char *text, const char *also_escaped) {
    for (; *text; ++text) {
        if (*text == '\'') {
            (void)fputs("'\\''", stdout);
        } else {
            (void)printf("%s%c", strchr(also_escaped, *text) ? "\\" : "", *text);
        }
    }
}

/* The visible commands one by one; NULL after the last. */
static const gantry_command_t *next_command(size_t *at) {
    while (*at < gantry_command_count()) {
        const gantry_command_t *command = gantry_command_at((*at)++);
        if (!command->is_hidden) return command;
    }
    return NULL;
}

static void print_command_names(void) {
    const gantry_command_t *command;
    for (size_t at = 0; (command = next_command(&at));) (void)printf(" %s", command->name);
}

static void print_choices(const char *choices) {
    char choice[32];
    for (size_t i = 0; gantry_command_choice_at(choices, i, choice); ++i)
        (void)printf("%s%s", i ? " " : "", choice);
}

/* ---- bash ---- */

/* What _gantry_offer expects: "files", or "words idle free". */
static void print_bash_offer(gantry_command_offer_t offer, const char *choices) {
    static const char *const names[] = {"nothing", "files",    "folders",    "devices",
                                        "ops",     "programs", "subcommands"};
    if (choices) (void)fputs("words ", stdout);
    if (choices) print_choices(choices);
    if (!choices) (void)fputs(names[offer], stdout);
}

/* The function that says, for a command, which options there are and what its operands are, and
 * for an option with a value, what that is. */
static void print_bash_tables(void) {
    const gantry_command_t *command;
    (void)fputs("_gantry_options() {\n    case $1 in\n", stdout);
    for (size_t at = 0; (command = next_command(&at));) {
        (void)printf("        %s) echo '", command->name);
        for (size_t i = 0; i < gantry_command_option_count(command); ++i)
            (void)printf("--%s ", command->options[i].name);
        (void)fputs("--help' ;;\n", stdout);
    }
    (void)fputs("    esac\n}\n_gantry_operands() {\n    case $1 in\n", stdout);
    for (size_t at = 0; (command = next_command(&at));) {
        if (!command->operands) continue;
        (void)printf("        %s) echo '", command->name);
        print_bash_offer(command->operand_offer, command->operand_choices);
        (void)fputs("' ;;\n", stdout);
    }
    (void)fputs("    esac\n}\n_gantry_values() {\n    case \"$1 $2\" in\n", stdout);
    for (size_t at = 0; (command = next_command(&at));) {
        for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
            const gantry_command_option_t *option = &command->options[i];
            if (!option->value_name) continue;
            (void)printf("        '%s --%s') echo '", command->name, option->name);
            print_bash_offer(option->offer, option->choices);
            (void)fputs("' ;;\n", stdout);
        }
    }
    (void)fputs("    esac\n}\n_gantry_foreign() {\n    case $1 in\n", stdout);
    for (size_t at = 0; (command = next_command(&at));) {
        if (command->operands_end_options) (void)printf("        %s) return 0 ;;\n", command->name);
    }
    (void)fputs("    esac\n    return 1\n}\n", stdout);
}

/* Bash splits words at = and :, which --device=cpu:0 has. The function must therefore read the line
 * itself, and answer with the part that bash replaces. It runs in bash 3.2, too. */
static const char bash_body[] =
    "_gantry_offer() { # KIND WORD...: one candidate a line\n"
    "    local kind=$1\n"
    "    shift\n"
    "    case $kind in\n"
    "        words) printf '%s\\n' \"$@\" ;;\n"
    "        subcommands) printf '%s\\n' $_gantry_commands ;;\n"
    "        devices) \"$_gantry_program\" devices --list 2>/dev/null ;;\n"
    "        ops) \"$_gantry_program\" ops --list 2>/dev/null ;;\n"
    "        programs) compgen -c -- \"$_gantry_word\" ;;\n"
    "        files) compgen -f -- \"$_gantry_word\" ;;\n"
    "        folders) compgen -d -- \"$_gantry_word\" ;;\n"
    "    esac\n"
    "}\n"
    "_gantry() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} command= option= operands=0 kind= cut= i\n"
    "    local _gantry_program=${COMP_WORDS[0]} _gantry_word=\n"
    "    local -a words\n"
    "    COMPREPLY=()\n"
    "    read -ra words <<<\"$line\"\n"
    "    case $line in *[[:space:]]) words+=('') ;; esac\n"
    "    _gantry_word=${words[${#words[@]} - 1]}\n"
    "    for ((i = 1; i < ${#words[@]} - 1; ++i)); do\n"
    "        if [ -z \"$command\" ]; then command=${words[i]}\n"
    "        elif [ -n \"$option\" ]; then option=\n"
    "        elif [ \"${words[i]}\" = -- ]; then operands=$((operands + 1000))\n"
    "        elif ((operands == 0)) && [ -n \"$(_gantry_values \"$command\" \"${words[i]}\")\" ]; then option=${words[i]}\n"
    "        elif [[ ${words[i]} != -* ]]; then operands=$((operands + 1))\n"
    "        fi\n"
    "    done\n"
    "    if [ -z \"$command\" ]; then\n"
    "        kind=\"words $_gantry_commands --help --version\"\n"
    "    elif [ -n \"$option\" ]; then\n"
    "        kind=$(_gantry_values \"$command\" \"$option\")\n"
    "    elif ((operands > 0)) && _gantry_foreign \"$command\"; then\n"
    "        if ((operands == 1000)); then kind=programs; else kind=files; fi\n"
    "    elif ((operands < 1000)) && [[ $_gantry_word == --*=* ]]; then\n"
    "        kind=$(_gantry_values \"$command\" \"${_gantry_word%%=*}\")\n"
    "        cut=${_gantry_word%%=*}=\n"
    "        _gantry_word=${_gantry_word#*=}\n"
    "    elif ((operands < 1000)) && [[ $_gantry_word == -* ]]; then\n"
    "        kind=\"words $(_gantry_options \"$command\")\"\n"
    "    else\n"
    "        kind=$(_gantry_operands \"$command\")\n"
    "    fi\n"
    "    case $kind in files | folders) compopt -o filenames 2>/dev/null ;; esac\n"
    "    case $COMP_WORDBREAKS in *=*) ;; *) _gantry_word=$cut$_gantry_word ;; esac\n"
    "    local reply IFS=$' \\t\\n'\n"
    "    while IFS= read -r reply; do\n"
    "        case $COMP_WORDBREAKS in *=*) ;; *) reply=$cut$reply ;; esac\n"
    "        [[ $reply == \"$_gantry_word\"* ]] || continue\n"
    "        case $COMP_WORDBREAKS in *:*) reply=${reply#\"${_gantry_word%\"${_gantry_word##*:}\"}\"} ;; esac\n"
    "        COMPREPLY+=(\"$reply\")\n"
    "    done < <(_gantry_offer $kind)\n"
    "}\n"
    "complete -F _gantry gantry\n";

static void print_bash(void) {
    (void)fputs(
        "# Completion of gantry in bash, made by gantry __complete bash.\n_gantry_commands='",
        stdout);
    print_command_names();
    (void)fputs("'\n", stdout);
    print_bash_tables();
    (void)fputs(bash_body, stdout);
}

/* ---- zsh ---- */

static void print_zsh_action(gantry_command_offer_t offer, const char *choices) {
    static const char *const actions[] = {"",
                                          "_files",
                                          "_files -/",
                                          "_gantry_devices",
                                          "_gantry_ops",
                                          "_command_names",
                                          "_gantry_commands"};
    if (choices) (void)fputc('(', stdout);
    if (choices) print_choices(choices);
    (void)fputs(choices ? ")" : actions[offer], stdout);
}

static void print_zsh_option(const gantry_command_option_t *option) {
    (void)printf(" \\\n                '%s--%s%s[", option->is_repeatable ? "*" : "", option->name,
                 option->value_name ? "=" : "");
    print_quoted(option->text, "[]\\");
    (void)fputc(']', stdout);
    if (option->value_name) (void)printf(":%s:", option->value_name);
    if (option->value_name) print_zsh_action(option->offer, option->choices);
    (void)fputc('\'', stdout);
}

static void print_zsh_command(const gantry_command_t *command) {
    (void)printf("            %s)\n                _arguments%s", command->name,
                 command->operands_end_options ? " -A '-*'" : "");
    for (size_t i = 0; i < gantry_command_option_count(command); ++i)
        print_zsh_option(&command->options[i]);
    (void)fputs(" \\\n                '(- *)--help[prints help]'", stdout);
    if (command->operands_end_options) {
        (void)fputs(" \\\n                '(-)1:program:_command_names' '*::argument:_normal'",
                    stdout);
    } else if (command->operands) {
        (void)fputs(" \\\n                '*:operand:", stdout);
        print_zsh_action(command->operand_offer, command->operand_choices);
        (void)fputc('\'', stdout);
    }
    (void)fputs(" ;;\n", stdout);
}

static void print_zsh(void) {
    const gantry_command_t *command;
    (void)fputs(
        "#compdef gantry\n"
        "# Completion of gantry in zsh, made by gantry __complete zsh.\n"
        "_gantry_devices() { local -a names; names=(${(f)\"$(gantry devices --list 2>/dev/null)\"}); compadd -a names }\n"
        "_gantry_ops() { local -a names; names=(${(f)\"$(gantry ops --list 2>/dev/null)\"}); compadd -a names }\n"
        "_gantry_commands() {\n"
        "    local -a commands\n"
        "    commands=(\n",
        stdout);
    for (size_t at = 0; (command = next_command(&at));) {
        (void)printf("        '%s:", command->name);
        print_quoted(command->summary, ":\\");
        (void)fputs("'\n", stdout);
    }
    (void)fputs(
        "    )\n"
        "    _describe command commands\n"
        "}\n"
        "_gantry() {\n"
        "    local curcontext=$curcontext state line\n"
        "    _arguments -C '1:command:_gantry_commands' '*::argument:->argument' '(- *)--help[prints help]' '(- *)--version[prints the version]'\n"
        "    [[ $state == argument ]] || return 0\n"
        "    case $line[1] in\n",
        stdout);
    for (size_t at = 0; (command = next_command(&at));) print_zsh_command(command);
    (void)fputs("    esac\n}\n_gantry \"$@\"\n", stdout);
}

/* ---- fish ---- */

static void print_fish_values(gantry_command_offer_t offer, const char *choices) {
    static const char *const values[] = {"",
                                         " -F",
                                         " -a '(__fish_complete_directories)'",
                                         " -a '(gantry devices --list 2>/dev/null)'",
                                         " -a '(gantry ops --list 2>/dev/null)'",
                                         " -a '(__fish_complete_subcommand)'",
                                         " -a \"$gantry_commands\""};
    if (choices) (void)fputs(" -a '", stdout);
    if (choices) print_choices(choices);
    (void)fputs(choices ? "'" : values[offer], stdout);
}

static void print_fish_command(const gantry_command_t *command) {
    (void)printf("complete -c gantry -n __fish_use_subcommand -a %s -d '", command->name);
    print_quoted(command->summary, "\\");
    (void)fputs("'\n", stdout);
    for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
        const gantry_command_option_t *option = &command->options[i];
        (void)printf("complete -c gantry -n '__fish_seen_subcommand_from %s' -l %s -d '",
                     command->name, option->name);
        print_quoted(option->text, "\\");
        /* -x: the value is no file */
        const bool is_file = option->offer == GANTRY_OFFER_FILES;
        (void)fputs(!option->value_name ? "'" : is_file ? "' -r" : "' -x", stdout);
        if (option->value_name) print_fish_values(option->offer, option->choices);
        (void)fputc('\n', stdout);
    }
    if (!command->operands) return;
    (void)printf("complete -c gantry -n '__fish_seen_subcommand_from %s'", command->name);
    print_fish_values(command->operand_offer, command->operand_choices);
    (void)fputc('\n', stdout);
}

static void print_fish(void) {
    const gantry_command_t *command;
    (void)fputs(
        "# Completion of gantry in fish, made by gantry __complete fish.\n"
        "set -l gantry_commands",
        stdout);
    print_command_names();
    (void)fputs(
        "\ncomplete -c gantry -f\n"
        "complete -c gantry -l help -d 'prints help'\n"
        "complete -c gantry -n __fish_use_subcommand -l version -d 'prints the version'\n",
        stdout);
    for (size_t at = 0; (command = next_command(&at));) print_fish_command(command);
}

static int complete_run(const gantry_command_values_t *values) {
    const char *shell = values->operands[0];
    if (strcmp(shell, "bash") == 0) print_bash();
    if (strcmp(shell, "zsh") == 0) print_zsh();
    if (strcmp(shell, "fish") == 0) print_fish();
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_complete = {.name = "__complete",
                                                  .summary = "prints the completion of a shell",
                                                  .operands = "bash|zsh|fish",
                                                  .operand_least = 1,
                                                  .operand_most = 1,
                                                  .operand_choices = "bash|zsh|fish",
                                                  .is_hidden = true,
                                                  .run = complete_run};
