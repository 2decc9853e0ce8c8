/* SPDX-License-Identifier: Apache-2.0 */
/* The name that a misspelt one most probably meant. Pure functions on text, of linear memory and
 * no allocation. Thread-safe. */
#ifndef GANTRY_BASE_NEAREST_H
#define GANTRY_BASE_NEAREST_H

#include <stddef.h>

/* The name at the least edit distance from word, case aside; NULL when even that is far: more than
 * one edit and one more for every five characters. A name that word only goes on
 * (MEMORY_LIMIT_BYTES, MEMORY_LIMIT) is one edit away. */
const char *gantry__nearest(const char *word, const char *const *names, size_t count);

#endif
