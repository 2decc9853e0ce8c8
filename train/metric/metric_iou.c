/* SPDX-License-Identifier: Apache-2.0 */
/* Intersection over union: a confusion matrix adds up the weight of each pair of a label's class, a
 * row, and a predicted class, a column. Of a class, the diagonal is the intersection, and its row
 * and column without it are the union. Pairs with a class that the matrix does not have count
 * nowhere. Keras computes the result in float32, whatever the matrix's type is. */
#include "train/metric/metric_state.h"

#include <math.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"
#include "shared/memory.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

/* The most classes: a pair has a number of int32. */
#define IOU_MOST 46340
/* A union that is not larger is none. */
#define IOU_NOTHING 1e-9

/* ---- an update ---- */

/* Class numbers as floats that hold each of them; other numbers stay others. */
static tensor *iou_numbers(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *x,
                           bool is_dense) {
    if (is_dense && gantry_tensor_shape(x)->rank == 0)
        return gantry__train_refuse_pointer(
            scope, "%s: a number for each class is a scalar; one dimension or more is accepted",
            metric->name);
    if (is_dense) x = gantry__train_metric_largest(scope, x);
    if (!x) return NULL;
    return gantry__train_cast(scope, x,
                              metric->dtype == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32);
}

static tensor *iou_number(gantry_scope_t *scope, tensor *like, double value) {
    return gantry__train_constant(scope, gantry_tensor_dtype(like), value);
}

/* The class of a prediction that is at the threshold, or above it, is 1. */
static tensor *iou_predictions(const gantry_metric_t *metric, gantry_scope_t *scope,
                               tensor *predictions) {
    if (!metric->iou.is_binary)
        return iou_numbers(metric, scope, predictions, metric->iou.dense_predictions);
    predictions = gantry__train_cast(scope, predictions, GANTRY_FLOAT32);
    if (!predictions) return NULL;
    tensor *is_one =
        gantry_greater_equal(scope, predictions, iou_number(scope, predictions, metric->threshold));
    return iou_numbers(metric, scope, is_one, false);
}

static tensor *iou_has_class(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *x) {
    return gantry_logical_and(scope, gantry_greater_equal(scope, x, iou_number(scope, x, 0)),
                              gantry_less(scope, x, iou_number(scope, x, (double)metric->classes)));
}

/* The places of the matrix, -1 for pairs that do not count. */
static tensor *iou_places(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *y,
                          tensor *p) {
    tensor *counts =
        gantry_logical_and(scope, iou_has_class(metric, scope, y), iou_has_class(metric, scope, p));
    if (metric->iou.has_ignored)
        counts = gantry_logical_and(
            scope, counts, gantry_not_equal(scope, y, iou_number(scope, y, metric->iou.ignored)));
    tensor *none = iou_number(scope, y, 0);
    y = gantry_cast(scope, gantry_select(scope, counts, y, none), GANTRY_INT32);
    p = gantry_cast(scope, gantry_select(scope, counts, p, none), GANTRY_INT32);
    tensor *rows = gantry_mul(scope, y, gantry_scalar_i32(scope, (int32_t)metric->classes));
    return gantry_select(scope, counts, gantry_add(scope, rows, p), gantry_scalar_i32(scope, -1));
}

/* Weights of the labels' shape: those of samples are those of all their places. */
static tensor *iou_weights(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *weights,
                           tensor *labels) {
    const int32_t rank = gantry_tensor_shape(labels)->rank, last = -1;
    weights = gantry__train_cast(scope, weights, metric->dtype);
    if (weights && gantry_tensor_shape(weights)->rank == rank + 1 &&
        gantry__train_last_dim(weights) == 1)
        weights = gantry_squeeze(scope, weights, &last, 1);
    while (weights && gantry_tensor_shape(weights)->rank < rank)
        weights = gantry_expand_dims(scope, weights, -1);
    if (!weights) return NULL;
    if (gantry_tensor_shape(weights)->rank == rank && gantry__train_broadcasts(weights, labels))
        return gantry__train_spread(scope, weights, labels);
    return gantry__train_refuse_pointer(
        scope,
        "%s: sample_weights of shape %s do not fit labels of shape %s; one for each sample or place is accepted",
        metric->name, gantry__train_shape_text(weights).text,
        gantry__train_shape_text(labels).text);
}

static void iou_sums(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                     tensor *predictions, tensor *weights,
                     tensor *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]) {
    const int64_t size = metric->classes;
    labels = iou_numbers(metric, scope, labels, metric->iou.dense_labels);
    predictions = iou_predictions(metric, scope, predictions);
    if (!labels || !predictions) return;
    gantry__train_fit_ranks(scope, &labels, &predictions, true);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return;
    if (!weights) weights = gantry__train_constant(scope, metric->dtype, 1);
    if (weights) weights = iou_weights(metric, scope, weights, labels);
    tensor *places = iou_places(metric, scope, labels, predictions);
    if (!places || !weights) return;
    tensor *sums = gantry_unsorted_segment_sum(scope, weights, places, (int32_t)(size * size));
    out_sums[0] = gantry_reshape(scope, sums, GANTRY_SHAPE(size, size));
}

/* ---- the result ---- */

static tensor *iou_along(gantry_scope_t *scope, tensor *matrix, int32_t axis) {
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &axis, .axis_count = 1};
    return gantry_sum(scope, matrix, &options);
}

/* Those of the classes that are judged, as float32. */
static tensor *iou_judged(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *x) {
    const size_t count = metric->iou.target_count;
    if (count > 0)
        x = gantry_gather(scope, x,
                          gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE((int64_t)count),
                                          metric->iou.targets, count * sizeof(int32_t)),
                          0);
    return x ? gantry__train_cast(scope, x, GANTRY_FLOAT32) : NULL;
}

