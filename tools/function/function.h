/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry function`. Owner: the call has its runtime, scope and function. Threads:
 * externally synchronised. */
#ifndef GANTRY_TOOLS_FUNCTION_H
#define GANTRY_TOOLS_FUNCTION_H

#include "command/command.h"
#include "common/tool.h"

typedef struct function_call_t {
    const gantry_command_values_t *values;
    const char *path;
    gantry_runtime_t *runtime;
    gantry_function_t *function;
    gantry_json_t *json; /* NULL: text */
} function_call_t;

/* "float32 [2, 4]"; a size that any call may choose is "?". Returns out. */
const char *function_type_text(const gantry_function_value_t *value, char *out, size_t out_bytes);
/* The name of an input or output; "0", its number, without one. Returns the name or out. */
const char *function_value_name(const gantry_function_value_t *value, size_t index, char out[32]);

/* Print what the function is, and what it computes. They return the exit code. */
int function_info(const function_call_t *call);
int function_run(const function_call_t *call);
/* Calls the function with the inputs of the line, and reads no results; false after a message. */
bool function_try(const function_call_t *call);

#endif
