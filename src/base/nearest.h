/* SPDX-License-Identifier: Apache-2.0 */
/* The name most similar to a misspelt one. Pure functions on text, of linear memory and no
 * allocation. Owner: nothing; the result is one of the caller's names. Threads: thread-safe. */
#ifndef GANTRY_BASE_NEAREST_H
#define GANTRY_BASE_NEAREST_H

#include <stddef.h>

/* The name at the least edit distance from word, ignoring case. NULL if even that one is far: more
 * than one edit, plus one for every five characters. A word that continues a name
 * (MEMORY_LIMIT_BYTES for MEMORY_LIMIT) is one edit away. */
const char *gantry__nearest(const char *word, const char *const *names, size_t count);

#endif
