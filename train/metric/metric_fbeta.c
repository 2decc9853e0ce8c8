/* SPDX-License-Identifier: Apache-2.0 */
/* F-beta scores: the harmonic mean of precision and recall of each class, from four sums of each.
 * Labels are numbers, so that shares of a class count, too. */
#include "train/metric/metric_state.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

/* Below it the largest prediction is no class. */
#define FBETA_ZERO 1e-9

enum { TRUE_POSITIVES, FALSE_POSITIVES, FALSE_NEGATIVES, LABELS };

/* ---- an update ---- */

static tensor *fbeta_number(const gantry_metric_t *metric, gantry_scope_t *scope, double value) {
    return gantry__train_constant(scope, metric->dtype, value);
}

/* The predicted classes: those above the threshold; without one, the largest. */
static tensor *predicted(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *p) {
    static const int32_t last = -1;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &last, .axis_count = 1, .keep_dims = true};
    if (metric->threshold > 0)
        return gantry_greater(scope, p, fbeta_number(metric, scope, metric->threshold));
    tensor *is_largest = gantry_greater_equal(scope, p, gantry_max(scope, p, &options));
    tensor *is_any =
        gantry_greater(scope, gantry_abs(scope, p), fbeta_number(metric, scope, FBETA_ZERO));
    return gantry_logical_and(scope, is_largest, is_any);
}

/* For each class, or of GANTRY_AVERAGE_MICRO all together. */
static tensor *fbeta_sum(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *values,
                         tensor *weights) {
    static const int32_t first = 0;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &first, .axis_count = 1};
    if (weights) values = gantry_mul(scope, values, weights);
    if (!values) return NULL;
    return gantry_sum(scope, values, metric->average == GANTRY_AVERAGE_MICRO ? NULL : &options);
}

static bool fbeta_fits(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                       tensor *predictions) {
    const gantry_shape_t *shape = gantry_tensor_shape(predictions);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return false;
    if (shape->rank == 2 && shape->dims[1] == metric->classes) return true;
    return gantry__train_refuse_bool(
        scope, "%s: predictions have shape %s; [n,%lld] is accepted, as the metric was made",
        metric->name, gantry__train_shape_text(predictions).text, (long long)metric->classes);
}

static void fbeta_sums(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                       tensor *predictions, tensor *weights,
                       tensor *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]) {
    if (!fbeta_fits(metric, scope, labels, predictions)) return;
    tensor *y = gantry__train_cast(scope, labels, metric->dtype);
    tensor *p = gantry__train_cast(scope, predictions, metric->dtype);
    tensor *one = fbeta_number(metric, scope, 1);
    if (!y || !p) return;
    if (weights) weights = gantry__train_metric_weights(metric, scope, weights, p);
    p = gantry_cast(scope, predicted(metric, scope, p), metric->dtype);
    if (!p || gantry_scope_status(scope) != GANTRY_OK) return;
    out_sums[TRUE_POSITIVES] = fbeta_sum(metric, scope, gantry_mul(scope, p, y), weights);
    out_sums[FALSE_POSITIVES] =
        fbeta_sum(metric, scope, gantry_mul(scope, p, gantry_sub(scope, one, y)), weights);
    out_sums[FALSE_NEGATIVES] =
        fbeta_sum(metric, scope, gantry_mul(scope, gantry_sub(scope, one, p), y), weights);
    out_sums[LABELS] = fbeta_sum(metric, scope, y, weights);
}

/* ---- the result ---- */

/* x / (y + z + epsilon); z may be NULL. */
static tensor *fbeta_share(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *x,
                           tensor *y, tensor *z) {
    if (z) y = gantry_add(scope, y, z);
    return gantry_div(scope, x,
                      gantry_add(scope, y, fbeta_number(metric, scope, GANTRY__KERAS_EPSILON)));
}

static tensor *fbeta_scores(const gantry_metric_t *metric, gantry_scope_t *scope,
                            tensor *const *state) {
    const double square = metric->beta * metric->beta;
    tensor *precision = fbeta_share(metric, scope, state[TRUE_POSITIVES], state[TRUE_POSITIVES],
                                    state[FALSE_POSITIVES]);
    tensor *recall = fbeta_share(metric, scope, state[TRUE_POSITIVES], state[TRUE_POSITIVES],
                                 state[FALSE_NEGATIVES]);
    tensor *product = gantry_mul(scope, precision, recall);
    tensor *scaled = gantry_mul(scope, fbeta_number(metric, scope, square), precision);
    return gantry_mul(scope, fbeta_share(metric, scope, product, scaled, recall),
                      fbeta_number(metric, scope, 1 + square));
}

static tensor *fbeta_result(const gantry_metric_t *metric, gantry_scope_t *scope,
                            tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    tensor *scores = fbeta_scores(metric, scope, state);
    if (!scores || metric->average == GANTRY_AVERAGE_NONE) return scores;
    if (metric->average != GANTRY_AVERAGE_WEIGHTED) return gantry_mean(scope, scores, NULL);
    tensor *shares =
        fbeta_share(metric, scope, state[LABELS], gantry_sum(scope, state[LABELS], NULL), NULL);
    return gantry_sum(scope, gantry_mul(scope, scores, shares), NULL);
}

/* ---- made ---- */

static gantry_status_t fbeta_check(const char *call, int64_t classes, double beta,
                                   gantry_average_t average, double threshold) {
    if (classes < 1 || classes > INT32_MAX)
        return gantry__train_refuse(NULL, "%s: classes is %lld; 1 to 2147483647 are accepted", call,
                                    (long long)classes);
    if (!(beta > 0 && beta < 1e100))
        return gantry__train_refuse(NULL, "%s: beta is %g; a number above 0 is accepted", call,
                                    beta);
    if ((unsigned)average > GANTRY_AVERAGE_WEIGHTED)
        return gantry__train_refuse(
            NULL,
            "%s: %d is no average; GANTRY_AVERAGE_NONE, ..._MICRO, ..._MACRO and ..._WEIGHTED are accepted",
            call, (int)average);
    if (threshold >= 0 && threshold <= 1) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "%s: threshold is %g; a number above 0, up to 1, or 0 for the largest prediction, is accepted",
        call, threshold);
}

static gantry_metric_t *fbeta_create(const char *call, const char *name, int64_t classes,
                                     double beta, gantry_average_t average, double threshold,
                                     const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = {
        .variables = {"true_positives", "false_positives", "false_negatives",
                      "intermediate_weights"},
        .takes_labels = true,
        .sums = fbeta_sums,
        .result = fbeta_result,
    };
    if (fbeta_check(call, classes, beta, average, threshold) != GANTRY_OK) return NULL;
    gantry_metric_t *metric = gantry__train_metric_create(&kind, call, name, options);
    if (!metric) return NULL;
    metric->size = average == GANTRY_AVERAGE_MICRO ? 0 : classes;
    metric->has_vector = average == GANTRY_AVERAGE_NONE;
    metric->classes = classes;
    metric->beta = beta;
    metric->average = average;
    metric->threshold = threshold;
    return metric;
}

gantry_metric_t *gantry_f1_score(int64_t classes, gantry_average_t average, double threshold,
                                 const gantry_metric_options_t *options) {
    return fbeta_create("gantry_f1_score", "f1_score", classes, 1, average, threshold, options);
}

gantry_metric_t *gantry_fbeta_score(int64_t classes, double beta, gantry_average_t average,
                                    double threshold, const gantry_metric_options_t *options) {
    return fbeta_create("gantry_fbeta_score", "fbeta_score", classes, beta, average, threshold,
                        options);
}
