/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/matrix.cl, in the order of every table of them. */
#ifndef GANTRY_PORTABLE_MATRIX_H
#define GANTRY_PORTABLE_MATRIX_H

#define GANTRY_MATRIX_ITEMS(ITEM) \
    ITEM(band)                    \
    ITEM(diagonals)               \
    ITEM(diagonal_part)           \
    ITEM(set_diagonals)

#endif
