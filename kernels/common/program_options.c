/* SPDX-License-Identifier: Apache-2.0 */
/* Build options of a program (program_options.h). */
#include "kernels/common/program_options.h"

#include <string.h>

void gantry__k_define_text(gantry__k_options_t *options, const char *name, const char *value,
                           size_t value_length) {
    static const char define[] = "-DGANTRY_";
    const size_t name_length = strlen(name);
    char *at = options->text + options->length;

    if (options->length + sizeof define + 2 + name_length + value_length > sizeof options->text) {
        return;
    }
    if (options->length > 0) *at++ = ' ';
    memcpy(at, define, sizeof define - 1);
    at += sizeof define - 1;
    memcpy(at, name, name_length);
    at += name_length;
    *at++ = '=';
    memcpy(at, value, value_length);
    at += value_length;
    *at = '\0';
    options->length = (uint32_t)(at - options->text);
}

void gantry__k_define(gantry__k_options_t *options, const char *name, uint32_t value) {
    char digits[10];
    uint32_t first = sizeof digits;

    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    gantry__k_define_text(options, name, digits + first, sizeof digits - first);
}

void gantry__k_define_type(gantry__k_options_t *options, const char *letter, int32_t dtype) {
    const char *name = gantry__k_short_name(dtype);

    gantry__k_define_text(options, letter, name, strlen(name));
}

gantry__k_options_t gantry__k_options(const gantry_op_call_t *call) {
    static const char serial[] = "-DGANTRY_SERIAL=1", lanes[] = "-DGANTRY_SERIAL=0";
    const bool is_serial = gantry__k_is_serial(call);
    gantry__k_options_t options;

    memcpy(options.text, is_serial ? serial : lanes, sizeof serial);
    options.length = sizeof serial - 1;
    if (!is_serial && call->device_info->type == GANTRY_DEVICE_TYPE_CPU) {
        gantry__k_define(&options, "COPY_PARAMETERS", 1);
    }
    return options;
}

/* What gantry__k_define_type does, in fewer instructions: most launches come here. */
gantry__k_options_t gantry__k_options_of_type(const gantry_op_call_t *call, int32_t type) {
    static const char define[] = " -DGANTRY_T=";
    const char *name = gantry__k_short_name(type);
    const uint32_t length = (uint32_t)strlen(name);
    gantry__k_options_t options = gantry__k_options(call);
    char *at = options.text + options.length;

    memcpy(at, define, sizeof define - 1);
    memcpy(at + sizeof define - 1, name, length + 1);
    options.length += (uint32_t)sizeof define - 1 + length;
    return options;
}

gantry__k_options_t gantry__k_size_options(const gantry_op_call_t *call, uint32_t bytes,
                                           int32_t index_dtype) {
    gantry__k_options_t options = gantry__k_options_of_type(call, gantry__k_twin_of(bytes));
    if (index_dtype != 0) gantry__k_define_type(&options, "I", index_dtype);
    return options;
}
