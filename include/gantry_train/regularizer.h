/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Regularizers, which add the size of weights to the loss, and constraints, which bound weights
 * after each step, by Keras 3's formulas.
 *
 * Layers take them for their weights: gantry_layer_set_regularizer, gantry_layer_set_constraint,
 * and the options of gantry_dense and of the convolutions. A model then adds the losses of its
 * trained weights to its own, in training and in tests, and bounds what an update changed. With
 * gantry_layer_set_activity_regularizer a layer's outputs have a regularizer, too.
 *
 * Both are structs that the caller owns, and that the library copies. Thread-safe, except for the
 * scope, which belongs to one thread. */
#ifndef GANTRY_TRAIN_REGULARIZER_H
#define GANTRY_TRAIN_REGULARIZER_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** L1, L2, or the orthogonal one, or sums of them: l1 sum(|w|) + l2 sum(w squared) + orthogonal
 * mean(|cosine of the angle between two different rows|). */
typedef struct gantry_regularizer_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    double l1;            /**< 0 or more. 0: none; Keras's L1() has 0.01. */
    double l2;            /**< 0 or more. 0: none; Keras's L2() has 0.01. */
    /** 0 or more, for matrices only: Keras's OrthogonalRegularizer(factor), whose default is 0.01.
     * 0: none. */
    double orthogonal;
    bool orthogonal_columns; /**< The columns of a matrix, mode="columns"; else its rows. */
} gantry_regularizer_t;

/** Kinds of constraints. n is the Euclidean norm of weights over the axes, and e is 1e-7. */
typedef enum gantry_constraint_kind_t {
    GANTRY_CONSTRAINT_NONE = 0, /**< Weights stay as they are. */
    GANTRY_NON_NEG = 1,         /**< max(w, 0). */
    GANTRY_MAX_NORM = 2,        /**< w min(n, max_value) / (e + n). */
    GANTRY_UNIT_NORM = 3,       /**< w / (e + n). */
    GANTRY_MIN_MAX_NORM = 4     /**< w m / (e + n): m is rate clamp(n) + (1 - rate) n. */
} gantry_constraint_kind_t;

/** A constraint. */
typedef struct gantry_constraint_t {
    uint32_t struct_size;          /**< Its sizeof; 0: that of version 0.1. */
    gantry_constraint_kind_t kind; /**< What it does to weights. */
    double max_value;              /**< The most norm. 0: 2 of MAX_NORM, 1 of MIN_MAX_NORM. */
    double min_value;              /**< MIN_MAX_NORM: the least norm, up to max_value. */
    double rate;       /**< MIN_MAX_NORM: how much of the way a step goes, up to 1. 0: 1. */
    int32_t axes[4];   /**< The axes of a norm; negative ones count from the end. */
    size_t axis_count; /**< Entries of axes. 0: axis 0, the inputs of Dense. */
} gantry_constraint_t;

/** The loss of weights, a scalar of their type. NULL after a failure, which the scope keeps:
 * InvalidArgument for a NULL, a number that is negative or not finite, weights that are not floats,
 * or an orthogonal regularizer of what is no matrix. */
GANTRY_API const gantry_tensor_t *gantry_regularizer_loss(gantry_scope_t *scope,
                                                          const gantry_regularizer_t *regularizer,
                                                          const gantry_tensor_t *weights);
/** Weights within a constraint, of their type. NULL after a failure, which the scope keeps:
 * InvalidArgument for a NULL, a number out of range, an axis that the weights do not have, or
 * weights that are not floats. */
GANTRY_API const gantry_tensor_t *gantry_constrain(gantry_scope_t *scope,
                                                   const gantry_constraint_t *constraint,
                                                   const gantry_tensor_t *weights);

#ifdef __cplusplus
}
#endif
#endif
