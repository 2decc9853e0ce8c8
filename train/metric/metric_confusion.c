/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of right and wrong predictions of a class that is or is not: true and false positives and
 * negatives, and what follows from them. A place counts by its weight. */
#include "train/metric/metric_state.h"

#include <math.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

tensor *gantry__train_metric_weights(const gantry_metric_t *metric, gantry_scope_t *scope,
                                     tensor *weights, tensor *predictions) {
    tensor *shaped = predictions;
    weights = gantry_expand_dims(scope, gantry__train_cast(scope, weights, metric->dtype), -1);
    if (weights) gantry__train_fit_ranks(scope, &shaped, &weights, false);
    if (!weights) return NULL;
    if (gantry_tensor_shape(weights)->rank <= gantry_tensor_shape(predictions)->rank &&
        gantry__train_broadcasts(weights, predictions))
        return gantry__train_spread(scope, weights, predictions);
    return gantry__train_refuse_pointer(
        scope,
        "%s: sample_weights of shape %s do not fit predictions of shape %s; one for each sample is accepted",
        metric->name, gantry__train_shape_text(weights).text,
        gantry__train_shape_text(predictions).text);
}

/* ---- an update ---- */

/* Returns where a prediction is among the k largest of its row; of equal ones, the first count. */
static tensor *is_in_top_k(gantry_scope_t *scope, tensor *predictions, int32_t k) {
    static const int32_t of_places = -2;
    const gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &of_places, .axis_count = 1};
    const gantry_dtype_t dtype = gantry_tensor_dtype(predictions);
    tensor *classes = NULL;
    (void)gantry_top_k(scope, predictions, k, &classes);
    if (!classes) return NULL;
    tensor *hot = gantry_one_hot(scope, classes, (int32_t)gantry__train_last_dim(predictions),
                                 gantry__train_constant(scope, dtype, 1),
                                 gantry__train_constant(scope, dtype, 0), -1);
    return gantry_cast(scope, gantry_max(scope, hot, &options), GANTRY_BOOL);
}

static bool top_k_fits(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *predictions) {
    if (metric->k == 0 || metric->k <= gantry__train_last_dim(predictions)) return true;
    return gantry__train_refuse_bool(
        scope,
        "%s: top_k is %d for predictions of shape %s; a number up to their last dimension is accepted",
        metric->name, (int)metric->k, gantry__train_shape_text(predictions).text);
}

static bool class_fits(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *predictions) {
    const gantry_shape_t *shape = gantry_tensor_shape(predictions);
    if (!metric->has_class || (shape->rank >= 2 && metric->class_id < shape->dims[shape->rank - 1]))
        return true;
    return gantry__train_refuse_bool(
        scope,
        "%s: class_id is %d for predictions of shape %s; two dimensions or more, and a place of the last one are accepted",
        metric->name, (int)metric->class_id, gantry__train_shape_text(predictions).text);
}

/* Takes [..., classes] to [..., 1], if the metric judges one class. */
static tensor *of_class(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *x) {
    int64_t begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    if (!metric->has_class || !x) return x;
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    for (int32_t d = 0; d < shape->rank; ++d) size[d] = shape->dims[d];
    begin[shape->rank - 1] = metric->class_id;
    size[shape->rank - 1] = 1;
    return gantry_slice(scope, x, begin, size);
}

/* Returns a column with several thresholds, which are along the last dimension; otherwise the same
 * tensor. */
static tensor *as_places(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *x) {
    return metric->levels && x ? gantry_reshape(scope, x, GANTRY_SHAPE(-1, 1)) : x;
}

static tensor *thresholds_of(const gantry_metric_t *metric, gantry_scope_t *scope) {
    if (!metric->levels) return gantry__train_constant(scope, metric->dtype, metric->threshold);
    return gantry__train_cast(
        scope,
        gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(metric->size), metric->levels,
                        (size_t)metric->size * sizeof *metric->levels),
        metric->dtype);
}

/* The predictions that are positive, of type bool. */
static tensor *find_positives(const gantry_metric_t *metric, gantry_scope_t *scope,
                              tensor *predictions) {
    tensor *is_above =
        gantry_greater(scope, as_places(metric, scope, of_class(metric, scope, predictions)),
                       thresholds_of(metric, scope));
    if (metric->k == 0) return is_above;
    tensor *is_largest = of_class(metric, scope, is_in_top_k(scope, predictions, metric->k));
    return gantry_logical_and(scope, is_above, as_places(metric, scope, is_largest));
}

/* The weight of the places that a variable counts. */
static tensor *count_places(const gantry_metric_t *metric, gantry_scope_t *scope,
                            unsigned char counted, tensor *labels, tensor *positives,
                            tensor *weights) {
    if (!(counted & GANTRY__TRAIN_LABEL)) labels = gantry_logical_not(scope, labels);
    if (!(counted & GANTRY__TRAIN_PREDICTION)) positives = gantry_logical_not(scope, positives);
    tensor *places =
        gantry_cast(scope, gantry_logical_and(scope, labels, positives), metric->dtype);
    if (weights) places = gantry_mul(scope, places, weights);
    const int32_t first = 0;
    const gantry_reduce_options_t over_places = {
        .struct_size = sizeof over_places, .axes = &first, .axis_count = 1};
    return places ? gantry_sum(scope, places, metric->levels ? &over_places : NULL) : NULL;
}

