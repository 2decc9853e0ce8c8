/* SPDX-License-Identifier: Apache-2.0 */
/* Means of values, with weights: values get the weights' rank by means over their further
 * dimensions, both are reduced to one number for each sample, and the sums of both are kept. */
#include "train/metric/metric_state.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/loss/fit.h"
#include "train/loss/loss_formula.h"

typedef const gantry_tensor_t tensor;

/* The mean over the dimensions from `first` on; x itself if it has none. */
static tensor *mean_from(gantry_scope_t *scope, tensor *x, int32_t first) {
    int32_t axes[GANTRY_MAX_RANK], count = 0;
    if (!x) return NULL;
    for (int32_t d = first; d < gantry_tensor_shape(x)->rank; ++d) axes[count++] = d;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = axes, .axis_count = (size_t)count};
    return count ? gantry_mean(scope, x, &options) : x;
}

/* Returns the size of the first dimension; 1 for a scalar. */
static tensor *mean_count(gantry_scope_t *scope, tensor *values) {
    const gantry_shape_t *shape = gantry_tensor_shape(values);
    const gantry_dtype_t dtype = gantry_tensor_dtype(values);
    const int64_t count = shape->rank ? shape->dims[0] : 1;
    if (count >= 0) return gantry__train_constant(scope, dtype, (double)count);
    return gantry_cast(scope, gantry_size(scope, values, GANTRY_INT64), dtype);
}

static bool weights_fit(gantry_scope_t *scope, const gantry_metric_t *metric, tensor *weights,
                        tensor *values) {
    const gantry_shape_t *w = gantry_tensor_shape(weights), *v = gantry_tensor_shape(values);
    if (w->rank <= v->rank && gantry__train_broadcasts(weights, values)) return true;
    return gantry__train_refuse_bool(
        scope,
        "%s: sample_weights of shape %s do not fit values of shape %s; a shape that broadcasts is accepted",
        metric->name, gantry__train_shape_text(weights).text,
        gantry__train_shape_text(values).text);
}

static void mean_weighted(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *values,
                          tensor *weights, tensor **out_values, tensor **out_weights) {
    weights = gantry__train_cast(scope, weights, metric->dtype);
    if (weights) gantry__train_fit_ranks(scope, &values, &weights, true);
    if (!values || !weights) return;
    values = mean_from(scope, values, gantry_tensor_shape(weights)->rank);
    if (!values || !weights_fit(scope, metric, weights, values)) return;
    weights = gantry__train_spread(scope, weights, values);
    if (!weights) return;
    *out_values = gantry_mul(scope, values, weights);
    *out_weights = mean_from(scope, weights, 1);
}

void gantry__train_mean_sums(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                             tensor *predictions, tensor *weights,
                             tensor *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]) {
    tensor *values = metric->kind->values(metric, scope, labels, predictions);
    tensor *counted = NULL;
    if (values) values = gantry__train_cast(scope, values, metric->dtype);
    if (!values) return;
    if (weights) mean_weighted(metric, scope, values, weights, &values, &counted);
    values = mean_from(scope, values, 1);
    if (!values) return;
    out_sums[0] = gantry_sum(scope, values, NULL);
    out_sums[1] = counted ? gantry_sum(scope, counted, NULL) : mean_count(scope, values);
}

tensor *gantry__train_mean_result(const gantry_metric_t *metric, gantry_scope_t *scope,
                                  tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    (void)metric;
    return gantry_div_no_nan(scope, state[0], state[1]);
}

/* ---- values and losses ---- */

static tensor *values_given(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                            tensor *predictions) {
    (void)metric, (void)scope, (void)labels;
    return predictions;
}

static tensor *values_of_loss(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                              tensor *predictions) {
    return gantry_loss(scope, metric->loss, labels, predictions, &metric->loss_options);
}

gantry_metric_t *gantry_mean_metric(const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = {
        .variables = {"total", "count"},
        .sums = gantry__train_mean_sums,
        .result = gantry__train_mean_result,
        .values = values_given,
    };
    return gantry__train_metric_create(&kind, "gantry_mean_metric", "mean", options);
}

gantry_metric_t *gantry_loss_metric(gantry_loss_t loss, const gantry_loss_options_t *loss_options,
                                    const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_of_loss);
    gantry_loss_options_t read;
    if (gantry__train_loss_options(loss, loss_options, &read) != GANTRY_OK) return NULL;
    if (read.sample_weights)
        return gantry__train_refuse_pointer(
            NULL,
            "gantry_loss_metric: sample_weights of the loss are given; gantry_metric_update takes them");
    gantry_metric_t *metric =
        gantry__train_metric_create(&kind, "gantry_loss_metric", gantry_loss_name(loss), options);
    if (!metric) return NULL;
    metric->loss = loss;
    metric->loss_options = read;
    metric->loss_options.struct_size = sizeof read;
    metric->loss_options.reduction = GANTRY_REDUCTION_NONE;
    return metric;
}

/* The loss is the smaller, the more alike the directions are. */
static tensor *values_cosine(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                             tensor *predictions) {
    return gantry_neg(scope, values_of_loss(metric, scope, labels, predictions));
}

gantry_metric_t *gantry_cosine_similarity(const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = GANTRY__TRAIN_MEAN_KIND(values_cosine);
    gantry_metric_t *metric = gantry__train_metric_create(&kind, "gantry_cosine_similarity",
                                                          "cosine_similarity", options);
    if (!metric) return NULL;
    metric->loss = GANTRY_COSINE_SIMILARITY;
    metric->loss_options = (gantry_loss_options_t){.struct_size = sizeof metric->loss_options,
                                                   .reduction = GANTRY_REDUCTION_NONE};
    return metric;
}

/* ---- the root of the mean of squares ---- */

static tensor *values_squared(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                              tensor *predictions) {
    labels = gantry__train_cast(scope, labels, metric->dtype);
    predictions = gantry__train_cast(scope, predictions, metric->dtype);
    if (!labels || !predictions) return NULL;
    gantry__train_fit_ranks(scope, &labels, &predictions, true);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return NULL;
    return gantry_squared_difference(scope, labels, predictions);
}

static tensor *root_result(const gantry_metric_t *metric, gantry_scope_t *scope,
                           tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    return gantry_sqrt(scope, gantry__train_mean_result(metric, scope, state));
}

gantry_metric_t *gantry_root_mean_squared_error(const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = {
        .variables = {"total", "count"},
        .takes_labels = true,
        .counts_masked = true,
        .sums = gantry__train_mean_sums,
        .result = root_result,
        .values = values_squared,
    };
    return gantry__train_metric_create(&kind, "gantry_root_mean_squared_error",
                                       "root_mean_squared_error", options);
}
