/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: made, updated, read and reset, whatever their kind. An update computes all sums before
 * it adds the first, so that a failure leaves the state whole. */
#include "train/base/fp_mode.h"
#include "train/metric/metric_state.h"

#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/loss/fit.h"
#include "train/loss/mask.h"

typedef const gantry_tensor_t tensor;

/* ---- made and released ---- */

static gantry_status_t metric_check_dtype(const char *call, gantry_dtype_t dtype) {
    if (dtype == GANTRY_DTYPE_NONE || gantry__train_is_float(dtype)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "%s: dtype is %s; float16, bfloat16, float32 and float64 are accepted", call,
        gantry_dtype_name(dtype));
}

static gantry_status_t metric_check_numbers(const char *call,
                                            const gantry_metric_options_t *options) {
    if (options->curve != GANTRY_CURVE_ROC && options->curve != GANTRY_CURVE_PR)
        return gantry__train_refuse(
            NULL, "%s: %d is no curve; GANTRY_CURVE_ROC and GANTRY_CURVE_PR are accepted", call,
            (int)options->curve);
    if (options->top_k < 0)
        return gantry__train_refuse(
            NULL, "%s: top_k is %d; a number of at least 1, or 0 for all classes, is accepted",
            call, (int)options->top_k);
    if (options->class_id && *options->class_id < 0)
        return gantry__train_refuse(
            NULL, "%s: class_id is %d; a place of the last dimension, from 0 on, is accepted", call,
            (int)*options->class_id);
    if ((options->thresholds != NULL) != (options->threshold_count > 0))
        return gantry__train_refuse(
            NULL, "%s: %zu thresholds %s; an array of 1 and more, or NULL and 0, are accepted",
            call, options->threshold_count, options->thresholds ? "in an array" : "at NULL");
    return GANTRY_OK;
}

gantry_metric_t *gantry__train_metric_create(const gantry__train_metric_kind_t *kind,
                                             const char *call, const char *name,
                                             const gantry_metric_options_t *options) {
    gantry_metric_options_t read;
    char what[96];
    (void)snprintf(what, sizeof what, "%s: options", call);
    if (gantry__struct_read(options, sizeof read, &read, sizeof read, what) != GANTRY_OK ||
        metric_check_dtype(call, read.dtype) != GANTRY_OK ||
        metric_check_numbers(call, &read) != GANTRY_OK)
        return NULL;
    gantry_metric_t *metric = gantry__alloc(1, sizeof *metric);
    if (!metric) return NULL;
    metric->kind = kind;
    metric->dtype = read.dtype ? read.dtype : GANTRY_FLOAT32;
    metric->from_logits = read.from_logits;
    metric->curve = read.curve;
    metric->k = read.top_k;
    metric->has_class = read.class_id != NULL;
    if (read.class_id) metric->class_id = *read.class_id;
    metric->iou.has_ignored = read.ignore_class != NULL;
    if (read.ignore_class) metric->iou.ignored = *read.ignore_class;
    metric->iou.dense_labels = read.dense_labels;
    metric->iou.dense_predictions = read.dense_predictions;
    metric->iou.sparse_predictions = read.sparse_predictions;
    metric->name = gantry__strdup(read.name ? read.name : name);
    if (metric->name) return metric;
    gantry__free(metric);
    return NULL;
}

static void release_variables(gantry_metric_t *metric) {
    for (size_t i = 0; i < GANTRY__TRAIN_METRIC_VARIABLES; ++i) {
        gantry_variable_release(metric->variables[i]);
        metric->variables[i] = NULL;
    }
}

void gantry_metric_release(gantry_metric_t *metric) {
    if (!metric || metric->owners > 0) return;
    release_variables(metric);
    gantry__free(metric->levels);
    gantry__free(metric->iou.targets);
    gantry__free(metric->name);
    gantry__free(metric);
}

void gantry__metric_own(gantry_metric_t *metric) { ++metric->owners; }

void gantry__metric_disown(gantry_metric_t *metric) {
    --metric->owners;
    gantry_metric_release(metric);
}

/* ---- read by the program ---- */

const char *gantry_metric_name(const gantry_metric_t *metric) { return metric ? metric->name : ""; }

static bool metric_is_built(const gantry_metric_t *metric) { return metric->variables[0]; }

/* Returns the number of variables of a metric that is built, or will be. */
static size_t count_of(const gantry_metric_t *metric) {
    size_t count = 0;
    while (count < GANTRY__TRAIN_METRIC_VARIABLES && metric->kind->variables[count]) ++count;
    return count;
}

size_t gantry_metric_variable_count(const gantry_metric_t *metric) {
    return metric && metric_is_built(metric) ? count_of(metric) : 0;
}

gantry_variable_t *gantry_metric_variable(const gantry_metric_t *metric, size_t index) {
    return index < gantry_metric_variable_count(metric) ? metric->variables[index] : NULL;
}

/* ---- variables ---- */

static gantry_shape_t variable_shape(const gantry_metric_t *metric) {
    if (metric->kind->is_matrix) return GANTRY_SHAPE(metric->size, metric->size);
    return metric->size ? GANTRY_SHAPE(metric->size) : GANTRY_SCALAR;
}

static void create_variables(gantry_metric_t *metric, gantry_scope_t *scope) {
    tensor *zeros = gantry_zeros(scope, metric->dtype, variable_shape(metric));
    for (size_t i = 0; i < count_of(metric); ++i) {
        char name[256];
        (void)snprintf(name, sizeof name, "%s/%s", metric->name, metric->kind->variables[i]);
        metric->variables[i] = gantry_variable_create(scope, zeros, name);
    }
    if (gantry_scope_status(scope) != GANTRY_OK) release_variables(metric);
}

