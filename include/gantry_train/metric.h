/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Metrics: numbers that judge a model over many batches, as Keras 3 computes them.
 *
 * A metric keeps its state in variables. An update adds a batch to them without a wait, also inside
 * a function; no tape records it. The caller that made a metric releases it. Externally
 * synchronised; once it is built, threads may update it at the same time. */
#ifndef GANTRY_TRAIN_METRIC_H
#define GANTRY_TRAIN_METRIC_H

#include <gantry_train/loss.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A metric. */
typedef struct gantry_metric_t gantry_metric_t;

/** A curve whose area gantry_auc computes. */
typedef enum gantry_curve_t {
    GANTRY_CURVE_ROC = 0, /**< True positives over false positives. */
    GANTRY_CURVE_PR = 1   /**< Precision over recall, with Davis and Goadrich's interpolation. */
} gantry_curve_t;

/** How the scores of classes become one. */
typedef enum gantry_average_t {
    GANTRY_AVERAGE_NONE = 0,    /**< They stay apart. */
    GANTRY_AVERAGE_MICRO = 1,   /**< The score of all classes' counts together. */
    GANTRY_AVERAGE_MACRO = 2,   /**< Their mean. */
    GANTRY_AVERAGE_WEIGHTED = 3 /**< Their mean, weighted by the labels of each class. */
} gantry_average_t;

/** Options of metrics. */
typedef struct gantry_metric_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    const char *name;     /**< Its name, which is copied; NULL: Keras's. */
    gantry_dtype_t dtype; /**< The type of its state and result, a float; 0: float32. */
    bool from_logits;     /**< gantry_auc: predictions are logits. */
    gantry_curve_t curve; /**< gantry_auc: the curve; 0: ROC. */
    /** gantry_precision, gantry_recall and the counts: only the k largest predictions of each row
     * are positive, of equals the first ones; 0: all. */
    int32_t top_k;
    /** For the same metrics, the only class that is judged, a place of the last dimension, after
     * top_k. Copied; NULL: all. */
    const int32_t *class_id;
    /** For the same metrics, several thresholds, each from 0 to 1, in place of the number. Their
     * result is a vector, which gantry_model_compile does not take; of one threshold it is a
     * scalar. Copied; NULL: the number. */
    const double *thresholds;
    size_t threshold_count; /**< Entries of thresholds. */
    /** gantry_iou and its like: the class whose labels are left out, which may be any number.
     * Copied; NULL: none. */
    const int32_t *ignore_class;
    /** gantry_iou and gantry_mean_iou: labels have a number for each class in a last dimension, of
     * which the largest is the class, Keras's sparse_y_true=False; else they are class numbers. */
    bool dense_labels;
    /** The same of predictions, Keras's sparse_y_pred=False. */
    bool dense_predictions;
    /** gantry_one_hot_iou and gantry_one_hot_mean_iou: predictions are class numbers, Keras's
     * sparse_y_pred=True. */
    bool sparse_predictions;
} gantry_metric_options_t;

/* ---- making: options may be NULL; NULL after a failure, see gantry_last_message ---- */

/** The share of right predictions, "accuracy". The shapes of each update choose the metric, as
 * Keras's compile does. Predictions [..., 1] or of one dimension: gantry_binary_accuracy at 0.5.
 * Labels of lower rank or [..., 1]: gantry_sparse_categorical_accuracy. Else
 * gantry_categorical_accuracy. */
GANTRY_API gantry_metric_t *gantry_accuracy(const gantry_metric_options_t *options);
/** How often (prediction > threshold) is the label, 0 or 1; "binary_accuracy". */
GANTRY_API gantry_metric_t *gantry_binary_accuracy(double threshold,
                                                   const gantry_metric_options_t *options);
/** How often the largest label and the largest prediction of a row are the same class, [n, classes]
 * for [n, classes]; "categorical_accuracy". The first of equals counts. */
GANTRY_API gantry_metric_t *gantry_categorical_accuracy(const gantry_metric_options_t *options);
/** How often the label is the class of the largest prediction, [n] or [n, 1] for [n, classes];
 * "sparse_categorical_accuracy". A label that names no class is never right. */
GANTRY_API gantry_metric_t *gantry_sparse_categorical_accuracy(
    const gantry_metric_options_t *options);
/** How often the class of the largest label is among the k largest predictions, [n, classes] for
 * [n, classes]; "top_k_categorical_accuracy". k is at least 1; Keras's default is 5. Predictions
 * are rounded to float32. */
