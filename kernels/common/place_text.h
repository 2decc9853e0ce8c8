/* SPDX-License-Identifier: Apache-2.0 */
/* Places in tensors, and shapes, as text, for messages about bad data. Owner: the buffers are the
 * caller's. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_PLACE_TEXT_H
#define GANTRY_KERNELS_PLACE_TEXT_H

#include "kernels/common/kernel_types.h"

/* room for a number of each dimension, in bytes */
#define GANTRY_K_PLACE_BYTES (GANTRY_MAX_RANK * 22 + 4)

/* Writes "[5,2]", with the separator "," between the numbers. */
void gantry__portable_print_list(const int64_t *numbers, int64_t count, const char *separator,
                                 char *out, size_t out_bytes);

/* Writes "[1,2]", the place of the element at a flat position, or nothing for a scalar. No
 * dimension may be 0. */
void gantry__portable_print_place(const int64_t *dims, int32_t rank, int64_t position, char *out,
                                  size_t out_bytes);

#endif
