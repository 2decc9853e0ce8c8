/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Losses: how far predictions are from labels, by Keras 3's formulas.
 *
 * They are made of ops, so that a tape differentiates them and a function captures them. A loss
 * belongs to its scope, and its thread is the scope's. */
#ifndef GANTRY_TRAIN_LOSS_H
#define GANTRY_TRAIN_LOSS_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loss. In the formulas, y are labels, p predictions, and means and sums go over the last
 * dimension. "Clipped" is clamped to [1e-7, 1 - 1e-7]. */
typedef enum gantry_loss_t {
    /** The cross-entropy of a class number for each row. Labels have the shape of predictions
     * without the classes, their last dimension, or 1 in their place: [n] or [n, 1] for [n,
     * classes]. From logits: SparseSoftmaxCrossEntropyWithLogits; else the same of log(clipped p).
     *
     * Labels may be integers, bool or floats, which are truncated. A label that names no class is
     * InvalidArgument, as on TensorFlow's CPU: at the call, or when the loss is read. */
    GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY = 1,
    /** The cross-entropy of probabilities, [n, classes] for [n, classes]. From logits:
     * SoftmaxCrossEntropyWithLogits; else -sum(y log(clipped q)), where q = p / sum(p). */
    GANTRY_CATEGORICAL_CROSSENTROPY = 2,
    /** mean(-(y log(q) + (1 - y) log(1 - q))), where q is the clipped p; from logits:
     * mean(max(p, 0) - p y + log(1 + exp(-|p|))). */
    GANTRY_BINARY_CROSSENTROPY = 3,
    /** mean((y - p) squared). */
    GANTRY_MEAN_SQUARED_ERROR = 4,
    /** mean(|y - p|). */
    GANTRY_MEAN_ABSOLUTE_ERROR = 5,
    /** With e = p - y: the mean of e squared / 2 where |e| <= delta, and of delta |e| - delta
     * squared / 2 elsewhere. */
    GANTRY_HUBER = 6,
    /** A loss of the program's own: gantry_loss_options_t.function. */
    GANTRY_OWN_LOSS = 7,
    /** sum(y log(y / p)), both clamped to [1e-7, 1]. */
    GANTRY_KL_DIVERGENCE = 8,
    /** mean(p - y log(p + 1e-7)). */
    GANTRY_POISSON = 9,
    /** The mean of log(cosh(e)) = e + log(1 + exp(-2 e)) - log(2), where e = p - y. log(2) is
     * rounded to float32, as in Keras. */
    GANTRY_LOG_COSH = 10,
    /** 100 mean(|y - p| / max(|y|, 1e-7)). */
    GANTRY_MEAN_ABSOLUTE_PERCENTAGE_ERROR = 11,
    /** The mean square of the difference of log(1 + max(p, 1e-7)) and that of y. */
    GANTRY_MEAN_SQUARED_LOGARITHMIC_ERROR = 12,
    /** -sum(y p), both divided by their Euclidean norms: -1 for one direction. */
    GANTRY_COSINE_SIMILARITY = 13,
    /** mean(max(1 - y p, 0)). If all labels are 0 or 1, y becomes 2 y - 1. */
    GANTRY_HINGE = 14,
    /** mean(max(1 - y p, 0) squared), with labels as HINGE. */
    GANTRY_SQUARED_HINGE = 15,
    /** max(max((1 - y) p) - sum(y p) + 1, 0), [n, classes] for [n, classes]. */
    GANTRY_CATEGORICAL_HINGE = 16,
    /** BINARY_CROSSENTROPY of each place, times (1 - q) to the power of gamma, where q = y p + (1 -
     * y) (1 - p) and p is the probability; the mean of it. */
    GANTRY_BINARY_FOCAL_CROSSENTROPY = 17,
    /** -sum(alpha (1 - q) to the power of gamma, y log(q)), where q is the clipped p / sum(p), [n,
     * classes] for [n, classes]. */
    GANTRY_CATEGORICAL_FOCAL_CROSSENTROPY = 18,
    /** 1 - 2 sum(y p) / (sum(y) + sum(p) + 1e-7), with sums over the axes of the options, of all
     * places together without them. Of a model on several devices, each part of a batch has its own
     * sums, as in Keras. */
    GANTRY_DICE = 19
} gantry_loss_t;