GANTRY_API gantry_metric_t *gantry_top_k_categorical_accuracy(
    int32_t k, const gantry_metric_options_t *options);
/** The same with a class number for each row, [n] or [n, 1] for [n, classes];
 * "sparse_top_k_categorical_accuracy". A label that names no class is never right. */
GANTRY_API gantry_metric_t *gantry_sparse_top_k_categorical_accuracy(
    int32_t k, const gantry_metric_options_t *options);
/** The share of positive labels among positive predictions, "precision". Labels that are not 0 are
 * positive; so are predictions above the threshold, 0 to 1. Labels have the predictions' shape, and
 * all places count together, each by its sample's weight. Without positive predictions it is 0.
 *
 * Keras's default is 0.5; with top_k of the options it has no threshold, here -INFINITY. */
GANTRY_API gantry_metric_t *gantry_precision(double threshold,
                                             const gantry_metric_options_t *options);
/** The share of positive predictions among positive labels, "recall", as gantry_precision. */
GANTRY_API gantry_metric_t *gantry_recall(double threshold, const gantry_metric_options_t *options);
/** The weight of positive predictions whose label is positive, "true_positives", as
 * gantry_precision. */
GANTRY_API gantry_metric_t *gantry_true_positives(double threshold,
                                                  const gantry_metric_options_t *options);
/** The weight of other predictions whose label is not positive, "true_negatives", as
 * gantry_precision. */
GANTRY_API gantry_metric_t *gantry_true_negatives(double threshold,
                                                  const gantry_metric_options_t *options);
/** The weight of positive predictions whose label is not positive, "false_positives", as
 * gantry_precision. */
GANTRY_API gantry_metric_t *gantry_false_positives(double threshold,
                                                   const gantry_metric_options_t *options);
/** The weight of other predictions whose label is positive, "false_negatives", as
 * gantry_precision. */
GANTRY_API gantry_metric_t *gantry_false_negatives(double threshold,
                                                   const gantry_metric_options_t *options);
/** The F1 score, "f1_score": 2 precision recall / (precision + recall) of each class, [n, classes]
 * for [n, classes]. Predicted are the classes above the threshold, up to 1; 0: the largest one of
 * each row, if it is not 0. GANTRY_AVERAGE_NONE gives a vector, which gantry_model_compile does not
 * take. */
GANTRY_API gantry_metric_t *gantry_f1_score(int64_t classes, gantry_average_t average,
                                            double threshold,
                                            const gantry_metric_options_t *options);
/** The F-beta score, "fbeta_score": (1 + b) precision recall / (b precision + recall), where b is
 * beta squared, as gantry_f1_score. beta is above 0. */
GANTRY_API gantry_metric_t *gantry_fbeta_score(int64_t classes, double beta,
                                               gantry_average_t average, double threshold,
                                               const gantry_metric_options_t *options);
/** The area under the ROC curve, or with `curve` of the options that of precision and recall,
 * "auc", from confusion counts at `thresholds` thresholds, evenly
 * from 0 to 1, and interpolation between them. thresholds is at least 2; 0: 200. Labels that are
 * not 0 are positive; predictions are clamped to [0, 1]. Matrices count as one list; without
 * positive or negative labels the area is 0. */
GANTRY_API gantry_metric_t *gantry_auc(int32_t thresholds, const gantry_metric_options_t *options);
/** Intersection over union, "io_u": of the places where a class is the label, predicted, or both,
 * the share where it is both, and of several target_class_ids the mean of the classes that there
 * are. Labels and predictions are class numbers of one shape, which have any type of numbers. A
 * place whose label or prediction is none of the classes, 0 to classes - 1, does not count.
 *
 * sample_weights have the shape of the labels, or are one for each sample. Each of target_class_ids
 * is a class; they are copied, and may name one twice. classes is 1 to 46340. Keras's default dtype
 * is an integer, for which weights are cut to whole numbers; here it is float32, as of all metrics,
 * in which a count is exact up to 2^24 places of a pair. */
GANTRY_API gantry_metric_t *gantry_iou(int64_t classes, const int32_t *target_class_ids,
                                       size_t target_count, const gantry_metric_options_t *options);
/** The mean of the intersections over unions of all classes that there are, "mean_io_u". */
GANTRY_API gantry_metric_t *gantry_mean_iou(int64_t classes,
                                            const gantry_metric_options_t *options);
