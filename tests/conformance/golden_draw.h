/* SPDX-License-Identifier: Apache-2.0 */
/* The elements that golden files name by a seed: golden_case.random_values in tests/golden. */
#ifndef GANTRY_TESTS_GOLDEN_DRAW_H
#define GANTRY_TESTS_GOLDEN_DRAW_H

#include <gantry/types.h>

/* Draws `count` elements: floats between -4 and 4, integers from -1000 to 1000 (wrapped to the
 * type) or booleans. Returns 0, or -1 for a type of other elements. */
int golden_draw(uint32_t seed, gantry_dtype_t dtype, void *out, size_t count);

/* Stores the lower bits as an element of `size` bytes. */
void golden_store_bits(void *data, size_t size, size_t index, uint64_t bits);

/* The bits of a number of `size` bytes, 8 at most. */
uint64_t golden_load_bits(const void *number, size_t size);

bool golden_is_big_endian(void);

/* Files hold little-endian elements. */
void golden_to_host_order(unsigned char *data, size_t bytes, gantry_dtype_t dtype);

#endif
