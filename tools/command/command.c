/* SPDX-License-Identifier: Apache-2.0 */
/* The list of commands, and the parser of their lines.
 *
 * `--name value` and `--name=value` are equal; `--` ends the options. No name may be shortened:
 * a script then keeps its meaning if a command gets another option. */
#include "command/command.h"

#include <stdlib.h>
#include <string.h>

#include "common/tool.h"

static const gantry_command_t *const commands[] = {
#define GANTRY_COMMAND(name) &gantry_command_##name,
#include "command/commands.def"
#undef GANTRY_COMMAND
};

size_t gantry_command_count(void) { return sizeof commands / sizeof commands[0]; }

const gantry_command_t *gantry_command_at(size_t index) { return commands[index]; }

const gantry_command_t *gantry_command_find(const char *name) {
    for (size_t i = 0; i < gantry_command_count(); ++i) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

size_t gantry_command_option_count(const gantry_command_t *command) {
    size_t count = 0;
    while (count < GANTRY_COMMAND_MOST_OPTIONS && command->options[count].name) ++count;
    return count;
}

const gantry_command_option_t *gantry_command_find_option(const gantry_command_t *command,
                                                          const char *name, size_t length) {
    for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
        const gantry_command_option_t *option = &command->options[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    }
    return NULL;
}

/* ---- refusals that know the tables ---- */

/* "--json, --verbose, --help" */
static void list_options(const gantry_command_t *command, char *out, size_t out_bytes) {
    out[0] = '\0';
    for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
        const size_t used = strlen(out);
        (void)snprintf(out + used, out_bytes - used, "--%s, ", command->options[i].name);
    }
    const size_t used = strlen(out);
    (void)snprintf(out + used, out_bytes - used, "--help");
}

static bool refuse_option(const gantry_command_t *command, const char *word) {
    char accepted[1024], name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    list_options(command, accepted, sizeof accepted);
    gantry_command_nearest_t nearest = {.word = name + strspn(name, "-")};
    for (size_t i = 0; i < gantry_command_option_count(command); ++i)
        gantry_command_nearest_offer(&nearest, command->options[i].name);
    gantry_command_nearest_offer(&nearest, "help");
    const char *best = gantry_command_nearest_best(&nearest);
    (void)gantry_command_refuse(command, "\"%s\" is not understood; accepted: %s%s%s%s", name,
                                accepted, best ? "; did you mean --" : "", best ? best : "",
                                best ? "?" : "");
    return false;
}

static bool command_is_choice(const char *choices, const char *word) {
    char choice[32];
    for (size_t i = 0; gantry_command_choice_at(choices, i, choice); ++i) {
        if (strcmp(choice, word) == 0) return true;
    }
    return false;
}

