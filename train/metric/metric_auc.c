/* SPDX-License-Identifier: Apache-2.0 */
/* The area under the ROC curve. Thresholds divide [0, 1] evenly, so a prediction is above all
 * thresholds up to its bucket: an update adds the weights of positive and of negative labels to two
 * histograms, and the result's running sums from the last bucket on are the true and the false
 * positives of each threshold.
 *
 *   bucket     0        1        2     ...  n - 2
 *   p      [0, 1 / (n - 1)], (.., 2 / (n - 1)], ..., (.., 1]
 *
 * The first threshold lies below 0 and the last above 1, so bucket n - 1 stays empty. */
#include "train/metric/metric_state.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/loss/fit.h"

/* ---- an update ---- */

static const gantry_tensor_t *flat(gantry_scope_t *scope, const gantry_tensor_t *x) {
    if (!x || gantry_tensor_shape(x)->rank == 1) return x;
    return gantry_reshape(scope, x, GANTRY_SHAPE(-1));
}

/* ceil(p (n - 1)) - 1, at least 0. */
static const gantry_tensor_t *auc_buckets(const gantry_metric_t *metric, gantry_scope_t *scope,
                                          const gantry_tensor_t *predictions) {
    const gantry_tensor_t *zero = gantry__train_constant(scope, metric->dtype, 0);
    const gantry_tensor_t *one = gantry__train_constant(scope, metric->dtype, 1);
    const gantry_tensor_t *steps =
        gantry__train_constant(scope, metric->dtype, metric->thresholds - 1);
    const gantry_tensor_t *p = gantry_clip_by_value(scope, flat(scope, predictions), zero, one);
    const gantry_tensor_t *place =
        gantry_sub(scope, gantry_ceil(scope, gantry_mul(scope, p, steps)), one);
    return gantry_cast(scope, gantry_relu(scope, place), GANTRY_INT32);
}

/* Weights of the predictions' shape. [n] and [n, 1] are one for each sample. */
static const gantry_tensor_t *auc_weights(const gantry_metric_t *metric, gantry_scope_t *scope,
                                          const gantry_tensor_t *weights,
                                          const gantry_tensor_t *predictions) {
    const gantry_tensor_t *shaped = predictions;
    weights = gantry_expand_dims(scope, gantry__train_cast(scope, weights, metric->dtype), -1);
    if (weights) gantry__train_fit_ranks(scope, &shaped, &weights, false);
    if (!weights) return NULL;
    if (gantry_tensor_shape(weights)->rank <= gantry_tensor_shape(predictions)->rank &&
        gantry__train_broadcasts(weights, predictions))
        return gantry__train_spread(scope, weights, predictions);
    (void)gantry__train_refuse(
        scope,
        "%s: sample_weights of shape %s do not fit predictions of shape %s; one for each sample is accepted",
        metric->name, gantry__train_shape_text(weights).text,
        gantry__train_shape_text(predictions).text);
    return NULL;
}

/* 1 for labels that are not 0. */
static const gantry_tensor_t *auc_positives(const gantry_metric_t *metric, gantry_scope_t *scope,
                                            const gantry_tensor_t *labels) {
    return flat(scope,
                gantry_cast(scope, gantry__train_cast(scope, labels, GANTRY_BOOL), metric->dtype));
}

static void auc_sums(const gantry_metric_t *metric, gantry_scope_t *scope,
                     const gantry_tensor_t *labels, const gantry_tensor_t *predictions,
                     const gantry_tensor_t *weights,
                     const gantry_tensor_t *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]) {
    if (metric->from_logits) predictions = gantry_sigmoid(scope, predictions);
    if (predictions) predictions = gantry__train_cast(scope, predictions, metric->dtype);
    if (predictions) gantry__train_fit_ranks(scope, &predictions, &labels, true);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return;
    const gantry_tensor_t *buckets = auc_buckets(metric, scope, predictions);
    const gantry_tensor_t *yes = auc_positives(metric, scope, labels);
    const gantry_tensor_t *no =
        gantry_sub(scope, gantry__train_constant(scope, metric->dtype, 1), yes);
    if (weights) {
        weights = flat(scope, auc_weights(metric, scope, weights, predictions));
        yes = gantry_mul(scope, yes, weights);
        no = gantry_mul(scope, no, weights);
    }
    out_sums[0] = gantry_unsorted_segment_sum(scope, yes, buckets, metric->thresholds);
    out_sums[1] = gantry_unsorted_segment_sum(scope, no, buckets, metric->thresholds);
}

/* ---- the result ---- */

/* The share of a class above each threshold. */
static const gantry_tensor_t *auc_rates(gantry_scope_t *scope, const gantry_tensor_t *histogram) {
    const int64_t first = 0, one = 1;
    const gantry_scan_options_t from_the_end = {.struct_size = sizeof from_the_end,
                                                .reverse = true};
    const gantry_tensor_t *above = gantry_cumsum(scope, histogram, 0, &from_the_end);
    return gantry_div_no_nan(scope, above, gantry_slice(scope, above, &first, &one));
}

/* All but the first, or all but the last. */
static const gantry_tensor_t *auc_part(gantry_scope_t *scope, const gantry_tensor_t *rates,
                                       int64_t first) {
    if (!rates) return NULL;
    const int64_t size = gantry_tensor_elements(rates) - 1;
    return gantry_slice(scope, rates, &first, &size);
}

/* The sum of trapezoids between thresholds: widths along the false positives' rate. */
static const gantry_tensor_t *auc_result(
    gantry_scope_t *scope, const gantry_tensor_t *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    const gantry_tensor_t *y = auc_rates(scope, state[0]), *x = auc_rates(scope, state[1]);
    if (!x || !y) return NULL;
    const gantry_tensor_t *widths = gantry_sub(scope, auc_part(scope, x, 0), auc_part(scope, x, 1));
    const gantry_tensor_t *heights =
        gantry_add(scope, auc_part(scope, y, 0), auc_part(scope, y, 1));
    heights = gantry_div(scope, heights, gantry__train_constant(scope, gantry_tensor_dtype(y), 2));
    return gantry_sum(scope, gantry_mul(scope, widths, heights), NULL);
}

gantry_metric_t *gantry_auc(int32_t thresholds, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = {
        .variables = {"positives", "negatives"},
        .takes_labels = true,
        .sums = auc_sums,
        .result = auc_result,
    };
    if (thresholds != 0 && thresholds < 2) {
        (void)gantry__train_fail(
            GANTRY_INVALID_ARGUMENT,
            "gantry_auc: %d thresholds; at least 2, or 0 for 200, are accepted", (int)thresholds);
        return NULL;
    }
    gantry_metric_t *metric = gantry__train_metric_create(&kind, "gantry_auc", "auc", options);
    if (metric) metric->thresholds = thresholds ? thresholds : 200;
    return metric;
}
