/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated lists of names, as options of the benchmarks have them.
 *
 * Owner: the texts are the caller's. Threads: thread-safe. */
#ifndef GANTRY_BENCH_LIST_H
#define GANTRY_BENCH_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether name is an item of the list; a NULL list holds all names. */
bool bench_list_has(const char *list, const char *name);

/* The first item that is none of `count` names, which name_at returns by their number; NULL if
 * there is no such item. */
const char *bench_list_unknown(const char *list, const char *(*name_at)(size_t number),
                               size_t count);

#endif
