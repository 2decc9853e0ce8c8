/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a reduction in its shortest form, and its way through the tree, for the reductions
 * of all devices.
 *
 * Axes of size 1 vanish. Neighbours that are both kept or both reduced become one, so that kept and
 * reduced axes alternate: at most four of each. A kept axis that comes last is `columns`, whose
 * elements are adjacent.
 *
 * Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_REDUCE_SHAPE_H
#define GANTRY_KERNELS_REDUCE_SHAPE_H

#include "kernels/common/kernel_definition.h"
#include "kernels/reduce/reduce_tree.cl"

#define GANTRY_REDUCE_AXES 4

/* The elements of a leaf of the reduction tree, and its lanes (kernels/reduce/reduce.cl). */
#define GANTRY_REDUCE_CHUNK 4096
#define GANTRY_REDUCE_LANES 64

/* The ops, which are rows of ops/reduce.def. */
enum {
#define GANTRY_REDUCTION(name, function, summary, form, types, tree, finish, empty) \
    GANTRY_REDUCE_ROW_##name,
#include "ops/reduce.def"
#undef GANTRY_REDUCTION
    GANTRY_REDUCE_ROWS
};

/* The GANTRY_REDUCTION that defines <op>_kernel over compute_reduction, which finds the op's row in
 * its data. */
#define GANTRY_K_REDUCTION_KERNEL(name, function, summary, form, types_, tree, finish, empty) \
    static const int32_t name##_operation = GANTRY_REDUCE_ROW_##name;                         \
    static const gantry_type_constraint_t name##_types[] = {{"T", GANTRY_MASK_##types_}};     \
    static const gantry_kernel_def_t name##_kernel = GANTRY_K_DEFINITION(                     \
        #name, GANTRY_MASK_##types_ != GANTRY_MASK_BOOLS ? name##_types : NULL,               \
        GANTRY_MASK_##types_ != GANTRY_MASK_BOOLS, /* false for an op that takes only bool */ \
        gantry__k_reduce_hosts, 1, .compute = GANTRY_K_SIDE(compute_reduction),               \
        .data = &name##_operation);
#define GANTRY_K_REDUCTION_POINTER(name, function, summary, form, types, tree, finish, empty) \
    &name##_kernel,
static const char *const gantry__k_reduce_hosts[] = {"reduction_indices"}; /* where the op has it */

/* Further ops of the family, as lists of kernel_definition.h. */
#define GANTRY_ARGMAX_OPS(X)                                                               \
    X(argmax, "ArgMax", compute_argmax, gantry__k_argmax_types, gantry__k_argmax_hosts, 1) \
    X(argmin, "ArgMin", compute_argmax, gantry__k_argmin_types, gantry__k_argmax_hosts, 1)
#define GANTRY_SOFTMAX_OPS(X)                                                \
    X(softmax, "Softmax", compute_softmax, gantry__k_floating_type, NULL, 0) \
    X(log_softmax, "LogSoftmax", compute_softmax, gantry__k_floating_type, NULL, 0)
#define GANTRY_LAYER_NORM_OPS(X) \
    X(layer_norm_rows, "LayerNormRows", compute_layer_norm, gantry__k_layer_norm_types, NULL, 0)
static const gantry_type_constraint_t gantry__k_layer_norm_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

/* The types of ArgMax's result; ArgMin has only int32 and int64. */
static const gantry_type_constraint_t gantry__k_argmax_types[] = {
    {"T", GANTRY_DTYPES_NUMERIC_BOOL}, {"output_type", GANTRY_DTYPES_ARGMAX_OUTPUTS}};
static const gantry_type_constraint_t gantry__k_argmin_types[] = {
    {"T", GANTRY_DTYPES_NUMERIC_BOOL}, {"output_type", GANTRY_DTYPES_INTS}};
static const char *const gantry__k_argmax_hosts[] = {"dimension"};

/* The element types of a reduction's levels. Types that a tree does not distinguish have one name:
 * int32 and int64 also represent the unsigned types where sums wrap, uint8 represents int8 and
 * bool, uint16 represents int16. */
typedef struct gantry__reduce_way_t {
    int32_t tree;
    int32_t in;  /* what the first level reads */
    int32_t acc; /* partial results between levels */
    int32_t out; /* what the last level writes */
    int32_t finish;
    int64_t divisor; /* the divisor of a quotient */
} gantry__reduce_way_t;

/* Sizes and strides (in elements) of some axes, the slowest first. */
typedef struct gantry__reduce_axes_t {
    int32_t rank;
    int64_t dims[GANTRY_REDUCE_AXES];
    int64_t strides[GANTRY_REDUCE_AXES];
} gantry__reduce_axes_t;

typedef struct gantry__reduce_shape_t {
    int64_t length;             /* elements of a sequence; 0 for an empty input */
    int64_t outer;              /* outputs = outer * columns */
    int64_t columns;            /* at least 1 */
    gantry__reduce_axes_t kept; /* all but columns */
    gantry__reduce_axes_t reduced;
} gantry__reduce_shape_t;

/* Returns a mask. Bit a is set if the call reduces axis a: if input 1 names it (int32 or int64,
 * negative numbers count from the end), or if there is no input 1. */
uint32_t gantry__reduce_axes_mask(const gantry_op_call_t *call);

/* Makes the shape of reducing the axes of `mask` in a tensor of these sizes. */
void gantry__reduce_shape_of(int32_t rank, const int64_t *dims, uint32_t mask,
                             gantry__reduce_shape_t *out_shape);

/* A tensor as [outer, length, columns] around the axis that input 1 names. */
typedef struct gantry__reduce_middle_t {
    int64_t outer, length, columns;
} gantry__reduce_middle_t;

gantry__reduce_middle_t gantry__reduce_middle_of(const gantry_op_call_t *call);

/* Makes the shape of reducing the middle axis of [outer, length, columns]. */
void gantry__reduce_shape_plain(int64_t outer, int64_t length, int64_t columns,
                                gantry__reduce_shape_t *out_shape);

/* Writes to value the result for no elements, as in TensorFlow (ops/reduce.def), and returns its
 * size in bytes. The least and the greatest value of a floating type are the infinities. */
size_t gantry__reduce_empty(int32_t operation, int32_t dtype, unsigned char value[8]);

/* Whether a single element is its own result. */
bool gantry__reduce_copies_one(int32_t operation);

/* The way of an op over elements of dtype, `length` of which become one. */
gantry__reduce_way_t gantry__reduce_way(int32_t operation, int32_t dtype, int64_t length);
/* The way of a tree for itself, whose last level writes partial results as they are. */
gantry__reduce_way_t gantry__reduce_tree_way(int32_t tree, int32_t dtype);
/* Changes way to that of the levels above the first. */
void gantry__reduce_next_level(gantry__reduce_way_t *way);

/* The number of chunks of a sequence of `length` elements; at least 1. */
static inline int64_t gantry__reduce_chunks(int64_t length) {
    return length <= GANTRY_REDUCE_CHUNK ? 1
                                         : (length + GANTRY_REDUCE_CHUNK - 1) / GANTRY_REDUCE_CHUNK;
}

/* The element's distance from the first one; index counts in row-major order over the axes. */
static inline int64_t gantry__reduce_offset(const gantry__reduce_axes_t *axes, int64_t index) {
    if (axes->rank == 1) return index * axes->strides[0];
    int64_t offset = 0;
    for (int32_t i = axes->rank - 1; i >= 0; --i) {
        offset += index % axes->dims[i] * axes->strides[i];
        index /= axes->dims[i];
    }
    return offset;
}

#endif
