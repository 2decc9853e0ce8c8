/* SPDX-License-Identifier: Apache-2.0 */
/* Keras's metrics, checked on a device after each batch: updated at once and inside functions.
 * Header only. */
#ifndef TESTS_TRAIN_METRIC_CASE_H
#define TESTS_TRAIN_METRIC_CASE_H

#include <math.h>

#include <gantry_train/metric.h>

#include "train_case.h"

#define TRAIN_METRICS(X)                                        \
    X(ACCURACY, accuracy)                                       \
    X(BINARY_ACCURACY, binary_accuracy)                         \
    X(CATEGORICAL_ACCURACY, categorical_accuracy)               \
    X(SPARSE_CATEGORICAL_ACCURACY, sparse_categorical_accuracy) \
    X(TOP_K, top_k)                                             \
    X(SPARSE_TOP_K, sparse_top_k)                               \
    X(AUC, auc)                                                 \
    X(MEAN, mean)                                               \
    X(MEAN_SQUARED_ERROR, mean_squared_error)                   \
    X(MEAN_ABSOLUTE_ERROR, mean_absolute_error)                 \
    X(ROOT_MEAN_SQUARED_ERROR, root_mean_squared_error)         \
    X(PRECISION, precision)                                     \
    X(RECALL, recall)                                           \
    X(TRUE_POSITIVES, true_positives)                           \
    X(TRUE_NEGATIVES, true_negatives)                           \
    X(FALSE_POSITIVES, false_positives)                         \
    X(FALSE_NEGATIVES, false_negatives)                         \
    X(F1_SCORE, f1_score)                                       \
    X(FBETA_SCORE, fbeta_score)                                 \
    X(COSINE_SIMILARITY, cosine_similarity)                     \
    X(KL_DIVERGENCE, kl_divergence)                             \
    X(IOU, iou)                                                 \
    X(MEAN_IOU, mean_iou)                                       \
    X(BINARY_IOU, binary_iou)                                   \
    X(ONE_HOT_IOU, one_hot_iou)                                 \
    X(ONE_HOT_MEAN_IOU, one_hot_mean_iou)                       \
    X(DICE, dice)

typedef enum train_metric_kind_t {
#define TRAIN_METRIC(kind, name) TRAIN_##kind,
    TRAIN_METRICS(TRAIN_METRIC)
#undef TRAIN_METRIC
        TRAIN_METRIC_KINDS
} train_metric_kind_t;

enum { TRAIN_MOST_UPDATES = 2 };

typedef struct train_update_t {
    golden_tensor_t labels, predictions, weights;
    golden_tensor_t expected; /* the result after it */
} train_update_t;

typedef struct train_metric_case_t {
    const char *name;
    train_metric_kind_t kind;
    gantry_dtype_t dtype;
    double number; /* threshold, k or thresholds */
    bool from_logits;
    size_t update_count;
    train_update_t updates[TRAIN_MOST_UPDATES];
    gantry_curve_t curve;
    int32_t top_k;
    gantry_average_t average; /* of F-beta scores, with the next ones */
    int64_t classes;
    double beta;
    int32_t class_number;
    bool has_class;
    golden_tensor_t thresholds; /* float64 */
    int32_t targets[4];         /* of intersections over unions, with the next ones */
    size_t target_count;
    int32_t ignored;
    bool has_ignored, dense_labels, dense_predictions, sparse_predictions;
} train_metric_case_t;

/* What make_train_cases.py adds to numbers that may be 0. */
enum { TRAIN_BIAS = 100 };

