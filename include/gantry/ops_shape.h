/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops that move elements; ops.h says what holds for all ops, for owners and for threads. Elements
 * have any type. */
#ifndef GANTRY_OPS_SHAPE_H
#define GANTRY_OPS_SHAPE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Identity: the same tensor. */
GANTRY_API const gantry_tensor_t *gantry_identity(gantry_scope_t *scope, const gantry_tensor_t *x);
/** Reshape: the same elements in another shape. One size may be -1: the rest. */
GANTRY_API const gantry_tensor_t *gantry_reshape(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 gantry_shape_t shape);
/** ExpandDims: x with a dimension of size 1 inserted at axis; a negative axis counts from the
 * end. */
GANTRY_API const gantry_tensor_t *gantry_expand_dims(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x, int32_t axis);
/** Squeeze: x without these dimensions, all of size 1. A negative axis counts from the end. axes
 * NULL: all dimensions of size 1. */
GANTRY_API const gantry_tensor_t *gantry_squeeze(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const int32_t *axes, size_t axis_count);
/** Bitcast: the same bytes as elements of another type. A smaller type adds a last dimension, the
 * number of its elements in one of x; a larger one takes the last dimension away, which must be
 * that number. Only bools become bools. No gradient passes. */
GANTRY_API const gantry_tensor_t *gantry_bitcast(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 gantry_dtype_t dtype);
/** Transpose: dimension i of the result is dimension perm[i] of x. perm has one entry per
 * dimension; NULL reverses the dimensions. */
GANTRY_API const gantry_tensor_t *gantry_transpose(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const int32_t *perm);
/** BroadcastTo: x repeated to this shape, to which its own must broadcast. */
GANTRY_API const gantry_tensor_t *gantry_broadcast_to(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      gantry_shape_t shape);
/** Concat: count tensors joined along axis. Their other dimensions are equal. */
GANTRY_API const gantry_tensor_t *gantry_concat(gantry_scope_t *scope,
                                                const gantry_tensor_t *const *values, size_t count,
                                                int32_t axis);
/** Slice: the part of x that begins at begin and has this size; one entry per dimension. Size
 * -1: to the end. */
GANTRY_API const gantry_tensor_t *gantry_slice(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const int64_t *begin, const int64_t *size);

/** XlaDynamicSlice: the box of x with this size, one entry per dimension, that begins at starts, a
 * tensor of one number of any integer type per dimension. starts stays on its device: it is clamped
 * so that the box is inside x. */
GANTRY_API const gantry_tensor_t *gantry_dynamic_slice(gantry_scope_t *scope,
                                                       const gantry_tensor_t *x,
                                                       const gantry_tensor_t *starts,
                                                       const int64_t *size);
/** XlaDynamicUpdateSlice: x with the box of update's shape that begins at starts, clamped likewise,
 * replaced by update. Where x ends with the op (gantry_tensor_donate, its last use in a function or
 * a loop), the result takes its memory, and only the box is written. */
GANTRY_API const gantry_tensor_t *gantry_dynamic_update_slice(gantry_scope_t *scope,
                                                              const gantry_tensor_t *x,
                                                              const gantry_tensor_t *update,
                                                              const gantry_tensor_t *starts);

/** Masks of gantry_strided_slice. Bit i belongs to entry i. */
typedef struct gantry_strided_slice_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    /** Begins at the first element, or at the last when the stride is negative. */
    int32_t begin_mask;
    /** Ends after the last element, or before the first when the stride is negative. */
    int32_t end_mask;
    int32_t ellipsis_mask;    /**< One entry takes all dimensions that no other entry takes. */
    int32_t new_axis_mask;    /**< Inserts a dimension of size 1. */
    int32_t shrink_axis_mask; /**< Takes the one element at begin and removes the dimension. */
} gantry_strided_slice_options_t;

/** StridedSlice: Python's x[begin:end:stride, ...]. There are entry_count entries, at most 31,
 * one per dimension from the first on; further dimensions stay whole. Negative indices count
 * from the end, and ranges are clipped to the dimension. begin or end NULL: all 0, used with a
 * mask. strides NULL: all 1. options NULL: no bit is set. */