static void confusion_sums(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                           tensor *predictions, tensor *weights,
                           tensor *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]) {
    predictions = gantry__train_cast(scope, predictions, metric->dtype);
    if (predictions) gantry__train_fit_ranks(scope, &predictions, &labels, true);
    if (!gantry__train_same_shape(scope, metric->name, labels, predictions)) return;
    if (!top_k_fits(metric, scope, predictions) || !class_fits(metric, scope, predictions)) return;
    tensor *positives = find_positives(metric, scope, predictions);
    labels = of_class(metric, scope, gantry__train_cast(scope, labels, GANTRY_BOOL));
    predictions = of_class(metric, scope, predictions);
    if (weights && predictions)
        weights = gantry__train_metric_weights(metric, scope, weights, predictions);
    labels = as_places(metric, scope, labels);
    weights = as_places(metric, scope, weights);
    if (!labels || !positives || gantry_scope_status(scope) != GANTRY_OK) return;
    for (size_t i = 0; i < GANTRY__TRAIN_METRIC_VARIABLES && metric->kind->variables[i]; ++i)
        out_sums[i] =
            count_places(metric, scope, metric->kind->counted[i], labels, positives, weights);
}

/* ---- the result ---- */

static tensor *confusion_share(const gantry_metric_t *metric, gantry_scope_t *scope,
                               tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    (void)metric;
    return gantry_div_no_nan(scope, state[0], gantry_add(scope, state[0], state[1]));
}

static tensor *confusion_number(const gantry_metric_t *metric, gantry_scope_t *scope,
                                tensor *const state[GANTRY__TRAIN_METRIC_VARIABLES]) {
    (void)metric;
    return gantry_identity(scope, state[0]);
}

/* ---- made ---- */

static bool is_no_threshold(double threshold) { return isinf(threshold) && threshold < 0; }

static bool is_threshold(double number) { return number >= 0 && number <= 1; }

/* Reads the thresholds: several make the result a vector, and one is the threshold itself. */
static gantry_status_t read_thresholds(gantry_metric_t *metric, const char *call,
                                       const gantry_metric_options_t *given) {
    gantry_metric_options_t options;
    GANTRY__TRY(gantry__struct_read(given, sizeof options, &options, sizeof options, call));
    for (size_t i = 0; i < options.threshold_count; ++i) {
        if (!is_threshold(options.thresholds[i]))
            return gantry__train_refuse(NULL,
                                        "%s: threshold %zu is %g; a number from 0 to 1 is accepted",
                                        call, i, options.thresholds[i]);
    }
    if (options.threshold_count == 1) metric->threshold = options.thresholds[0];
    if (options.threshold_count <= 1) return GANTRY_OK;
    metric->levels = gantry__alloc(options.threshold_count, sizeof *metric->levels);
    if (!metric->levels) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(metric->levels, options.thresholds, options.threshold_count * sizeof *metric->levels);
    metric->size = (int64_t)options.threshold_count;
    metric->has_vector = true;
    return GANTRY_OK;
}

static gantry_metric_t *confusion_create(const gantry__train_metric_kind_t *kind, const char *call,
                                         const char *name, double threshold,
                                         const gantry_metric_options_t *options) {
    if (!is_threshold(threshold) && !is_no_threshold(threshold))
        return gantry__train_refuse_pointer(
            NULL, "%s: threshold is %g; a number from 0 to 1, or -INFINITY for none, is accepted",
            call, threshold);
    gantry_metric_t *metric = gantry__train_metric_create(kind, call, name, options);
    if (!metric) return NULL;
    metric->threshold = threshold;
    if (read_thresholds(metric, call, options) == GANTRY_OK) return metric;
    gantry_metric_release(metric);
    return NULL;
}

#define RATE_KIND(other_name, other)                                         \
    {                                                                        \
        .variables = {"true_positives", (other_name)}, .takes_labels = true, \
        .sums = confusion_sums, .result = confusion_share, .counted = {      \
            GANTRY__TRAIN_LABEL | GANTRY__TRAIN_PREDICTION,                  \
            (other)                                                          \
        }                                                                    \
    }

gantry_metric_t *gantry_precision(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind =
        RATE_KIND("false_positives", GANTRY__TRAIN_PREDICTION);
    return confusion_create(&kind, "gantry_precision", "precision", threshold, options);
}

gantry_metric_t *gantry_recall(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind =
        RATE_KIND("false_negatives", GANTRY__TRAIN_LABEL);
    return confusion_create(&kind, "gantry_recall", "recall", threshold, options);
}

#define COUNT_KIND(what)                                                            \
    {                                                                               \
        .variables = {"accumulator"}, .takes_labels = true, .sums = confusion_sums, \
        .result = confusion_number, .counted = {                                    \
            (what)                                                                  \
        }                                                                           \
    }

gantry_metric_t *gantry_true_positives(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind =
        COUNT_KIND(GANTRY__TRAIN_LABEL | GANTRY__TRAIN_PREDICTION);
    return confusion_create(&kind, "gantry_true_positives", "true_positives", threshold, options);
}

gantry_metric_t *gantry_true_negatives(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = COUNT_KIND(0);
    return confusion_create(&kind, "gantry_true_negatives", "true_negatives", threshold, options);
}

gantry_metric_t *gantry_false_positives(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = COUNT_KIND(GANTRY__TRAIN_PREDICTION);
    return confusion_create(&kind, "gantry_false_positives", "false_positives", threshold, options);
}

gantry_metric_t *gantry_false_negatives(double threshold, const gantry_metric_options_t *options) {
    static const gantry__train_metric_kind_t kind = COUNT_KIND(GANTRY__TRAIN_LABEL);
    return confusion_create(&kind, "gantry_false_negatives", "false_negatives", threshold, options);
}