/** Intersection over union of classes 0 and 1, "binary_io_u": predictions are numbers, and class 1
 * from the threshold on. Keras's default is 0.5. target_class_ids as of gantry_iou; NULL and 0:
 * both. */
GANTRY_API gantry_metric_t *gantry_binary_iou(const int32_t *target_class_ids, size_t target_count,
                                              double threshold,
                                              const gantry_metric_options_t *options);
/** gantry_iou of labels and predictions [..., classes], of which the largest number is the class,
 * "one_hot_io_u". sample_weights are those of [...]. */
GANTRY_API gantry_metric_t *gantry_one_hot_iou(int64_t classes, const int32_t *target_class_ids,
                                               size_t target_count,
                                               const gantry_metric_options_t *options);
/** gantry_mean_iou of such labels and predictions, "one_hot_mean_io_u". */
GANTRY_API gantry_metric_t *gantry_one_hot_mean_iou(int64_t classes,
                                                    const gantry_metric_options_t *options);
/** The mean of values, "mean": updates take them as predictions, with labels NULL. */
GANTRY_API gantry_metric_t *gantry_mean_metric(const gantry_metric_options_t *options);
/** The root of the mean squared error of all samples, "root_mean_squared_error". A mask leaves no
 * place out, as in Keras. */
GANTRY_API gantry_metric_t *gantry_root_mean_squared_error(const gantry_metric_options_t *options);
/** The mean of the cosine of the angle between labels and predictions, over the last dimension,
 * "cosine_similarity": 1 for one direction, as the metric of Keras; its loss has the other sign. */
GANTRY_API gantry_metric_t *gantry_cosine_similarity(const gantry_metric_options_t *options);
/** The mean of a loss over all samples, under the loss's name: GANTRY_MEAN_SQUARED_ERROR,
 * GANTRY_KL_DIVERGENCE, cross-entropies. With GANTRY_OWN_LOSS it is the mean of any function of
 * labels and predictions, as a function among Keras's metrics. loss_options may be NULL; their
 * sample_weights must be NULL, and their reduction is ignored. */
GANTRY_API gantry_metric_t *gantry_loss_metric(gantry_loss_t loss,
                                               const gantry_loss_options_t *loss_options,
                                               const gantry_metric_options_t *options);
/** Releases a metric; NULL does no harm. Functions that update it keep its variables. */
GANTRY_API void gantry_metric_release(gantry_metric_t *metric);

/* ---- using ---- */

/** Makes the metric's variables, all zeros, on the scope's device, unless it has them. A program
 * calls it before it traces a function that updates the metric; elsewhere the first update does the
 * same. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_metric_build(gantry_metric_t *metric, gantry_scope_t *scope);
/** Adds a batch. labels have any type, predictions any type of numbers; shapes are as the metric
 * says, and a last dimension of size 1 may be missing in one of the two. sample_weights may be
 * NULL: all 1; else [n], or with more dimensions of the values that the metric averages, or a
 * scalar.
 *
 * FailedPrecondition in a trace before gantry_metric_build; InvalidArgument for shapes that do not
 * fit or a NULL. The state is whole in either case. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_metric_update(gantry_metric_t *metric, gantry_scope_t *scope,
                                                const gantry_tensor_t *labels,
                                                const gantry_tensor_t *predictions,
                                                const gantry_tensor_t *sample_weights);
/** The metric of all batches since the last reset, a scalar of its type, or a vector of
 * GANTRY_AVERAGE_NONE and of several thresholds; 0 before the first. NULL after a failure, which
 * the scope keeps. */
GANTRY_API const gantry_tensor_t *gantry_metric_result(gantry_metric_t *metric,
                                                       gantry_scope_t *scope);
/** Forgets all batches. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_metric_reset(gantry_metric_t *metric, gantry_scope_t *scope);

/** Its name; the metric owns it. "" for NULL. */
GANTRY_API const char *gantry_metric_name(const gantry_metric_t *metric);
/** The number of its variables; 0 before they are made. Their values add up: the sum of the
 * variables of two metrics is the state of both together. */
GANTRY_API size_t gantry_metric_variable_count(const gantry_metric_t *metric);
/** One of its variables; the metric owns it. NULL for no such variable. */
GANTRY_API gantry_variable_t *gantry_metric_variable(const gantry_metric_t *metric, size_t index);

#ifdef __cplusplus
}
#endif
#endif
