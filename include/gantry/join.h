/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Ops whose elements a body of the program joins: what gantry_sum and its neighbours are to one
 * operation each. For importers, as StableHLO's reduce, and for operations that no op has.
 *
 * A body joins two elements of each of `count` operands. It has 2 * count inputs, the left elements
 * of all operands and then the right ones, and must set count outputs, the joined elements. It is
 * called with tensors of many elements at a time, of any shape, all of one: it must be elementwise,
 * and its outputs must have that shape and the operands' types. It may use tensors and variables
 * from outside that broadcast with them, and ops, branches and loops of any kind. Outputs of
 * another shape are refused when the body is called; where sizes are open, reductions and windows
 * do not compare them again in each call of the function.
 *
 * The calls are made of other ops, so they run wherever these run, are recorded in the scope of a
 * trace (gantry/function.h), and have the gradients of their parts. A body is called once for all
 * elements that it joins at the same time: docs/numerics.md has the order, and how many calls there
 * are. In a trace, body and user must live until the outermost traced body has returned, because a
 * gradient that is taken there calls bodies again. A scatter takes 2 of the GANTRY_MAX_NESTING
 * levels of bodies, the other calls 1.
 *
 * The scope owns the outputs. A scope belongs to one thread, on which the bodies run. */
#ifndef GANTRY_JOIN_H
#define GANTRY_JOIN_H

#include <gantry/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most operands of one call. */
#define GANTRY_MAX_JOINED 32

/** Options of gantry_reduce_with_body. NULL: over all axes, which are removed. */
typedef struct gantry_reduce_body_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    const int32_t *axes;  /**< The axes; a negative one counts from the end. NULL: all. */
    size_t axis_count;    /**< Entries of axes. */
    bool keep_dims;       /**< Keeps the axes, with size 1. */
    /** Joins only neighbours, in row-major order, as StableHLO wants it: the body must be
     * associative, but need not be commutative. Else the order is that of gantry_sum, which joins
     * element i first with element i + 64. */
    bool in_order;
} gantry_reduce_body_options_t;

/** Reduces count operands of one shape together: the elements over axes are joined by body into
 * one, to which inits, scalars of the operands' types, are joined once, as the left elements. An
 * axis without elements has inits. The sizes of the axes must be known when a function is traced;
 * others may be open. options may be NULL. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_reduce_with_body(
    gantry_scope_t *scope, const gantry_tensor_t *const *operands,
    const gantry_tensor_t *const *inits, size_t count, gantry_function_body_fn body, void *user,
    const gantry_reduce_body_options_t *options, const gantry_tensor_t **outputs);

/** Options of gantry_reduce_window_with_body. NULL, and fields that are NULL: strides and
 * dilations of 1, no paddings. Each list has an entry for each axis. */
typedef struct gantry_window_body_options_t {
    uint32_t struct_size;            /**< Its sizeof. */
    const int64_t *strides;          /**< The distance of two windows' first elements. */
    const int64_t *base_dilations;   /**< Between two elements come that many less 1 inits. */
    const int64_t *window_dilations; /**< The distance of two elements of a window. */
    /** Two numbers for each axis: how many inits come before and after it. Paddings below 0 remove
     * elements, after those of base_dilations are added. */
    const int64_t *paddings;
} gantry_window_body_options_t;

/** Reduces windows of this size, one number for each axis, of count operands of one shape: the
 * elements of each window, paddings and dilations among them, are joined by body into one, and
 * inits to it, once, as the left elements. Only neighbours are joined, so that body need not be
 * commutative. An axis has (size - reach) / stride + 1 windows, rounded down, where size is its
 * padded one, and reach (window - 1) * window_dilation + 1; none if size is less than reach. An
 * axis with an open size has windows, strides and dilations of 1. options may be NULL. Returns the
 * scope's status. */
GANTRY_API gantry_status_t gantry_reduce_window_with_body(
    gantry_scope_t *scope, const gantry_tensor_t *const *operands,
    const gantry_tensor_t *const *inits, size_t count, gantry_function_body_fn body, void *user,
    const int64_t *window, const gantry_window_body_options_t *options,
    const gantry_tensor_t **outputs);

/** Options of gantry_scan_with_body. NULL: all of them off. */
typedef struct gantry_scan_body_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    bool exclusive;       /**< Each result covers the elements before its own; the first is init. */
    bool reverse;         /**< Scans from the last element to the first, which is then the left. */
} gantry_scan_body_options_t;

/** Scans count operands of one shape together: result i along axis is elements 0 to i, joined by
 * body, as gantry_cumsum adds them and in its order. inits, scalars of the operands' types, are
 * joined once, in front of the first element; NULL: there are none, which an exclusive scan
 * refuses. The size of axis must be known when a function is traced; others may be open. options
 * may be NULL. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_scan_with_body(
    gantry_scope_t *scope, const gantry_tensor_t *const *operands,
    const gantry_tensor_t *const *inits, size_t count, int32_t axis, gantry_function_body_fn body,
    void *user, const gantry_scan_body_options_t *options, const gantry_tensor_t **outputs);

/** Options of gantry_scatter_with_body and gantry_scatter_elements_with_body. */
typedef struct gantry_scatter_body_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** An index out of range is InvalidArgument, or with "IGNORE" its update is dropped. NULL, "",
     * "DEFAULT", "ERROR": InvalidArgument. */
    const char *bad_indices_policy;
} gantry_scatter_body_options_t;

/** Joins updates to slices of count operands of one shape, as gantry_tensor_scatter_add adds them:
 * rows of indices name the slices, and updates have the shape indices.shape[:-1] +
 * operand.shape[k:] for rows of k numbers. The element is the left one, and each update is joined
 * by itself, in their order, so that body need not be associative. An element without updates
 * stays. indices, int32 or int64, stay on their device, but a call outside a function reads there
 * how many updates a slice has. options may be NULL. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_scatter_with_body(
    gantry_scope_t *scope, const gantry_tensor_t *const *operands, const gantry_tensor_t *indices,
    const gantry_tensor_t *const *updates, size_t count, gantry_function_body_fn body, void *user,
    const gantry_scatter_body_options_t *options, const gantry_tensor_t **outputs);

/** The same for indices of elements along axis, as gantry_scatter_elements takes them: updates have
 * the shape of indices. */
GANTRY_API gantry_status_t gantry_scatter_elements_with_body(
    gantry_scope_t *scope, const gantry_tensor_t *const *operands, const gantry_tensor_t *indices,
    const gantry_tensor_t *const *updates, size_t count, int32_t axis, gantry_function_body_fn body,
    void *user, const gantry_scatter_body_options_t *options, const gantry_tensor_t **outputs);

#ifdef __cplusplus
}
#endif
#endif
