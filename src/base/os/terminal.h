/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream's terminal can do. live.h has views that are drawn again and again. Owner: nothing
 * is kept. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_TERMINAL_H
#define GANTRY_BASE_OS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

bool gantry__os_is_terminal(FILE *file);
/* The kind of the terminal: the variable TERM; NULL if it is not set. A system that has no such
 * variable has "dumb" for a terminal that takes no escape sequences, and "console" for another,
 * which takes them from this call on. */
const char *gantry__os_terminal_kind(FILE *file);
/* Gets the columns and lines of the stream's terminal; 0 if there is none, or it does not report
 * them. */
void gantry__os_terminal_size(FILE *file, size_t *out_columns, size_t *out_lines);

#endif
