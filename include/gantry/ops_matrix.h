/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops on the matrices in a tensor's last two dimensions; ops.h says what holds for all ops, for
 * owners and for threads. Elements have any type, except those of products. Diagonals are numbered:
 * 0 is the main one, 1, 2, ... are above it, -1, -2, ... below it. */
#ifndef GANTRY_OPS_MATRIX_H
#define GANTRY_OPS_MATRIX_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of gantry_matmul. */
typedef struct gantry_matmul_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    bool transpose_a;     /**< Multiplies with a transposed. */
    bool transpose_b;     /**< Multiplies with b transposed. */
} gantry_matmul_options_t;

/** MatMul, or BatchMatMulV2: [..., n, k] x [..., k, m] = [..., n, m]. Leading dimensions
 * broadcast. options may be NULL. */
GANTRY_API const gantry_tensor_t *gantry_matmul(gantry_scope_t *scope, const gantry_tensor_t *a,
                                                const gantry_tensor_t *b,
                                                const gantry_matmul_options_t *options);

/** MatMulInteger: the product of integers less their zero points, in int32, modulo 2^32. Types that
 * pair are int8 or uint8 with int8 or uint8, int16 with int16, and bool with bool, which has no
 * zero points. A zero point has its operand's type; it is a scalar, or has an element for each row
 * of a (column of b): a vector, or a tensor of a's (b's) shape whose other size is 1. NULL: 0.
 * options may be NULL. */
GANTRY_API const gantry_tensor_t *gantry_matmul_integer(gantry_scope_t *scope,
                                                        const gantry_tensor_t *a,
                                                        const gantry_tensor_t *b,
                                                        const gantry_tensor_t *a_zero_point,
                                                        const gantry_tensor_t *b_zero_point,
                                                        const gantry_matmul_options_t *options);

/** x with its last two dimensions exchanged. */
GANTRY_API const gantry_tensor_t *gantry_matrix_transpose(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x);
/** MatrixBandPart: x with 0 beyond `lower` diagonals below the main one and `upper` above it. A
 * negative number keeps all. */
GANTRY_API const gantry_tensor_t *gantry_matrix_band_part(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x, int64_t lower,
                                                          int64_t upper);

/** Options of the ops on diagonals; 0 and NULL are the defaults. */
typedef struct gantry_diagonal_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    int32_t lower;        /**< The first diagonal. */
    int32_t upper;        /**< The last diagonal. */
    /** gantry_matrix_diag: rows of the result. 0: as few as hold the diagonals; rows and columns
     * 0: squares. */
    int32_t rows;
    int32_t columns; /**< gantry_matrix_diag: columns of the result, likewise. */
    /** A scalar of x's type for places on no diagonal, and after shorter ones; NULL: 0.
     * gantry_matrix_set_diag ignores it. */
    const gantry_tensor_t *padding;
    /** Alignment of shorter diagonals, above and below the main one: "RIGHT_LEFT" (NULL),
     * "LEFT_RIGHT", "LEFT_LEFT" or "RIGHT_RIGHT". */
    const char *align;
} gantry_diagonal_options_t;

/** MatrixDiag: matrices with these diagonals: [..., length], or [..., count, length] for
 * several, from `upper` down to `lower`. options NULL: the main diagonal. */
GANTRY_API const gantry_tensor_t *gantry_matrix_diag(gantry_scope_t *scope,
                                                     const gantry_tensor_t *diagonals,
                                                     const gantry_diagonal_options_t *options);
/** MatrixDiagPart: the diagonals of x, in the form that gantry_matrix_diag takes. */
GANTRY_API const gantry_tensor_t *gantry_matrix_diag_part(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x,
                                                          const gantry_diagonal_options_t *options);
/** MatrixSetDiag: x with these diagonals, in the form that gantry_matrix_diag takes. */
GANTRY_API const gantry_tensor_t *gantry_matrix_set_diag(gantry_scope_t *scope,
                                                         const gantry_tensor_t *x,
                                                         const gantry_tensor_t *diagonals,
                                                         const gantry_diagonal_options_t *options);

#ifdef __cplusplus
}
#endif
#endif