/* Begins the scope of a call about a metric; NULL after a failure. */
static gantry_scope_t *metric_begin(const gantry_metric_t *metric, gantry_scope_t *scope,
                                    const char *call) {
    gantry_scope_t *inner = gantry__train_begin_unobserved(scope, call);
    if (!inner || metric) return inner;
    (void)gantry__train_fail_null(inner, call, "metric", "one");
    (void)gantry__train_end(scope, inner, NULL);
    return NULL;
}

/* Ends that scope, and returns the outer scope's status. */
static gantry_status_t metric_end(gantry_scope_t *scope, gantry_scope_t *inner) {
    (void)gantry__train_end(scope, inner, NULL);
    return gantry_scope_status(scope);
}

/* Returns the status of a call whose inner scope did not begin. */
static gantry_status_t metric_no_scope(const gantry_scope_t *scope) {
    return scope ? gantry_scope_status(scope) : GANTRY_INVALID_ARGUMENT;
}

gantry_status_t gantry_metric_build(gantry_metric_t *metric, gantry_scope_t *scope) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_scope_t *inner = metric_begin(metric, scope, "gantry_metric_build");
    if (!inner) return metric_no_scope(scope);
    if (!metric_is_built(metric)) create_variables(metric, inner);
    return metric_end(scope, inner);
}

/* Builds a metric before its first update. In a trace it fails, because variables cannot be made
 * there. */
static bool build_for_update(gantry_metric_t *metric, gantry_scope_t *scope) {
    if (metric_is_built(metric)) return true;
    create_variables(metric, scope);
    if (gantry_scope_status(scope) == GANTRY_FAILED_PRECONDITION) {
        char text[GANTRY__TRAIN_MESSAGE_BYTES];
        (void)snprintf(text, sizeof text, "metric %s: call gantry_metric_build first: %s",
                       metric->name, gantry_scope_message(scope));
        gantry_scope_clear(scope);
        (void)gantry_scope_fail(scope, GANTRY_FAILED_PRECONDITION, text);
    }
    return metric_is_built(metric);
}

/* ---- updates ---- */

static bool update_has_inputs(const gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                              tensor *predictions) {
    if (!gantry__train_is_given(scope, metric->name, "predictions", predictions)) return false;
    if (metric->kind->takes_labels)
        return gantry__train_is_given(scope, metric->name, "labels", labels);
    if (labels)
        (void)gantry__train_refuse(
            scope, "%s: labels are given; this metric takes values as predictions, and labels NULL",
            metric->name);
    return !labels;
}

static void metric_add(gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                       tensor *predictions, tensor *weights) {
    tensor *sums[GANTRY__TRAIN_METRIC_VARIABLES] = {NULL};
    if (!update_has_inputs(metric, scope, labels, predictions)) return;
    metric->kind->sums(metric, scope, labels, predictions, weights, sums);
    if (gantry_scope_status(scope) != GANTRY_OK || !build_for_update(metric, scope)) return;
    for (size_t i = 0; i < count_of(metric); ++i)
        (void)gantry_variable_assign_add(scope, metric->variables[i], sums[i]);
}

gantry_status_t gantry_metric_update(gantry_metric_t *metric, gantry_scope_t *scope, tensor *labels,
                                     tensor *predictions, tensor *sample_weights) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_scope_t *inner = metric_begin(metric, scope, "gantry_metric_update");
    if (!inner) return metric_no_scope(scope);
    metric_add(metric, inner, labels, predictions, sample_weights);
    return metric_end(scope, inner);
}

void gantry__train_metric_update_masked(gantry_metric_t *metric, gantry_scope_t *scope,
                                        tensor *labels, tensor *predictions, tensor *weights,
                                        tensor *mask) {
    if (mask && metric->kind->values && metric->kind->takes_labels && !metric->kind->counts_masked)
        weights = gantry__train_apply_mask(scope, weights, mask, metric->dtype, false);
    (void)gantry_metric_update(metric, scope, labels, predictions, weights);
}

tensor *gantry_metric_result(gantry_metric_t *metric, gantry_scope_t *scope) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    tensor *state[GANTRY__TRAIN_METRIC_VARIABLES] = {NULL};
    gantry_scope_t *inner = metric_begin(metric, scope, "gantry_metric_result");
    if (!inner) return NULL;
    if (!metric_is_built(metric))
        return gantry__train_end(
            scope, inner,
            gantry_zeros(inner, metric->dtype,
                         metric->has_vector ? variable_shape(metric) : GANTRY_SCALAR));
    for (size_t i = 0; i < count_of(metric); ++i)
        state[i] = gantry_variable_read(inner, metric->variables[i]);
    return gantry__train_end(scope, inner, metric->kind->result(metric, inner, state));
}

gantry_status_t gantry_metric_reset(gantry_metric_t *metric, gantry_scope_t *scope) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_scope_t *inner = metric_begin(metric, scope, "gantry_metric_reset");
    if (!inner) return metric_no_scope(scope);
    if (metric_is_built(metric)) {
        tensor *zeros = gantry_zeros(inner, metric->dtype, variable_shape(metric));
        for (size_t i = 0; i < count_of(metric); ++i)
            (void)gantry_variable_assign(inner, metric->variables[i], zeros);
    }
    return metric_end(scope, inner);
}