static tensor *iou_result(const gantry_metric_t *metric, gantry_scope_t *scope,
                          tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    tensor *both = gantry_matrix_diag_part(scope, state[0], NULL);
    tensor *either = gantry_sub(
        scope, gantry_add(scope, iou_along(scope, state[0], 0), iou_along(scope, state[0], 1)),
        both);
    both = iou_judged(metric, scope, both);
    either = iou_judged(metric, scope, either);
    if (!both || !either) return NULL;
    tensor *epsilon = iou_number(scope, either, GANTRY__KERAS_EPSILON);
    tensor *is_there = gantry_greater(scope, either, iou_number(scope, either, IOU_NOTHING));
    tensor *shares = gantry_div(scope, both, gantry_add(scope, either, epsilon));
    shares = gantry_select(scope, is_there, shares, iou_number(scope, either, 0));
    tensor *count = gantry_sum(scope, gantry_cast(scope, is_there, GANTRY_FLOAT32), NULL);
    tensor *mean =
        gantry_div(scope, gantry_sum(scope, shares, NULL), gantry_add(scope, count, epsilon));
    return mean ? gantry__train_cast(scope, mean, metric->dtype) : NULL;
}

/* ---- made ---- */

static gantry_status_t iou_check(const char *call, int64_t classes, const int32_t *targets,
                                 size_t count) {
    if (classes < 1 || classes > IOU_MOST)
        return gantry__train_refuse(NULL, "%s: classes is %lld; 1 to %d are accepted", call,
                                    (long long)classes, IOU_MOST);
    if ((targets != NULL) != (count > 0))
        return gantry__train_refuse(NULL,
                                    "%s: %zu target classes %s; an array of 1 and more is accepted",
                                    call, count, targets ? "in an array" : "at NULL");
    for (size_t i = 0; i < count; ++i) {
        if (targets[i] >= 0 && targets[i] < classes) continue;
        return gantry__train_refuse(
            NULL, "%s: target class %zu is %d; 0 to %lld are accepted, as the classes are %lld",
            call, i, (int)targets[i], (long long)classes - 1, (long long)classes);
    }
    return GANTRY_OK;
}

static gantry_status_t iou_take_targets(gantry_metric_t *metric, const int32_t *targets,
                                        size_t count) {
    if (count == 0) return GANTRY_OK;
    metric->iou.targets = gantry__alloc(count, sizeof *targets);
    if (!metric->iou.targets) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(metric->iou.targets, targets, count * sizeof *targets);
    metric->iou.target_count = count;
    return GANTRY_OK;
}

static gantry_metric_t *iou_create(const char *call, const char *name, int64_t classes,
                                   const int32_t *targets, size_t count,
                                   const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = {.variables = {"total_confusion_matrix"},
                                                     .is_matrix = true,
                                                     .takes_labels = true,
                                                     .sums = iou_sums,
                                                     .result = iou_result};
    if (iou_check(call, classes, targets, count) != GANTRY_OK) return NULL;
    gantry_metric_t *metric = gantry__train_metric_create(&kind, call, name, options);
    if (!metric) return NULL;
    metric->size = metric->classes = classes;
    if (iou_take_targets(metric, targets, count) == GANTRY_OK) return metric;
    gantry_metric_release(metric);
    return NULL;
}

static gantry_status_t expect_targets(const char *call, const int32_t *targets) {
    if (targets) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "%s: target_class_ids is NULL; an array of 1 and more is accepted", call);
}

gantry_metric_t *gantry_iou(int64_t classes, const int32_t *target_class_ids, size_t target_count,
                            const gantry_metric_options_t *options) {
    if (expect_targets("gantry_iou", target_class_ids) != GANTRY_OK) return NULL;
    return iou_create("gantry_iou", "io_u", classes, target_class_ids, target_count, options);
}

gantry_metric_t *gantry_mean_iou(int64_t classes, const gantry_metric_options_t *options) {
    return iou_create("gantry_mean_iou", "mean_io_u", classes, NULL, 0, options);
}

gantry_metric_t *gantry_binary_iou(const int32_t *target_class_ids, size_t target_count,
                                   double threshold, const gantry_metric_options_t *options) {
    if (isnan(threshold))
        return gantry__train_refuse_pointer(
            NULL, "gantry_binary_iou: threshold is nan; a number is accepted");
    gantry_metric_t *metric =
        iou_create("gantry_binary_iou", "binary_io_u", 2, target_class_ids, target_count, options);
    if (!metric) return NULL;
    metric->iou.is_binary = true;
    metric->iou.dense_labels = false;
    metric->threshold = threshold;
    return metric;
}

static gantry_metric_t *as_one_hot(gantry_metric_t *metric) {
    if (metric) metric->iou.dense_labels = true;
    if (metric) metric->iou.dense_predictions = !metric->iou.sparse_predictions;
    return metric;
}

gantry_metric_t *gantry_one_hot_iou(int64_t classes, const int32_t *target_class_ids,
                                    size_t target_count, const gantry_metric_options_t *options) {
    if (expect_targets("gantry_one_hot_iou", target_class_ids) != GANTRY_OK) return NULL;
    return as_one_hot(iou_create("gantry_one_hot_iou", "one_hot_io_u", classes, target_class_ids,
                                 target_count, options));
}

gantry_metric_t *gantry_one_hot_mean_iou(int64_t classes, const gantry_metric_options_t *options) {
    return as_one_hot(
        iou_create("gantry_one_hot_mean_iou", "one_hot_mean_io_u", classes, NULL, 0, options));
}
