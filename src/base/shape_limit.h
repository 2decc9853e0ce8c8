/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a shape, and the most that it may have, as a number and in the words of messages.
 * Owner: constants. Threads: thread-safe. */
#ifndef GANTRY_BASE_SHAPE_LIMIT_H
#define GANTRY_BASE_SHAPE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/types.h>

/* Where pointers have 32 bits, the bytes of so many elements fit a size_t, whatever their type. */
#if SIZE_MAX > UINT32_MAX
#define GANTRY__MOST_ELEMENTS INT64_MAX
#define GANTRY__MOST_ELEMENTS_TEXT "2**63 - 1"
#else
#define GANTRY__MOST_ELEMENTS (PTRDIFF_MAX / 16)
#define GANTRY__MOST_ELEMENTS_TEXT "2**27 - 1"
#endif

/* Two numbers of so many bits have a product below the limit. */
#define GANTRY__SMALL_SIZE_BITS (SIZE_MAX > UINT32_MAX ? 31 : 13)

/* gantry_shape_elements of a shape, for every op: divides only if a size is large. */
static inline int64_t gantry__shape_elements(const gantry_shape_t *shape) {
    int64_t product = 1, all = 1;
    if ((uint32_t)shape->rank > GANTRY_MAX_RANK) return -1;
    for (int32_t i = 0; i < shape->rank; ++i) {
        const int64_t size = shape->dims[i], factor = size == 0 ? 1 : size;
        if (size < 0) return -1;
        if ((product | factor) >> GANTRY__SMALL_SIZE_BITS != 0 &&
            product > GANTRY__MOST_ELEMENTS / factor)
            return -1;
        product *= factor;
        all = size == 0 ? 0 : all;
    }
    return product * all;
}

#endif
