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
    uint64_t seed, size; /* of filled inputs */
    size_t fill;         /* a choice of --fill */
} function_call_t;

enum { FUNCTION_FILL_RANDOM, FUNCTION_FILL_ONES, FUNCTION_FILL_ZEROS };

/* Gets an input or output of the function by its number. */
typedef gantry_status_t function_get_fn(gantry_function_t *function, size_t index,
                                        gantry_function_value_t *out);

/* "float32 [2, 4]"; a size that any call may choose is "?". Returns out. */
const char *function_type_text(const gantry_function_value_t *value, char *out, size_t out_bytes);
/* The name of an input or output; "0", its number, without one. Returns the name or out. */
const char *function_value_name(const gantry_function_value_t *value, size_t index, char out[32]);

/* Prints a text of the file, which must not drive the terminal: '?' takes the place of what is not
 * printable, line ends included. */
void function_print_text(const char *text);

/* Random numbers of any type: from [0, 1), or [0, 10) for integers. NULL after a failure. */
const gantry_tensor_t *function_draw(gantry_scope_t *scope, gantry_dtype_t dtype,
                                     gantry_shape_t shape, int64_t seed);

/* Reads the values "NAME=FILE" of --input or --output: files, of `count` entries that must be NULL,
 * gets each file at the number of its value. Returns the exit code, after a message. */
int function_read_files(const function_call_t *call, const char *option, size_t count,
                        function_get_fn *get, const char **files);

/* Print what the function is, and what it computes. They return the exit code. */
int function_info(const function_call_t *call);
int function_run(const function_call_t *call);
/* Calls the function with the inputs of the line, and reads no results. Returns the exit code. */
int function_try(const function_call_t *call);

#endif
