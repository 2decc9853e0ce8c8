/* SPDX-License-Identifier: Apache-2.0 */
/* The share of right predictions: values are true where a prediction is right. */
#include "train/metric/metric_state.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

/* ---- values ---- */

static tensor *as_floats(gantry_scope_t *scope, tensor *x) {
    if (!x || gantry__train_is_float(gantry_tensor_dtype(x))) return x;
    return gantry_cast(scope, x, GANTRY_FLOAT32);
}

/* Refuses predictions without a last dimension, along which the classes must be. */
static bool has_classes(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *predictions) {
    if (gantry_tensor_shape(predictions)->rank > 0) return true;
    return gantry__train_refuse_bool(
        scope, "%s: predictions are a scalar; one dimension or more is accepted", metric->name);
}

static tensor *binary_at(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                         tensor *predictions, double threshold) {
    predictions = as_floats(scope, predictions);
    if (predictions) gantry__train_fit_ranks(scope, &labels, &predictions, true);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return NULL;
    tensor *bound = gantry__train_constant(scope, gantry_tensor_dtype(predictions), threshold);
    tensor *is_above = gantry_greater(scope, predictions, bound);
    const gantry_dtype_t dtype = gantry_tensor_dtype(labels);
    return gantry_equal(scope, labels,
                        dtype == GANTRY_BOOL ? is_above : gantry_cast(scope, is_above, dtype));
}

static tensor *values_binary(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                             tensor *predictions) {
    return binary_at(metric, scope, labels, predictions, metric->threshold);
}

tensor *gantry__train_metric_largest(gantry_scope_t *scope, tensor *x) {
    if (gantry_tensor_dtype(x) == GANTRY_BOOL) x = gantry_cast(scope, x, GANTRY_INT32);
    return gantry_argmax(scope, x, -1);
}

static tensor *values_categorical(const gantry_metric_t *metric, gantry_scope_t *scope,
                                  tensor *labels, tensor *predictions) {
    if (!has_classes(metric, scope, predictions) ||
        !gantry__train_same_shape(scope, metric->name, labels, predictions))
        return NULL;
    return gantry_equal(scope, gantry__train_metric_largest(scope, labels),
                        gantry__train_metric_largest(scope, predictions));
}

/* Compares float labels as floats, because 0.5 is no class. */
static tensor *values_sparse(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                             tensor *predictions) {
    if (!has_classes(metric, scope, predictions)) return NULL;
    labels = gantry__train_row_labels(scope, metric->name, labels, predictions);
    if (!labels) return NULL;
    tensor *classes = gantry__train_metric_largest(scope, predictions);
    if (gantry__train_is_float(gantry_tensor_dtype(labels)))
        return gantry_equal(scope, labels,
                            gantry_cast(scope, classes, gantry_tensor_dtype(labels)));
    return gantry_equal(scope, gantry__train_cast(scope, labels, GANTRY_INT64), classes);
}

static bool last_is_one(tensor *x) { return gantry__train_last_dim(x) == 1; }

static tensor *values_by_shape(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                               tensor *predictions) {
    const int32_t rank = gantry_tensor_shape(predictions)->rank;
    if (rank == 1 || last_is_one(predictions))
        return binary_at(metric, scope, labels, predictions, 0.5);
    if (gantry_tensor_shape(labels)->rank < rank || last_is_one(labels))
        return values_sparse(metric, scope, labels, predictions);
    return values_categorical(metric, scope, labels, predictions);
}

/* labels must have a class number for each row of predictions. */
static tensor *among_k(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                       tensor *predictions) {
    predictions = gantry__train_cast(scope, predictions, GANTRY_FLOAT32);
    if (labels && gantry_tensor_dtype(labels) != GANTRY_INT32)
        labels = gantry__train_cast(scope, labels, GANTRY_INT64);
    if (!labels || !predictions) return NULL;
    const gantry_shape_t shape = *gantry_tensor_shape(labels);
    tensor *rows = gantry__train_rows(scope, predictions);
    if (shape.rank == 1) return gantry_in_top_k(scope, rows, labels, metric->k);
    labels = gantry_reshape(scope, labels, GANTRY_SHAPE(-1));
    return gantry_reshape(scope, gantry_in_top_k(scope, rows, labels, metric->k), shape);
}

static tensor *values_sparse_top_k(const gantry_metric_t *metric, gantry_scope_t *scope,
                                   tensor *labels, tensor *predictions) {
    if (!has_classes(metric, scope, predictions)) return NULL;
    labels = gantry__train_row_labels(scope, metric->name, labels, predictions);
    return labels ? among_k(metric, scope, labels, predictions) : NULL;
}

static tensor *values_top_k(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                            tensor *predictions) {
    if (!has_classes(metric, scope, predictions) ||
        !gantry__train_same_shape(scope, metric->name, labels, predictions))
        return NULL;
    return among_k(metric, scope, gantry__train_metric_largest(scope, labels), predictions);
}

/* ---- made ---- */

gantry_metric_t *gantry_accuracy(const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_by_shape);
    return gantry__train_metric_create(&kind, "gantry_accuracy", "accuracy", options);
}

gantry_metric_t *gantry_binary_accuracy(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_binary);
    gantry_metric_t *metric =
        gantry__train_metric_create(&kind, "gantry_binary_accuracy", "binary_accuracy", options);
    if (metric) metric->threshold = threshold;
    return metric;
}

gantry_metric_t *gantry_categorical_accuracy(const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_categorical);
    return gantry__train_metric_create(&kind, "gantry_categorical_accuracy", "categorical_accuracy",
                                       options);
}

gantry_metric_t *gantry_sparse_categorical_accuracy(const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_sparse);
    return gantry__train_metric_create(&kind, "gantry_sparse_categorical_accuracy",
                                       "sparse_categorical_accuracy", options);
}

static gantry_metric_t *top_k_create(const gantry__train_metric_kind_t *kind, const char *call,
                                     const char *name, int32_t k,
                                     const gantry_metric_options_t *options) {
    if (k < 1)
        return gantry__train_refuse_pointer(NULL, "%s: k is %d; a number of at least 1 is accepted",
                                            call, (int)k);
    gantry_metric_t *metric = gantry__train_metric_create(kind, call, name, options);
    if (metric) metric->k = k;
    return metric;
}

gantry_metric_t *gantry_top_k_categorical_accuracy(int32_t k,
                                                   const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_top_k);
    return top_k_create(&kind, "gantry_top_k_categorical_accuracy", "top_k_categorical_accuracy", k,
                        options);
}

gantry_metric_t *gantry_sparse_top_k_categorical_accuracy(int32_t k,
                                                          const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_sparse_top_k);
    return top_k_create(&kind, "gantry_sparse_top_k_categorical_accuracy",
                        "sparse_top_k_categorical_accuracy", k, options);
}
