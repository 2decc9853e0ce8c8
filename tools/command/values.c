/* SPDX-License-Identifier: Apache-2.0 */
/* What commands read from their parsed line, and how they refuse values. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "common/tool.h"
#include "shared/printable.h"

/* The option of the command's own table. */
static const gantry_command_option_t *option_named(const gantry_command_t *command,
                                                   const char *name) {
    const gantry_command_option_t *option = gantry_command_find_option(command, name, strlen(name));
    if (option) return option;
    (void)fprintf(stderr, "gantry: the table of %s lacks --%s\n", command->name, name);
    abort();
}

const char *gantry_command_value_at(const gantry_command_values_t *values, const char *name,
                                    size_t index) {
    const gantry_command_option_t *option = option_named(values->command, name);
    for (size_t i = 0; i < values->count; ++i) {
        if (values->items[i].option == option && index-- == 0) return values->items[i].text;
    }
    return NULL;
}

const char *gantry_command_value(const gantry_command_values_t *values, const char *name) {
    return gantry_command_value_at(values, name, 0);
}

bool gantry_command_has(const gantry_command_values_t *values, const char *name) {
    const gantry_command_option_t *option = option_named(values->command, name);
    for (size_t i = 0; i < values->count; ++i) {
        if (values->items[i].option == option) return true;
    }
    return false;
}

bool gantry_command_choice_at(const char *choices, size_t index, char out[32]) {
    while (index-- > 0) {
        choices = strchr(choices, '|');
        if (!choices) return false;
        ++choices;
    }
    (void)snprintf(out, 32, "%.*s", (int)strcspn(choices, "|"), choices);
    return true;
}

size_t gantry_command_choice(const gantry_command_values_t *values, const char *name,
                             size_t fallback) {
    const char *text = gantry_command_value(values, name);
    const char *choices = option_named(values->command, name)->choices;
    char choice[32];
    for (size_t i = 0; text && gantry_command_choice_at(choices, i, choice); ++i) {
        if (strcmp(choice, text) == 0) return i;
    }
    return fallback;
}

/* ---- values with units ---- */

bool gantry_command_number(const gantry_command_values_t *values, const char *name, double least,
                           double most, double *out) {
    const char *text = gantry_command_value(values, name);
    char *end, accepted[96];
    if (!text) return true;
    const double number = strtod(text, &end);
    if (end != text && *end == '\0' && number >= least && number <= most) {
        *out = number;
        return true;
    }
    (void)snprintf(accepted, sizeof accepted, "a number from %.10g to %.10g", least, most);
    (void)gantry_command_refuse_value(values, name, accepted);
    return false;
}

bool gantry_command_integer(const gantry_command_values_t *values, const char *name, uint64_t least,
                            uint64_t most, uint64_t *out) {
    const char *text = gantry_command_value(values, name);
    char *end, accepted[96];
    if (!text) return true;
    errno = 0;
    const uint64_t number = strtoull(text, &end, 10);
    /* strtoull takes blanks and signs, too */
    if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && number >= least &&
        number <= most) {
        *out = number;
        return true;
    }
    (void)snprintf(accepted, sizeof accepted, "a whole number from %" PRIu64 " to %" PRIu64, least,
                   most);
    (void)gantry_command_refuse_value(values, name, accepted);
    return false;
}

bool gantry_command_size(const gantry_command_values_t *values, const char *name,
                         uint64_t *out_bytes) {
    const char *text = gantry_command_value(values, name);
    if (!text || gantry_tool_parse_size(text, out_bytes)) return true;
    (void)gantry_command_refuse_value(values, name, "a size such as 512M, 4GiB or 1.5GiB");
    return false;
}

bool gantry_command_duration(const gantry_command_values_t *values, const char *name,
                             double *out_seconds) {
    const char *text = gantry_command_value(values, name);
    if (!text || gantry_tool_parse_duration(text, out_seconds)) return true;
    (void)gantry_command_refuse_value(values, name, "a time such as 30s, 10m, 1h30m, or seconds");
    return false;
}

/* ---- refusals ---- */

int gantry_command_refuse(const gantry_command_t *command, const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    gantry__make_printable(text, '\n');
    (void)fprintf(stderr, "gantry %s: %s\n", command->name, text);
    gantry_command_print_usage(stderr, command);
    return GANTRY_TOOL_WRONG_USAGE;
}

int gantry_command_refuse_value(const gantry_command_values_t *values, const char *name,
                                const char *accepted) {
    return gantry_command_refuse(values->command, "--%s is \"%s\"; accepted: %s", name,
                                 gantry_command_value(values, name), accepted);
}
