/* SPDX-License-Identifier: Apache-2.0 */
/* The area under the ROC curve, or that of precision and recall. Thresholds divide [0, 1] evenly,
 * so a prediction is above all thresholds up to its bucket: an update adds the weights of positive
 * and of negative labels to two histograms, and the result's running sums from the last bucket on
 * are the true and the false positives of each threshold.
 *
 *   bucket     0        1        2     ...  n - 2
 *   p      [0, 1 / (n - 1)], (.., 2 / (n - 1)], ..., (.., 1]
 *
 * The first threshold is below 0 and the last above 1, so bucket n - 1 stays empty. */
#include "train/metric/metric_state.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

/* ---- an update ---- */

static tensor *metric_auc_flat(gantry_scope_t *scope, tensor *x) {
    if (!x || gantry_tensor_shape(x)->rank == 1) return x;
    return gantry_reshape(scope, x, GANTRY_SHAPE(-1));
}

/* ceil(p (n - 1)) - 1, at least 0. */
static tensor *auc_buckets(const gantry_metric_t *metric, gantry_scope_t *scope,
                           tensor *predictions) {
    tensor *zero = gantry__train_constant(scope, metric->dtype, 0);
    tensor *one = gantry__train_constant(scope, metric->dtype, 1);
    tensor *steps = gantry__train_constant(scope, metric->dtype, metric->thresholds - 1);
    tensor *p = gantry_clip_by_value(scope, metric_auc_flat(scope, predictions), zero, one);
    tensor *place = gantry_sub(scope, gantry_ceil(scope, gantry_mul(scope, p, steps)), one);
    return gantry_cast(scope, gantry_relu(scope, place), GANTRY_INT32);
}

/* 1 for labels that are not 0. */
static tensor *auc_positives(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels) {
    return metric_auc_flat(
        scope, gantry_cast(scope, gantry__train_cast(scope, labels, GANTRY_BOOL), metric->dtype));
}

static void auc_sums(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                     tensor *predictions, tensor *weights,
                     tensor *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]) {
    if (metric->from_logits) predictions = gantry_sigmoid(scope, predictions);
    if (predictions) predictions = gantry__train_cast(scope, predictions, metric->dtype);
    if (predictions) gantry__train_fit_ranks(scope, &predictions, &labels, true);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return;
    tensor *buckets = auc_buckets(metric, scope, predictions);
    tensor *yes = auc_positives(metric, scope, labels);
    tensor *no = gantry_sub(scope, gantry__train_constant(scope, metric->dtype, 1), yes);
    if (weights) {
        weights = metric_auc_flat(
            scope, gantry__train_metric_weights(metric, scope, weights, predictions));
        yes = gantry_mul(scope, yes, weights);
        no = gantry_mul(scope, no, weights);
    }
    out_sums[0] = gantry_unsorted_segment_sum(scope, yes, buckets, metric->thresholds);
    out_sums[1] = gantry_unsorted_segment_sum(scope, no, buckets, metric->thresholds);
}

/* ---- the result ---- */

/* The weights of a class above each threshold. */
static tensor *auc_above(gantry_scope_t *scope, tensor *histogram) {
    const gantry_scan_options_t from_the_end = {.struct_size = sizeof from_the_end,
                                                .reverse = true};
    return gantry_cumsum(scope, histogram, 0, &from_the_end);
}

/* All of a class, in a vector of size 1. */
static tensor *auc_all(gantry_scope_t *scope, tensor *above) {
    const int64_t first = 0, one = 1;
    return gantry_slice(scope, above, &first, &one);
}

/* All but the first, or all but the last. */
static tensor *auc_part(gantry_scope_t *scope, tensor *x, int64_t first) {
    if (!x) return NULL;
    const int64_t size = gantry_tensor_elements(x) - 1;
    return gantry_slice(scope, x, &first, &size);
}

/* From each threshold to the next. */
static tensor *auc_steps(gantry_scope_t *scope, tensor *x) {
    return gantry_sub(scope, auc_part(scope, x, 0), auc_part(scope, x, 1));
}

/* The sum of trapezoids between thresholds: widths along the false positives' rate. */
static tensor *auc_roc(gantry_scope_t *scope, tensor *tp, tensor *fp) {
    tensor *y = gantry_div_no_nan(scope, tp, auc_all(scope, tp));
    tensor *x = gantry_div_no_nan(scope, fp, auc_all(scope, fp));
    if (!x || !y) return NULL;
    tensor *heights = gantry_add(scope, auc_part(scope, y, 0), auc_part(scope, y, 1));
    heights = gantry_div(scope, heights, gantry__train_constant(scope, gantry_tensor_dtype(y), 2));
    return gantry_sum(scope, gantry_mul(scope, auc_steps(scope, x), heights), NULL);
}

/* Davis and Goadrich's: between thresholds true positives and predicted ones, p, go linearly, so
 * precision is the integral of slope + intercept / p. */
static tensor *auc_pr(gantry_scope_t *scope, tensor *tp, tensor *fp) {
    tensor *p = gantry_add(scope, tp, fp);
    if (!p) return NULL;
    tensor *zero = gantry__train_constant(scope, gantry_tensor_dtype(p), 0);
    tensor *one = gantry__train_constant(scope, gantry_tensor_dtype(p), 1);
    tensor *from = auc_part(scope, p, 0), *to = auc_part(scope, p, 1);
    tensor *rise = auc_steps(scope, tp);
    tensor *run = gantry_maximum(scope, gantry_sub(scope, from, to), zero);
    tensor *slope = gantry_div_no_nan(scope, rise, run);
    tensor *intercept = gantry_sub(scope, auc_part(scope, tp, 1), gantry_mul(scope, slope, to));
    tensor *has_ratio = gantry_logical_and(scope, gantry_greater(scope, from, zero),
                                           gantry_greater(scope, to, zero));
    tensor *ratio = gantry_div_no_nan(scope, from, gantry_maximum(scope, to, zero));
    ratio = gantry_select(scope, has_ratio, ratio, one);
    tensor *areas = gantry_add(scope, rise, gantry_mul(scope, intercept, gantry_log(scope, ratio)));
    areas = gantry_div_no_nan(scope, gantry_mul(scope, slope, areas), auc_all(scope, tp));
    return gantry_sum(scope, areas, NULL);
}

static tensor *auc_result(const gantry_metric_t *metric, gantry_scope_t *scope,
                          tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    tensor *tp = auc_above(scope, state[0]), *fp = auc_above(scope, state[1]);
    return metric->curve == GANTRY_CURVE_PR ? auc_pr(scope, tp, fp) : auc_roc(scope, tp, fp);
}

gantry_metric_t *gantry_auc(int32_t thresholds, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = {
        .variables = {"positives", "negatives"},
        .takes_labels = true,
        .sums = auc_sums,
        .result = auc_result,
    };
    if (thresholds != 0 && thresholds < 2)
        return gantry__train_refuse_pointer(
            NULL, "gantry_auc: %d thresholds; at least 2, or 0 for 200, are accepted",
            (int)thresholds);
    gantry_metric_t *metric = gantry__train_metric_create(&kind, "gantry_auc", "auc", options);
    if (metric) metric->size = metric->thresholds = thresholds ? thresholds : 200;
    return metric;
}
