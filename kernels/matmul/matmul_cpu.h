/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of the CPU backend: what the entry points, the loops compiled per instruction
 * set, and tests share.
 *
 * Owner: the entry point owns packed memory. Threads: a product is read by several threads at
 * once. */
#ifndef GANTRY_KERNELS_MATMUL_CPU_H
#define GANTRY_KERNELS_MATMUL_CPU_H

#include "kernels/common/cpu_kernels.h"
#include "kernels/window/window_shape.h"

#include "kernels/window/window_lines.cl"

/* C[m, n] = A[m, k] B[k, n]. Strides in elements, so that a transposed operand is one with its
 * strides exchanged. */
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
} gantry__cpu_gemm_t;

/* The loops for one element type. Packed panels: rows (or columns) of one panel side by side, k
 * slowest; see matmul_cpu_body.h. */
typedef struct gantry__cpu_gemm_loops_t {
    int64_t rows;    /* of an A panel */
    int64_t columns; /* of a B panel */
    /* Packs A's rows [first, first + count), first a multiple of a panel, k from k_first on. */
    void (*pack_a)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count, int64_t k_first,
                   int64_t k_count, void *target);
    void (*pack_b)(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t count, int64_t k_first,
                   int64_t k_count, void *target);
    /* C's rows x columns at c, of these strides, = or += packed A times packed B. */
    void (*multiply)(const void *a, const void *b, int64_t k_count, void *c, int64_t c_row,
                     int64_t rows, int64_t columns, int add);
    /* The same for one panel of A that is not packed, of floats: its k are `count` pieces of
     * `images`, one after the other. Packed B's panels are b_panel elements apart. */
    void (*multiply_lines)(const void *images, const gantry__lines_piece_t *pieces, int64_t count,
                           const void *b, int64_t b_panel, void *c, int64_t c_row, int64_t rows,
                           int64_t columns, int add);
    /* The same for few outputs (window_lines.cl), with B's columns b_row elements apart, each along
     * k: begins or goes on with the chains of each row's GANTRY_FEW_COLUMNS columns, which
     * sum_few then adds. */
    void (*multiply_few)(const void *images, const gantry__lines_piece_t *pieces, int64_t count,
                         const void *b, int64_t b_row, void *chains, int64_t rows, int add);
    void (*sum_few)(const void *chains, void *c, int64_t c_row, int64_t rows, int64_t columns);
    /* For at most its `columns` columns, one panel: has pack_b and multiply_lines. */
    const struct gantry__cpu_gemm_loops_t *narrow;
    /* Without packing: any shape, made for a few multiplications. c_column may be anything. */
    void (*tiny)(const gantry__cpu_gemm_t *gemm);
    /* Without packing: m at most GANTRY_CPU_THIN and b_row or b_column 1; columns [begin, end)
     * of C. */
    void (*thin)(const gantry__cpu_gemm_t *gemm, int64_t begin, int64_t end);
} gantry__cpu_gemm_loops_t;

#define GANTRY_CPU_THIN 6

/* MatMul and BatchMatMul of all types but those of 16 bits. */
int32_t gantry__cpu_matmul(gantry_op_call_t *call);
/* The same of float16, bfloat16 or int16. */
int32_t gantry__cpu_matmul_narrow(gantry_op_call_t *call);

/* NULL for a type without products. */
GANTRY_CPU_DECLARE(const gantry__cpu_gemm_loops_t *, gemm_loops, (int32_t dtype));

#endif