static inline train_metric_kind_t train_metric_named(const char *name) {
#define TRAIN_METRIC(kind, text) \
    if (strcmp(name, #text) == 0) return TRAIN_##kind;
    TRAIN_METRICS(TRAIN_METRIC)
#undef TRAIN_METRIC
    fail_msg("no metric is called %s", name);
    return TRAIN_METRIC_KINDS;
}

static inline void train_metric_read_updates(const golden_case_t *item, train_metric_case_t *out) {
    const golden_tensor_t *given = item->inputs;
    out->update_count = item->output_count;
    assert_in_range(item->output_count, 1, TRAIN_MOST_UPDATES);
    assert_true(item->input_count == 3 * item->output_count ||
                item->input_count == 3 * item->output_count + 1);
    for (size_t i = 0; i < item->output_count; ++i, given += 3)
        out->updates[i] = (train_update_t){given[0], given[1], given[2], item->outputs[i]};
    if (item->input_count % 3 == 1) out->thresholds = *given;
}

/* A number: a 1, then a digit for each class. */
static inline void train_metric_read_targets(const golden_case_t *item, train_metric_case_t *out) {
    int digits = (int)train_attr(item, "targets");
    for (int rest = digits; rest > 9; rest /= 10) ++out->target_count;
    for (size_t i = out->target_count; i > 0; --i, digits /= 10) out->targets[i - 1] = digits % 10;
}

static inline train_metric_case_t train_metric_read(const golden_case_t *item) {
    static const char *const curves[] = {"roc", "pr", NULL};
    static const char *const averages[] = {"none", "micro", "macro", "weighted", NULL};
    const golden_attr_t *dtype = golden_find_attr(item, "dtype");
    assert_non_null(dtype);
    train_metric_case_t c = {
        .name = item->name,
        .kind = train_metric_named(item->op),
        .dtype = dtype->type_value,
        .number =
            train_attr(item, "has_no_threshold") != 0 ? -INFINITY : train_attr(item, "number"),
        .from_logits = train_attr(item, "from_logits") != 0,
        .curve = (gantry_curve_t)train_attr_choice(item, "curve", curves),
        .top_k = (int32_t)train_attr(item, "top_k"),
        .average = (gantry_average_t)train_attr_choice(item, "average", averages),
        .classes = (int64_t)train_attr(item, "classes"),
        .beta = train_attr(item, "beta"),
        .class_number = (int32_t)train_attr(item, "class_id"),
        .has_class = golden_find_attr(item, "class_id") != NULL,
        .ignored = (int32_t)train_attr(item, "ignored") - TRAIN_BIAS,
        .has_ignored = golden_find_attr(item, "ignored") != NULL,
        .dense_labels = train_attr(item, "dense_labels") != 0,
        .dense_predictions = train_attr(item, "dense_predictions") != 0,
        .sparse_predictions = train_attr(item, "sparse_predictions") != 0};
    train_metric_read_targets(item, &c);
    train_metric_read_updates(item, &c);
    return c;
}

static inline gantry_metric_t *train_metric_make(train_metric_kind_t kind, double number,
                                                 const gantry_metric_options_t *options) {
    /* A number that is no threshold stands for the first one. */
    const double threshold = number > 1 ? 0.5 : number;
    switch (kind) {
        case TRAIN_ACCURACY: return gantry_accuracy(options);
        case TRAIN_BINARY_ACCURACY: return gantry_binary_accuracy(number, options);
        case TRAIN_CATEGORICAL_ACCURACY: return gantry_categorical_accuracy(options);
        case TRAIN_SPARSE_CATEGORICAL_ACCURACY: return gantry_sparse_categorical_accuracy(options);
        case TRAIN_TOP_K: return gantry_top_k_categorical_accuracy((int32_t)number, options);
        case TRAIN_SPARSE_TOP_K:
            return gantry_sparse_top_k_categorical_accuracy((int32_t)number, options);
        case TRAIN_AUC: return gantry_auc((int32_t)number, options);
        case TRAIN_MEAN: return gantry_mean_metric(options);
        case TRAIN_MEAN_SQUARED_ERROR:
            return gantry_loss_metric(GANTRY_MEAN_SQUARED_ERROR, NULL, options);
        case TRAIN_MEAN_ABSOLUTE_ERROR:
            return gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, options);
        case TRAIN_ROOT_MEAN_SQUARED_ERROR: return gantry_root_mean_squared_error(options);
        case TRAIN_PRECISION: return gantry_precision(threshold, options);
        case TRAIN_RECALL: return gantry_recall(threshold, options);
        case TRAIN_TRUE_POSITIVES: return gantry_true_positives(threshold, options);
        case TRAIN_TRUE_NEGATIVES: return gantry_true_negatives(threshold, options);
        case TRAIN_FALSE_POSITIVES: return gantry_false_positives(threshold, options);
        case TRAIN_FALSE_NEGATIVES: return gantry_false_negatives(threshold, options);
        case TRAIN_F1_SCORE: return gantry_f1_score(3, GANTRY_AVERAGE_MACRO, threshold, options);
        case TRAIN_FBETA_SCORE:
            return gantry_fbeta_score(3, 2, GANTRY_AVERAGE_MACRO, threshold, options);
        case TRAIN_COSINE_SIMILARITY: return gantry_cosine_similarity(options);
        case TRAIN_KL_DIVERGENCE: return gantry_loss_metric(GANTRY_KL_DIVERGENCE, NULL, options);
        case TRAIN_IOU: return gantry_iou(3, (const int32_t[]){1}, 1, options);
        case TRAIN_MEAN_IOU: return gantry_mean_iou(3, options);
        case TRAIN_BINARY_IOU: return gantry_binary_iou(NULL, 0, threshold, options);
        case TRAIN_ONE_HOT_IOU: return gantry_one_hot_iou(3, (const int32_t[]){0, 2}, 2, options);
        case TRAIN_ONE_HOT_MEAN_IOU: return gantry_one_hot_mean_iou(3, options);
        case TRAIN_DICE: return gantry_loss_metric(GANTRY_DICE, NULL, options);
        case TRAIN_METRIC_KINDS: break;
    }
    return NULL;
}

/* With the case's own classes, where a kind has them. */
static inline gantry_metric_t *train_metric_make_of(const train_metric_case_t *c,
                                                    const gantry_metric_options_t *options) {
    const int32_t *targets = c->target_count > 0 ? c->targets : NULL;
    switch (c->kind) {
        case TRAIN_F1_SCORE: return gantry_f1_score(c->classes, c->average, c->number, options);
        case TRAIN_FBETA_SCORE:
            return gantry_fbeta_score(c->classes, c->beta, c->average, c->number, options);
        case TRAIN_IOU: return gantry_iou(c->classes, targets, c->target_count, options);
        case TRAIN_MEAN_IOU: return gantry_mean_iou(c->classes, options);
        case TRAIN_BINARY_IOU:
            return gantry_binary_iou(targets, c->target_count, c->number, options);
        case TRAIN_ONE_HOT_IOU:
            return gantry_one_hot_iou(c->classes, targets, c->target_count, options);
        case TRAIN_ONE_HOT_MEAN_IOU: return gantry_one_hot_mean_iou(c->classes, options);
        default: return train_metric_make(c->kind, c->number, options);
    }
}

static inline gantry_metric_t *train_metric_of(const train_metric_case_t *c) {
    const gantry_metric_options_t options = {
        .struct_size = sizeof options,
        .dtype = c->dtype,
        .from_logits = c->from_logits,
        .curve = c->curve,
        .top_k = c->top_k,
        .class_id = c->has_class ? &c->class_number : NULL,
        .thresholds = c->thresholds.data,
        .threshold_count = c->thresholds.bytes / sizeof(double),
        .ignore_class = c->has_ignored ? &c->ignored : NULL,
        .dense_labels = c->dense_labels,
        .dense_predictions = c->dense_predictions,
        .sparse_predictions = c->sparse_predictions};
    gantry_metric_t *metric = train_metric_make_of(c, &options);
    if (!metric) fail_msg("%s: %s", c->name, gantry_last_message());
    return metric;
}

/* Updates a metric by one batch. */
typedef void (*train_metric_update_fn)(gantry_scope_t *scope, gantry_metric_t *metric,
                                       const train_update_t *update);

static inline void train_update_eager(gantry_scope_t *scope, gantry_metric_t *metric,
                                      const train_update_t *update) {
    (void)gantry_metric_update(metric, scope, train_make(scope, &update->labels),
                               train_make(scope, &update->predictions),
                               train_make(scope, &update->weights));
}

/* Inputs: predictions, and labels and weights where the update has them. */
typedef struct train_captured_t {
    gantry_metric_t *metric;
    bool has_labels, has_weights;
} train_captured_t;

static inline void train_update_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, void *user) {
    const train_captured_t *c = user;
    (void)gantry_metric_update(c->metric, scope, c->has_labels ? inputs[1] : NULL, inputs[0],
                               c->has_weights ? inputs[1 + c->has_labels] : NULL);
    outputs[0] = gantry_metric_result(c->metric, scope);
}

