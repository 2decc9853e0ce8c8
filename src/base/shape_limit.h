/* SPDX-License-Identifier: Apache-2.0 */
/* The most elements of a shape, as a number and in the words of messages. Owner: constants.
 * Threads: thread-safe. */
#ifndef GANTRY_BASE_SHAPE_LIMIT_H
#define GANTRY_BASE_SHAPE_LIMIT_H

#include <stdint.h>

/* Where pointers have 32 bits, the bytes of so many elements fit a size_t, whatever their type. */
#if SIZE_MAX > UINT32_MAX
#define GANTRY__MOST_ELEMENTS INT64_MAX
#define GANTRY__MOST_ELEMENTS_TEXT "2**63 - 1"
#else
#define GANTRY__MOST_ELEMENTS (PTRDIFF_MAX / 16)
#define GANTRY__MOST_ELEMENTS_TEXT "2**27 - 1"
#endif

#endif
