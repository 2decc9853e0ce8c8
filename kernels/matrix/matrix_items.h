/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/matrix/matrix.cl, in the order that all tables must have. Owner: nothing,
 * this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATRIX_ITEMS_H
#define GANTRY_KERNELS_MATRIX_ITEMS_H

#define GANTRY_MATRIX_ITEMS(ITEM) \
    ITEM(band)                    \
    ITEM(diagonals)               \
    ITEM(diagonal_part)           \
    ITEM(set_diagonals)

#endif
