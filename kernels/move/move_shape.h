/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of the ops that move elements, in their shortest form, for the move kernels of every
 * backend.
 *
 * Transpose, BroadcastTo, Slice, StridedSlice, Reverse, SpaceToDepth, DepthToSpace and each input
 * of Concat are all copies between two strided arrays of the same dimensions, of which the source
 * or the target is dense. Strides may be negative. Only the size of an element matters, not its
 * type. Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MOVE_SHAPE_H
#define GANTRY_KERNELS_MOVE_SHAPE_H

#include <stdbool.h>

#include "kernels/common/kernel_definition.h"
#include "kernels/common/kernel_shape.h"

/* Element (i0, i1, ...) is copied from source[from + sum i * strides[0]] to
 * target[to + sum i * strides[1]]. */
typedef struct gantry__move_copy_t {
    gantry__k_plan_t plan; /* collapsed; operand 0 is read, operand 1 written; no dimension is 0 */
    int64_t from;          /* elements */
    int64_t to;
    int64_t count;
} gantry__move_copy_t;

/* The `data` of the kernel definition of an op that is one copy. */
typedef struct gantry__move_op_t {
    void (*plan)(const gantry_op_call_t *call, gantry__move_copy_t *out);
} gantry__move_op_t;

/* A list of X(name, "Op", number of host inputs, their names). An op's gantry__move_op_t is
 * gantry__move_<name>. */
#define GANTRY_MOVE_OPS(X)                                         \
    X(transpose, "Transpose", 1, "perm")                           \
    X(broadcast, "BroadcastTo", 1, "shape")                        \
    X(slice, "Slice", 2, "begin", "size")                          \
    X(strided_slice, "StridedSlice", 3, "begin", "end", "strides") \
    X(reverse, "Reverse", 1, "axis")                               \
    X(space_to_depth, "SpaceToDepth", 0, NULL)                     \
    X(depth_to_space, "DepthToSpace", 0, NULL)

#define GANTRY_MOVE_DECLARE_OP(name, ...) extern const gantry__move_op_t gantry__move_##name;
GANTRY_MOVE_OPS(GANTRY_MOVE_DECLARE_OP)
#undef GANTRY_MOVE_DECLARE_OP

/* Defines the kernels <name>_kernel of these ops and of Concat, which call compute_one and
 * compute_concat. */
#define GANTRY_MOVE_KERNEL(name, op_, compute_, data_, host_count, ...)           \
    static const char *const name##_hosts[] = {__VA_ARGS__};                      \
    static const gantry_kernel_def_t name##_kernel =                              \
        GANTRY_K_DEFINITION(op_, gantry__k_any_type, 1, name##_hosts, host_count, \
                            .compute = GANTRY_K_SIDE(compute_), .data = data_);
#define GANTRY_MOVE_ONE_COPY(name, op_, ...) \
    GANTRY_MOVE_KERNEL(name, op_, compute_one, &gantry__move_##name, __VA_ARGS__)
#define GANTRY_MOVE_KERNELS               \
    GANTRY_MOVE_OPS(GANTRY_MOVE_ONE_COPY) \
    GANTRY_MOVE_KERNEL(concat, "Concat", compute_concat, NULL, 1, "axis")
#define GANTRY_MOVE_POINTER(name, ...) &name##_kernel,
#define GANTRY_MOVE_POINTERS GANTRY_MOVE_OPS(GANTRY_MOVE_POINTER) & concat_kernel

/* The copy of Concat's input `index`, which must not be empty. */
void gantry__move_concat(const gantry_op_call_t *call, uint32_t index, gantry__move_copy_t *out);

/* Whether both sides are one run of elements. */
static inline bool gantry__move_is_dense(const gantry__move_copy_t *copy) {
    return copy->plan.rank == 1 && (copy->plan.dims[0] == 1 || (copy->plan.strides[0][0] == 1 &&
                                                                copy->plan.strides[1][0] == 1));
}

/* A batch of matrix transposes: `columns` is the fastest dimension of the source, and `rows` that
 * of the target.
 *
 *     element (batch, row, column):   source[from + batch + row * row_stride + column]
 *                                     target[to + batch + column * column_stride + row]
 *
 * The batch has its own strides in the source and in the target. */
typedef struct gantry__move_tiles_t {
    int64_t rows, columns;
    int64_t row_stride;
    int64_t column_stride;
    int64_t batches; /* the product of the batch's dimensions */
    gantry__k_plan_t batch;
    /* A matrix is cut into tiles of tile_rows x tile_columns: `across` tiles along the columns, and
     * `down` along the rows. */
    int64_t tile_rows, tile_columns;
    int64_t across, down;
    int64_t tiles; /* tiles of all batches */
} gantry__move_tiles_t;

/* Whether the copy has this form. Tiles are squares of side x side. In a thinner matrix they are
 * longer, with as many elements. */
bool gantry__move_tiles(const gantry__move_copy_t *copy, int64_t side, gantry__move_tiles_t *out);

#endif
