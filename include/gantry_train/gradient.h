/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Gradients that are dense or slices, as TensorFlow's IndexedSlices.
 *
 * The gradient of an embedding has rows of zeros for all words that do not occur. Slices hold only
 * the other rows: of an embedding of 1,000,000 words, a batch of 320 words has a gradient of 320
 * rows. gantry_tape_gradient_slices gives slices, and gantry_optimizer_apply_slices takes them.
 *
 * A gradient refers to tensors of a scope, and owns nothing. The functions work where ops run at
 * once, and in the scope of a trace. Thread-safe for scopes of different threads. */
#ifndef GANTRY_TRAIN_GRADIENT_H
#define GANTRY_TRAIN_GRADIENT_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A gradient: dense, slices, or none, where all three tensors are NULL. Slice i is added to row
 * indices[i] of zeros; rows may occur several times. The struct does not grow. */
typedef struct gantry_gradient_t {
    const gantry_tensor_t *dense;   /**< The gradient itself; NULL: it is slices, or none. */
    const gantry_tensor_t *values;  /**< The slices [n, ...], where ... is a row's shape. */
    const gantry_tensor_t *indices; /**< Their rows, int32 or int64 [n]. */
    gantry_shape_t shape;           /**< Of the dense gradient. */
} gantry_gradient_t;

/** The gradient as a dense tensor: slices of one row are added in their order. NULL for a gradient
 * that is none, and after a failure: InvalidArgument for slices that do not fit the shape, and for
 * an index outside. */
GANTRY_API const gantry_tensor_t *gantry_gradient_to_dense(gantry_scope_t *scope,
                                                           const gantry_gradient_t *gradient);

/** Adds the slices of each row, in their order. *out_gradient has as many slices as before: those
 * that are left over are zeros for row 0. A dense gradient stays as it is. Squares of such slices
 * are squares of the rows of the dense gradient. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_gradient_sum_rows(gantry_scope_t *scope,
                                                    const gantry_gradient_t *gradient,
                                                    gantry_gradient_t *out_gradient);

#ifdef __cplusplus
}
#endif
#endif
