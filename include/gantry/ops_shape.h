/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that put elements in other places; included by ops.h, whose words on results and errors
 * hold here too. Elements of any type. */
#ifndef GANTRY_OPS_SHAPE_H
#define GANTRY_OPS_SHAPE_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same tensor. */
GANTRY_API const gantry_tensor_t *gantry_identity(gantry_scope_t *scope, const gantry_tensor_t *x);
/* The same elements in another shape, in which one size may be -1. */
GANTRY_API const gantry_tensor_t *gantry_reshape(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 gantry_shape_t shape);
GANTRY_API const gantry_tensor_t *gantry_expand_dims(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x, int32_t axis);
/* axes NULL: all dimensions of 1. */
GANTRY_API const gantry_tensor_t *gantry_squeeze(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const int64_t *axes, size_t axis_count);
/* perm NULL reverses the dimensions; else one entry per dimension. */
GANTRY_API const gantry_tensor_t *gantry_transpose(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                   const int32_t *perm);
GANTRY_API const gantry_tensor_t *gantry_broadcast_to(gantry_scope_t *scope,
                                                      const gantry_tensor_t *x,
                                                      gantry_shape_t shape);
GANTRY_API const gantry_tensor_t *gantry_concat(gantry_scope_t *scope,
                                                const gantry_tensor_t *const *values, size_t count,
                                                int32_t axis);
/* begin and size have one entry per dimension; size -1: to the end. */
GANTRY_API const gantry_tensor_t *gantry_slice(gantry_scope_t *scope, const gantry_tensor_t *x,
                                               const int64_t *begin, const int64_t *size);

/* Bit i of a mask is of entry i; see gantry_strided_slice. */
typedef struct gantry_strided_slice_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    /* from the first element (the last one, when the stride is negative) */
    int32_t begin_mask;
    int32_t end_mask;         /* to the last element (the first one) */
    int32_t ellipsis_mask;    /* one entry: all dimensions that no other entry takes */
    int32_t new_axis_mask;    /* a dimension of 1 is put in */
    int32_t shrink_axis_mask; /* the one element at begin; its dimension goes */
} gantry_strided_slice_options_t;

/* Python's x[begin:end:stride, ...]: entry_count entries (at most 31), one per dimension from the
 * first, the dimensions that are left whole. Negative indices count from the end, and ranges are
 * cut to the dimension. begin or end NULL: all 0, where a mask says the rest; strides NULL: all
 * 1; options NULL: no bit is set. */
GANTRY_API const gantry_tensor_t *gantry_strided_slice(
    gantry_scope_t *scope, const gantry_tensor_t *x, const int64_t *begin, const int64_t *end,
    const int64_t *strides, size_t entry_count, const gantry_strided_slice_options_t *options);

typedef enum gantry_pad_mode_t {
    GANTRY_PAD_CONSTANT = 0,
    /* mirrored at the outermost element: c b | a b c | b a; less than the dimension */
    GANTRY_PAD_REFLECT = 1,
    GANTRY_PAD_SYMMETRIC = 2 /* mirrored behind it: b a | a b c | c b; at most the dimension */
} gantry_pad_mode_t;

typedef struct gantry_pad_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    gantry_pad_mode_t mode;
    const gantry_tensor_t *value; /* CONSTANT: a scalar of x's type; NULL: 0 */
} gantry_pad_options_t;

/* paddings: two numbers per dimension, elements before and after it; NULL: none. options NULL:
 * zeros. */
GANTRY_API const gantry_tensor_t *gantry_pad(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             const int64_t *paddings,
                                             const gantry_pad_options_t *options);
/* multiples: how often x is repeated, one number per dimension. */
GANTRY_API const gantry_tensor_t *gantry_tile(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const int64_t *multiples);
/* These axes in reverse order; negative ones count from the end. */
GANTRY_API const gantry_tensor_t *gantry_reverse(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                 const int32_t *axes, size_t axis_count);
/* Element i of an axis goes to i + shift, around the end; the shifts of an axis that is named
 * several times add up. */
GANTRY_API const gantry_tensor_t *gantry_roll(gantry_scope_t *scope, const gantry_tensor_t *x,
                                              const int64_t *shifts, const int32_t *axes,
                                              size_t axis_count);
/* Squares of block_size x block_size pixels become channels, or the other way. data_format
 * "NHWC" (NULL) or "NCHW". */
GANTRY_API const gantry_tensor_t *gantry_space_to_depth(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        int64_t block_size,
                                                        const char *data_format);
GANTRY_API const gantry_tensor_t *gantry_depth_to_space(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        int64_t block_size,
                                                        const char *data_format);
/* Dimensions 1 to block_count of x are padded (paddings: two numbers each, before and after; NULL:
 * none) and cut into blocks; the places in a block become places in the batch, dimension 0. */
GANTRY_API const gantry_tensor_t *gantry_space_to_batch(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        const int64_t *block_shape,
                                                        size_t block_count,
                                                        const int64_t *paddings);
/* The other way; crops are cut off in the end. */
GANTRY_API const gantry_tensor_t *gantry_batch_to_space(gantry_scope_t *scope,
                                                        const gantry_tensor_t *x,
                                                        const int64_t *block_shape,
                                                        size_t block_count, const int64_t *crops);
/* y[x[i]] = i for x, an int32 or int64 vector of 0, 1, ... in any order; another is an error at
 * the next read. */
GANTRY_API const gantry_tensor_t *gantry_invert_permutation(gantry_scope_t *scope,
                                                            const gantry_tensor_t *x);

#ifdef __cplusplus
}
#endif
#endif