/* `what` is "--policy", or the operand's name. */
static bool refuse_choice(const gantry_command_t *command, const char *what, const char *choices,
                          const char *word) {
    char accepted[256] = "", choice[32];
    gantry_command_nearest_t nearest = {.word = word};
    for (size_t i = 0; gantry_command_choice_at(choices, i, choice); ++i) {
        const size_t used = strlen(accepted);
        (void)snprintf(accepted + used, sizeof accepted - used, "%s%s", i ? ", " : "", choice);
        gantry_command_nearest_offer(&nearest, choice);
    }
    const char *best = gantry_command_nearest_best(&nearest);
    (void)gantry_command_refuse(command, "%s is \"%s\"; accepted: %s%s%s%s", what, word, accepted,
                                best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
    return false;
}

/* ---- the parser ---- */

static bool add_option(gantry_command_values_t *values, const gantry_command_option_t *option,
                       const char *text) {
    const gantry_command_t *command = values->command;
    char name[64];
    (void)snprintf(name, sizeof name, "--%s", option->name);
    if (text && option->choices && !command_is_choice(option->choices, text))
        return refuse_choice(command, name, option->choices, text);
    if (text && !option->is_repeatable && gantry_command_has(values, option->name)) {
        (void)gantry_command_refuse(command, "%s is given twice; accepted: one value", name);
        return false;
    }
    values->items[values->count].option = option;
    values->items[values->count++].text = text;
    return true;
}

/* Reads the option at *words, and advances to its last word. `left` words are there. */
static bool read_option(gantry_command_values_t *values, char ***words, int left) {
    const char *word = **words, *equals = strchr(word, '=');
    const size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const gantry_command_option_t *option =
        word[1] == '-' ? gantry_command_find_option(values->command, word + 2, length - 2) : NULL;
    if (!option) return refuse_option(values->command, word);
    if (!option->value_name && equals) {
        (void)gantry_command_refuse(values->command, "--%s takes no value, but is given \"%s\"",
                                    option->name, equals + 1);
        return false;
    }
    if (!option->value_name || equals)
        return add_option(values, option, equals ? equals + 1 : NULL);
    if (left < 2) {
        (void)gantry_command_refuse(values->command, "--%s needs a value: --%s %s", option->name,
                                    option->name, option->value_name);
        return false;
    }
    ++*words;
    return add_option(values, option, **words);
}

static bool check_operands(const gantry_command_values_t *values) {
    const gantry_command_t *command = values->command;
    const size_t count = values->operand_count,
                 most = command->operands ? command->operand_most : 0;
    if (count > most) {
        (void)gantry_command_refuse(
            command, "\"%s\" is not understood; %s%s", values->operands[most],
            most ? "accepted: " : "no word may stand here", most ? command->operands : "");
        return false;
    }
    if (count < command->operand_least) {
        (void)gantry_command_refuse(command, "a word is missing: %s", command->operands);
        return false;
    }
    if (count == 0 || !command->operand_choices ||
        command_is_choice(command->operand_choices, values->operands[0]))
        return true;
    return refuse_choice(command, "the first word", command->operand_choices, values->operands[0]);
}

bool gantry_command_is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

bool gantry_command_parse(const gantry_command_t *command, int count, char **words,
                          gantry_command_values_t *out) {
    const size_t most = (size_t)count + 1;
    *out = (gantry_command_values_t){.command = command};
    out->items = calloc(most, sizeof *out->items);
    out->operands = calloc(most, sizeof *out->operands);
    if (!out->items || !out->operands) {
        (void)gantry_tool_fail("there is no memory for a line of %d words", count);
        return false;
    }
    bool reads_options = true;
    for (char **word = words; word < words + count; ++word) {
        if (reads_options && strcmp(*word, "--") == 0) {
            reads_options = false;
        } else if (reads_options && gantry_command_is_help(*word)) {
            out->wants_help = true;
            return true;
        } else if (reads_options && (*word)[0] == '-' && (*word)[1] != '\0') {
            if (!read_option(out, &word, (int)(words + count - word))) return false;
        } else {
            out->operands[out->operand_count++] = *word;
            reads_options = reads_options && !command->operands_end_options;
        }
    }
    return check_operands(out);
}

void gantry_command_values_deinit(gantry_command_values_t *values) {
    free(values->items);
    free(values->operands);
    *values = (gantry_command_values_t){0};
}

/* ---- the runtime of a command ---- */

static bool has_option(const gantry_command_t *command, const char *name) {
    for (size_t i = 0; i < gantry_command_option_count(command); ++i) {
        if (strcmp(command->options[i].name, name) == 0) return true;
    }
    return false;
}

gantry_runtime_t *gantry_command_open_runtime(const gantry_command_values_t *values,
                                              const gantry_runtime_options_t *options) {
    gantry_runtime_options_t own = {.struct_size = sizeof own};
    if (options) own = *options;
    if (has_option(values->command, "opencl-cpu-as-gpu") &&
        gantry_command_has(values, "opencl-cpu-as-gpu"))
        own.opencl_cpu_as_gpu = GANTRY_ON;
    return gantry_tool_create_runtime(
        &own, has_option(values->command, "verbose") && gantry_command_has(values, "verbose"));
}