static inline void train_update_captured(gantry_scope_t *scope, gantry_metric_t *metric,
                                         const train_update_t *update) {
    train_captured_t captured = {metric, update->labels.data, update->weights.data};
    gantry_input_spec_t specs[3] = {train_spec(&update->predictions)};
    const gantry_tensor_t *inputs[3] = {train_make(scope, &update->predictions)}, *result;
    size_t count = 1;
    if (captured.has_labels) {
        specs[count] = train_spec(&update->labels);
        inputs[count++] = train_make(scope, &update->labels);
    }
    if (captured.has_weights) {
        specs[count] = train_spec(&update->weights);
        inputs[count++] = train_make(scope, &update->weights);
    }
    assert_int_equal(gantry_metric_build(metric, scope), GANTRY_OK);
    gantry_function_t *function = function_fixture_trace(
        gantry_scope_runtime(scope), train_update_body, &captured, specs, count, 1, NULL);
    function_fixture_call(scope, function, inputs, count, &result, 1);
    gantry_function_release(function);
}

/* Keras divides intersections by unions in float32. */
static inline bool train_metric_is_single(train_metric_kind_t kind) {
    return kind >= TRAIN_IOU && kind <= TRAIN_ONE_HOT_MEAN_IOU;
}

static inline void train_metric_run(gantry_runtime_t *runtime, const char *device,
                                    const train_metric_case_t *c, train_metric_update_fn update) {
    static const double single = 1e-6, twice = 1e-13;
    char name[128];
    gantry_metric_t *metric = train_metric_of(c);
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    for (int round = 0; round < 2; ++round) {
        for (size_t i = 0; i < c->update_count; ++i) {
            (void)snprintf(name, sizeof name, "%s, %s, update %zu of round %d",
                           gantry_metric_name(metric), c->name, i, round);
            update(scope, metric, &c->updates[i]);
            if (gantry_scope_status(scope) != GANTRY_OK)
                fail_msg("%s: %s", name, gantry_scope_message(scope));
            train_expect(
                name, gantry_metric_result(metric, scope), &c->updates[i].expected,
                c->dtype == GANTRY_FLOAT32 || train_metric_is_single(c->kind) ? &single : &twice);
        }
        assert_int_equal(gantry_metric_reset(metric, scope), GANTRY_OK);
    }
    expect_ended_well(scope);
    gantry_metric_release(metric);
}

/* Every case whose number is a multiple of `each`. */
static inline void train_metric_check(gantry_runtime_t *runtime, const char *device, size_t each,
                                      train_metric_update_fn update) {
    golden_file_t file;
    golden_file_open("keras/metrics.json", &file);
    for (size_t i = 0; i < file.case_count; i += each) {
        const train_metric_case_t c = train_metric_read(&file.cases[i]);
        train_metric_run(runtime, device, &c, update);
    }
    golden_free(&file);
}

#endif
