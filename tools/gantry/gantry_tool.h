/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the program gantry. Each prints to standard output and returns the exit code. */
#ifndef GANTRY_TOOLS_GANTRY_TOOL_H
#define GANTRY_TOOLS_GANTRY_TOOL_H

#include <stdbool.h>

#include <gantry/gantry.h>

typedef enum gantry_tool_format_t {
    GANTRY_TOOL_TEXT,
    GANTRY_TOOL_JSON,
    GANTRY_TOOL_MARKDOWN
} gantry_tool_format_t;

/* Writes warnings and errors to standard error, and all other levels if the bool *user is true. */
void gantry_tool_log(void *user, gantry_log_level_t level, const char *text);

int gantry_tool_devices(gantry_runtime_t *runtime, bool json);
int gantry_tool_settings(gantry_runtime_t *runtime, bool json);
int gantry_tool_ops(gantry_runtime_t *runtime, gantry_tool_format_t format);
int gantry_tool_probe(const char *alias);
/* Reads its own options and makes its own runtimes. *out_refused is a word that it does not
 * understand, or NULL. */
int gantry_tool_tune(int count, char **words, const char **out_refused);

#endif
