/* SPDX-License-Identifier: Apache-2.0 */
/* Starts this program again, in a fresh process that prints numbers, to measure costs that a
 * process pays once. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_CHILD_H
#define GANTRY_BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_CHILD_ARGUMENTS 6

/* arguments follow the program's name, and must end with NULL. It returns false if the child fails
 * or prints fewer than count numbers. */
bool bench_child_run(const char *program, const char *const *arguments, double *out, size_t count);

#endif
