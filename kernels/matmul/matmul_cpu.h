/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of the CPU backend: the types that the entry points, the loops of each
 * instruction set, and tests share.
 *
 * Owner: the entry point owns packed memory; operands are the call's. Threads: several threads may
 * read a product at once; each must write a part of C of its own. */
#ifndef GANTRY_KERNELS_MATMUL_CPU_H
#define GANTRY_KERNELS_MATMUL_CPU_H

#include <stdbool.h>

#include "kernels/common/cpu_kernels.h"
#include "kernels/window/window_shape.h"

#include "kernels/window/window_lines.cl"

/* C[m, n] = A[m, k] B[k, n]. Strides are in elements. An operand is transposed by exchanging its
 * strides. */
typedef struct gantry__cpu_gemm_t {
    int64_t m;
    int64_t n;
    int64_t k;
    const void *a;
    int64_t a_row;
    int64_t a_column;
    const void *b;
    int64_t b_row;
    int64_t b_column;
    void *c;
    int64_t c_row;
    int64_t c_column;
    const struct gantry__cpu_epilogue_t *epilogue; /* runs over C; NULL: none */
    /* an element's sum must not depend on m and n */
    bool keeps_rows;
    /* the packed panels of all of an operand, 0: A, 1: B, which stay for later products, and
     * whether an earlier one has packed them; NULL: none stay */
    char *form;
    int form_of;
    bool form_is_made;
} gantry__cpu_gemm_t;

/* The loops for one element type. In a packed panel the rows (or columns) are neighbours, and k is
 * the slowest index (matmul_cpu_body.h). */
typedef struct gantry__cpu_gemm_loops_t {
    int64_t rows;    /* rows of an A panel */
    int64_t columns; /* columns of a B panel */
    /* Packs A's rows [first, first + count) for k_count elements of k from k_first on; first must
     * be a multiple of a panel's rows. */
    void (*pack_a)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count, int64_t k_first,
                   int64_t k_count, void *target);
    void (*pack_b)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count, int64_t k_first,
                   int64_t k_count, void *target);
    /* Sets C's rows x columns at c to packed A times packed B, or adds that if add. */
    void (*multiply)(const void *a, const void *b, int64_t k_count, void *c, int64_t c_row,
                     int64_t rows, int64_t columns, bool add);
    /* C += the product of one panel of floats of A, whose columns are a_step elements apart, and
     * panels of packed B, which are b_panel elements apart. It reads all rows of A's panel, so they
     * must all be readable. */
    void (*multiply_steps)(const void *a, int64_t a_step, const void *b, int64_t b_panel,
                           int64_t k_count, void *c, int64_t c_row, int64_t rows, int64_t columns);
    /* multiply for one panel of floats of A that is not packed: its k are `count` pieces of
     * `images`, one after the other. The panels of packed B must be b_panel elements apart. */
    void (*multiply_lines)(const void *images, const gantry__lines_piece_t *pieces, int64_t count,
                           const void *b, int64_t b_panel, void *c, int64_t c_row, int64_t rows,
                           int64_t columns, bool add);
    /* The same for few outputs (window_lines.cl). B's columns run along k, b_row elements apart. It
     * starts the chains of each row's GANTRY_FEW_COLUMNS columns, or continues them if add; sum_few
     * adds the chains up. */
    void (*multiply_few)(const void *images, const gantry__lines_piece_t *pieces, int64_t count,
                         const void *b, int64_t b_row, void *chains, int64_t rows, bool add);
    void (*sum_few)(const void *chains, void *c, int64_t c_row, int64_t rows, int64_t columns);
    /* The loops for one narrower panel, of at most their `columns` columns. They have only pack_b
     * and multiply_lines. */
    const struct gantry__cpu_gemm_loops_t *narrow;
    /* Multiplies without packing, for any shape and any c_column; meant for a few
     * multiplications. */
    void (*tiny)(const gantry__cpu_gemm_t *gemm);
    /* Computes columns [begin, end) of C without packing. m must be at most GANTRY_CPU_THIN, and
     * b_row or b_column must be 1. */
    void (*thin)(const gantry__cpu_gemm_t *gemm, int64_t begin, int64_t end);
    /* The same with the bits of a blocked product, whose blocks have k_block elements of k.
     * b_column must be 1. NULL for integers. */
    void (*ordered)(const gantry__cpu_gemm_t *gemm, int64_t k_block, int64_t begin, int64_t end);
} gantry__cpu_gemm_loops_t;

#define GANTRY_CPU_THIN 6
#define GANTRY__CPU_LIBRARIES "oneDNN or OpenBLAS"

static inline int64_t gantry__least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Computes MatMul and BatchMatMul of all types except those of 16 bits. epilogue runs over the
 * product; NULL: none. */
int32_t gantry__cpu_matmul(gantry_op_call_t *call, const struct gantry__cpu_epilogue_t *epilogue);
/* The same for float16, bfloat16 and int16. */
int32_t gantry__cpu_matmul_narrow(gantry_op_call_t *call);

/* _FusedMatMul with a result of rows; and with images whose channels come first, "places". */
int32_t gantry__cpu_matmul_rows(gantry_op_call_t *call);
int32_t gantry__cpu_matmul_planes(gantry_op_call_t *call);

/* Products of groups: columns of wider matrices. */
typedef struct gantry__cpu_groups_t {
    gantry__cpu_gemm_t gemm; /* the product of group 0, over all rows */
    const gantry__cpu_gemm_loops_t *loops;
    int64_t count;
    int64_t a_step, b_step, c_step; /* elements from one group to the next */
    int b_input;                    /* the number of B's input, 0 or 1; the other one is A's */
} gantry__cpu_groups_t;

int32_t gantry__cpu_multiply_groups(gantry_op_call_t *call, const gantry__cpu_groups_t *groups);
/* Whether a product of this shape is computed by packed panels, so that its bits are the same
 * however many rows are taken at a time. */
bool gantry__cpu_is_blocked(const gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                            int32_t dtype);
/* Such a product; device NULL: on the calling thread. packed must have gantry__cpu_packed_bytes. */
void gantry__cpu_multiply_blocked(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                                  const gantry__cpu_gemm_loops_t *loops, int64_t size,
                                  char *packed);
/* Bytes of packed panels that it needs in addition to its form; *out_a_bytes: those of A. */
uint64_t gantry__cpu_packed_bytes(const gantry__cpu_gemm_t *gemm,
                                  const gantry__cpu_gemm_loops_t *loops, int64_t size,
                                  int64_t *out_a_bytes);

/* The GANTRY_CPU_BLAS_... that serves a product. It depends on the product's shape, and not on
 * whether an operand is constant. */
int gantry__cpu_library_for(const gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                            int32_t dtype);
/* Computes a large float32 product by this library. Returns false if a call of the library fails;
 * the blocked algorithm must then compute it. */
bool gantry__cpu_library_multiply(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                                  int library, bool parallel);

extern const gantry_kernel_def_t gantry__cpu_grouped_kernel, gantry__cpu_fused_grouped_kernel;

/* The loops of a type; NULL for a type without products. */
GANTRY_CPU_DECLARE(const gantry__cpu_gemm_loops_t *, gemm_loops, (int32_t dtype));

#endif
