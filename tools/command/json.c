/* SPDX-License-Identifier: Apache-2.0 */
/* gantry help --json: the tables of the commands. */
#include "command/command.h"
#include "common/tool.h"

static void command_json_add_option(gantry_json_t *json, const gantry_command_option_t *option) {
    char choice[32];
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", option->name);
    gantry_json_text(json, "value", option->value_name);
    gantry_json_text(json, "text", option->text);
    gantry_json_bool(json, "is_repeatable", option->is_repeatable);
    gantry_json_array(json, "choices");
    for (size_t i = 0; option->choices && gantry_command_choice_at(option->choices, i, choice); ++i)
        gantry_json_text(json, NULL, choice);
    gantry_json_end(json);
    gantry_json_end(json);
}

static void add_exit_codes(gantry_json_t *json, const gantry_command_t *command) {
    gantry_command_exit_code_t code;
    gantry_json_array(json, "exit_codes");
    for (size_t i = 0; gantry_command_exit_code_at(command, i, &code); ++i) {
        gantry_json_object(json, NULL);
        gantry_json_integer(json, "code", code.code);
        gantry_json_text(json, "text", code.text);
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

static void add_command(gantry_json_t *json, const gantry_command_t *command) {
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", command->name);
    gantry_json_text(json, "summary", command->summary);
    gantry_json_text(json, "description", command->description);
    gantry_json_text(json, "operands", command->operands);
    gantry_json_array(json, "options");
    for (size_t i = 0; i < gantry_command_option_count(command); ++i)
        command_json_add_option(json, &command->options[i]);
    gantry_json_end(json);
    add_exit_codes(json, command);
    gantry_json_end(json);
}

void gantry_command_print_json(FILE *file, const gantry_command_t *command) {
    gantry_json_t json;
    gantry_json_init(&json, file);
    gantry_json_array(&json, NULL);
    if (command) add_command(&json, command);
    for (size_t i = 0; !command && i < gantry_command_count(); ++i)
        if (!gantry_command_at(i)->is_hidden) add_command(&json, gantry_command_at(i));
    gantry_json_end(&json);
}
