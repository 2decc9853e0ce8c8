/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on the matrices in a tensor's last two dimensions; ops.h says what holds for all ops.
 * Elements of any type. Diagonals are numbered: 0 is the main one, those above it are 1, 2, ...,
 * those below -1, -2, ... */
#ifndef GANTRY_OPS_MATRIX_H
#define GANTRY_OPS_MATRIX_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_matmul_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    bool transpose_a;
    bool transpose_b;
} gantry_matmul_options_t;

/* [..., n, k] x [..., k, m] = [..., n, m]; leading dimensions broadcast. options may be NULL. */
GANTRY_API const gantry_tensor_t *gantry_matmul(gantry_scope_t *scope, const gantry_tensor_t *a,
                                                const gantry_tensor_t *b,
                                                const gantry_matmul_options_t *options);

/* The last two dimensions exchanged. */
GANTRY_API const gantry_tensor_t *gantry_matrix_transpose(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x);
/* All but `lower` diagonals below the main one and `upper` above it set to 0; a negative number
 * keeps all. */
GANTRY_API const gantry_tensor_t *gantry_matrix_band_part(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x, int64_t lower,
                                                          int64_t upper);

/* What is not set (0, NULL) is the default. */
typedef struct gantry_diagonal_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    int32_t lower, upper; /* the diagonals lower to upper */
    /* matrix_diag: of the result; 0: as few as hold the diagonals, both 0: squares */
    int32_t rows, columns;
    /* not for matrix_set_diag: a scalar of x's type, on no diagonal and behind shorter ones;
     * NULL: 0 */
    const gantry_tensor_t *padding;
    /* where diagonals lie that are shorter than the longest, those above 0 and those below:
     * "RIGHT_LEFT" (NULL), "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT" */
    const char *align;
} gantry_diagonal_options_t;

/* Matrices of diagonals [..., length], or [..., count, length] when there are several: `upper`
 * first, down to `lower`. options NULL: the main diagonal. */
GANTRY_API const gantry_tensor_t *gantry_matrix_diag(gantry_scope_t *scope,
                                                     const gantry_tensor_t *diagonals,
                                                     const gantry_diagonal_options_t *options);
/* The diagonals of matrices, in that form. */
GANTRY_API const gantry_tensor_t *gantry_matrix_diag_part(gantry_scope_t *scope,
                                                          const gantry_tensor_t *x,
                                                          const gantry_diagonal_options_t *options);
/* Matrices x with other diagonals, in that form. */
GANTRY_API const gantry_tensor_t *gantry_matrix_set_diag(gantry_scope_t *scope,
                                                         const gantry_tensor_t *x,
                                                         const gantry_tensor_t *diagonals,
                                                         const gantry_diagonal_options_t *options);

#ifdef __cplusplus
}
#endif
#endif
