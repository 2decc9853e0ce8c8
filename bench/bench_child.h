/* SPDX-License-Identifier: Apache-2.0 */
/* This program once more, in a fresh process that prints numbers: for what a process pays only
 * once. Externally synchronised. */
#ifndef GANTRY_BENCH_CHILD_H
#define GANTRY_BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_CHILD_ARGUMENTS 6

/* arguments: after the program's name, NULL-terminated. false when the child fails or prints
 * fewer than count numbers. */
bool bench_child_run(const char *program, const char *const *arguments, double *out, size_t count);

#endif