/** A loss of a program's own, of ops in a scope that runs or records: the loss of each sample, in
 * any shape, or one number, of a floating type. labels have their own type; a last dimension of
 * size 1 that only one of labels and predictions has is put right before, as in Keras. Returns NULL
 * with the scope failed after a failure. It runs when a step is traced, once for each replica.
 * It must not end the scope: FailedPrecondition. */
typedef const gantry_tensor_t *(*gantry_loss_fn)(gantry_scope_t *scope,
                                                 const gantry_tensor_t *labels,
                                                 const gantry_tensor_t *predictions, void *user);

/** How the losses of samples become one. */
typedef enum gantry_reduction_t {
    GANTRY_REDUCTION_SUM_OVER_BATCH_SIZE = 0, /**< Their sum divided by their number: the mean. */
    GANTRY_REDUCTION_SUM = 1,                 /**< Their sum. */
    GANTRY_REDUCTION_NONE = 2,                /**< They stay apart. */
    /** Their sum divided by the sum of the weights; without weights, the mean. */
    GANTRY_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT = 3
} gantry_reduction_t;

/** Options of gantry_loss. */
typedef struct gantry_loss_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    gantry_reduction_t reduction; /**< 0: the mean. */
    /** Cross-entropies, FOCAL included: predictions are logits, not probabilities. Of a model whose
     * output is the result of a softmax or a sigmoid, gantry_model_fit and gantry_model_evaluate
     * find the logits and compute from them, as Keras on TensorFlow does, whatever this option is.
     */
    bool from_logits;
    /** CATEGORICAL and BINARY, and their FOCAL: labels y become y (1 - s) + s / classes, in [0, 1];
     * BINARY: s / 2. 0: none. */
    double label_smoothing;
    double delta; /**< HUBER: where the square ends, above 0; 0: 1. */
    /** A weight for each loss; NULL: all 1. Their shape is that of the losses, or broadcasts to it:
     * [n] or [n, 1] for [n], [n, 1] for [n, steps], a scalar for any. Any number type. */
    const gantry_tensor_t *sample_weights;
    gantry_loss_fn function; /**< Of GANTRY_OWN_LOSS, else NULL. */
    void *user;              /**< Its last argument. It outlives what uses the loss. */
    double gamma;            /**< FOCAL: 0 or more; 0: 2. */
    double alpha;            /**< FOCAL: a weight from 0 to 1; 0: 0.25. */
    /** BINARY_FOCAL: places count alpha y + (1 - alpha) (1 - y), Keras's apply_class_balancing. */
    bool balances_classes;
    /** DICE: the dimensions over which it sums, negative ones from the end. The loss has the
     * others: {1, 2, 3} of images gives one for each image. */
    int32_t axes[GANTRY_MAX_RANK];
    size_t axis_count; /**< DICE: entries of axes; 0: all dimensions. */
} gantry_loss_options_t;

/** Computes a loss: of each sample, then weighted, then reduced. options may be NULL.
 *
 * predictions are floats of one dimension or more, and the result has their type. labels have any
 * type, which is converted, and the shape of predictions; a last dimension of size 1 may be missing
 * in one of the two ([n] for [n, 1]); for SPARSE_CATEGORICAL see there. The loss of each sample has
 * the shape of predictions without the last dimension, of DICE without its axes; a reduction leaves
 * a scalar, which is 0 for no samples, and 1 of DICE without axes. float16 and bfloat16 are added
 * up in float32.
 *
 * Shapes that do not fit, predictions that are not floats, a NULL and an option out of range are
 * InvalidArgument. Returns NULL then, or if the scope has failed before. */
GANTRY_API const gantry_tensor_t *gantry_loss(gantry_scope_t *scope, gantry_loss_t loss,
                                              const gantry_tensor_t *labels,
                                              const gantry_tensor_t *predictions,
                                              const gantry_loss_options_t *options);

/** Keras's name of a loss: "sparse_categorical_crossentropy"; "loss" of GANTRY_OWN_LOSS; "" for no
 * loss. */
GANTRY_API const char *gantry_loss_name(gantry_loss_t loss);

#ifdef __cplusplus
}
#endif
#endif