GANTRY_API const gantry_tensor_t *gantry_strided_slice(
    gantry_scope_t *scope, const gantry_tensor_t *x, const int64_t *begin, const int64_t *end,
    const int64_t *strides, size_t entry_count, const gantry_strided_slice_options_t *options);

/** Modes of gantry_pad. */
typedef enum gantry_pad_mode_t {
    GANTRY_PAD_CONSTANT = 0, /**< Pads with one value. */
    /** Mirrors without the outermost element: c b | a b c | b a. Less than the dimension. */
    GANTRY_PAD_REFLECT = 1,
    /** Mirrors with the outermost element: b a | a b c | c b. At most the dimension. */
    GANTRY_PAD_SYMMETRIC = 2,
    GANTRY_PAD_EDGE = 3, /**< Repeats the outermost element: a a | a b c | c c. */
    GANTRY_PAD_WRAP = 4  /**< Begins again at the other end: b c | a b c | a b. */
} gantry_pad_mode_t;

/** Options of gantry_pad. */
typedef struct gantry_pad_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: the fields of version 0.1. */
    gantry_pad_mode_t mode;       /**< The mode; 0: one value. */
    const gantry_tensor_t *value; /**< CONSTANT: a scalar of x's type; NULL: 0. */
    /** CONSTANT: for each dimension, how many times the value comes between two elements; NULL:
     * not at all. */
    const int64_t *interior;
    /** Paddings below 0 remove elements, after those of interior are added and before others
     * are. REFLECT and SYMMETRIC go back and forth as often as the paddings need. */
    bool crop;
} gantry_pad_options_t;

/** Pad or MirrorPad: x with elements added. paddings has two numbers per dimension, the
 * elements before and after it; NULL: none. options NULL: zeros. EDGE and WRAP accept any number;
 * a dimension without elements has none to repeat, which is InvalidArgument. */
GANTRY_API const gantry_tensor_t *gantry_pad(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const int64_t *paddings,
                                             const gantry_pad_options_t *options);
/** Tile: x repeated; multiples has one number per dimension. */
GANTRY_API const gantry_tensor_t *gantry_tile(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const int64_t *multiples);
/** Reverse: x with these axes in reverse order. A negative axis counts from the end. */
GANTRY_API const gantry_tensor_t *gantry_reverse(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const int32_t *axes, size_t axis_count);
/** Roll: element i of an axis moves to i + shift, wrapping around. The shifts of an axis that
 * occurs several times add up. */
GANTRY_API const gantry_tensor_t *gantry_roll(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const int64_t *shifts, const int32_t *axes,
                                              size_t axis_count);
/** SpaceToDepth: moves squares of block_size x block_size pixels into channels. data_format is
 * "NHWC" (NULL) or "NCHW". */
GANTRY_API const gantry_tensor_t *gantry_space_to_depth(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        int64_t block_size,
                                                        const char *data_format);
/** DepthToSpace: the inverse of gantry_space_to_depth. */
GANTRY_API const gantry_tensor_t *gantry_depth_to_space(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        int64_t block_size,
                                                        const char *data_format);
/** SpaceToBatchND: pads dimensions 1 to block_count of x, cuts them into blocks, and moves the
 * places of a block into dimension 0, the batch. paddings has two numbers per dimension, before
 * and after; NULL: none. */
GANTRY_API const gantry_tensor_t *gantry_space_to_batch(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        const int64_t *block_shape,
                                                        size_t block_count,
                                                        const int64_t *paddings);
/** BatchToSpaceND: the inverse of gantry_space_to_batch. crops has two numbers per dimension,
 * the elements removed at its beginning and end; NULL: none. */
GANTRY_API const gantry_tensor_t *gantry_batch_to_space(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        const int64_t *block_shape,
                                                        size_t block_count, const int64_t *crops);
/** InvertPermutation: y[x[i]] = i, for x an int32 or int64 vector of 0, 1, ... in any order. Any
 * other x is an error at the next read. */
GANTRY_API const gantry_tensor_t *gantry_invert_permutation(gantry_scope_t *scope,
                                                            const gantry_tensor_t *x);

#ifdef __cplusplus
}
#endif
#endif
