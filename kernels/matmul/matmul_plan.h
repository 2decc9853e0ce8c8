/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of matmul_plan.cl: what the portable kernels of products are launched with.
 *
 * Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATMUL_PLAN_H
#define GANTRY_KERNELS_MATMUL_PLAN_H

#include "kernels/common/device_kernel.h"
#include "kernels/matmul/matmul_shape.h"

/* The work-items of a tile, the words of its depth, and the block of a CPU's group, as in the
 * texts. */
#define GANTRY__MATMUL_TILE_ITEMS 256u
#define GANTRY__MATMUL_TILE_DEPTH 16u
#define GANTRY__MATMUL_ROWS 4
#define GANTRY__MATMUL_COLUMNS 64

/* Must have the same fields as matmul_t of matmul_plan.cl. */
typedef struct gantry__matmul_plan_t {
    int64_t m;
    int64_t n;
    int64_t k;
    int64_t a_row;
    int64_t a_column;
    int64_t b_row;
    int64_t b_column;
    int64_t c_row;
    int64_t c_column;
    int64_t c_batch;
    int64_t blocks_down;
    int64_t blocks_across;
    int64_t elements;
    int64_t batch_rank;
    int64_t batch_dims[GANTRY_MATMUL_BATCH_RANK];
    int64_t a_batch[GANTRY_MATMUL_BATCH_RANK];
    int64_t b_batch[GANTRY_MATMUL_BATCH_RANK];
} gantry__matmul_plan_t;

static inline gantry__matmul_plan_t gantry__matmul_plan_of(const gantry__matmul_shape_t *shape) {
    gantry__matmul_plan_t plan = {.m = shape->m,
                                  .n = shape->n,
                                  .k = shape->k,
                                  .a_row = shape->a_row,
                                  .a_column = shape->a_column,
                                  .b_row = shape->b_row,
                                  .b_column = shape->b_column,
                                  .c_row = shape->c_row,
                                  .c_column = shape->c_column,
                                  .c_batch = shape->c_batch,
                                  .elements = shape->m * shape->n * shape->batches,
                                  .batch_rank = shape->batch_rank};
    for (int32_t i = 0; i < shape->batch_rank; ++i) {
        plan.batch_dims[i] = shape->batch_dims[i];
        plan.a_batch[i] = shape->a_batch[i];
        plan.b_batch[i] = shape->b_batch[i];
    }
    return plan;
}

/* Cuts C into blocks of this many rows and columns; returns their number in the batch. */
static inline uint64_t gantry__matmul_cut(gantry__matmul_plan_t *plan, int64_t rows,
                                          int64_t columns, int64_t batches) {
    plan->blocks_down = (plan->m + rows - 1) / rows;
    plan->blocks_across = (plan->n + columns - 1) / columns;
    return (uint64_t)(plan->blocks_down * plan->blocks_across * batches);
}

/* The work-items of a group, at most `most`, where each computes an element; sets the number of
 * groups. */
static inline uint32_t gantry__matmul_item_group(const gantry__matmul_plan_t *plan, uint32_t most,
                                                 uint64_t *out_groups) {
    uint32_t local = GANTRY_K_LOCAL;
    while (local > most && local > 1) local /= 2;
    *out_groups = ((uint64_t)plan->elements + local - 1) / local;
    return local;
}

#endif
