/* SPDX-License-Identifier: Apache-2.0 */
/* Keras 3's formulas, in its order of operations. Branches are Selects and not Relu and Abs, so
 * that gradients at 0 are TensorFlow's. */
#include "train/loss/loss_formula.h"

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"
#include "train/loss/fit.h"

/* log(2) as a float32, which Keras takes for float64, too. */
#define LOSS_LOG_2 0.693147182464599609375

static const int32_t last_axis = -1;

static gantry_reduce_options_t over_last(bool keep_dims) {
    return (gantry_reduce_options_t){.struct_size = sizeof(gantry_reduce_options_t),
                                     .axes = &last_axis,
                                     .axis_count = 1,
                                     .keep_dims = keep_dims};
}

static const gantry_tensor_t *mean_of_last(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_reduce_options_t options = over_last(false);
    return gantry_mean(scope, x, &options);
}

static const gantry_tensor_t *number_like(gantry_scope_t *scope, const gantry_tensor_t *x,
                                          double value) {
    return gantry__train_constant(scope, gantry_tensor_dtype(x), value);
}

static const gantry_tensor_t *clip_probabilities(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_clip_by_value(scope, x, number_like(scope, x, GANTRY__KERAS_EPSILON),
                                number_like(scope, x, 1 - GANTRY__KERAS_EPSILON));
}

/* Labels of the predictions' shape, in their type; NULL after a refusal. */
static const gantry_tensor_t *dense_labels(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    if (!gantry__train_same_shape(scope, c->name, c->labels, c->predictions)) return NULL;
    return gantry__train_cast(scope, c->labels, gantry_tensor_dtype(c->predictions));
}

/* labels (1 - smoothing) + share. */
static const gantry_tensor_t *smooth_labels(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                            double smoothing, double share) {
    if (smoothing <= 0) return labels;
    labels = gantry_mul(scope, labels, number_like(scope, labels, 1 - smoothing));
    return labels ? gantry_add(scope, labels, number_like(scope, labels, share)) : NULL;
}

/* A loss for each row, in the shape of the predictions without the last dimension. */
static const gantry_tensor_t *losses_of_rows(gantry_scope_t *scope, const gantry_tensor_t *losses,
                                             const gantry_tensor_t *predictions) {
    gantry_shape_t shape = *gantry_tensor_shape(predictions);
    --shape.rank;
    return shape.rank == 1 ? losses : gantry_reshape(scope, losses, shape);
}

/* ---- cross-entropies ---- */

/* Converts labels to numbers that the op takes, which are int32 and int64. */
static const gantry_tensor_t *class_numbers(gantry_scope_t *scope, const gantry_tensor_t *labels) {
    if (!labels) return NULL;
    const gantry_dtype_t dtype = gantry_tensor_dtype(labels);
    const bool is_narrow =
        dtype == GANTRY_BOOL || (dtype != GANTRY_INT32 && gantry_dtype_size(dtype) <= 2 &&
                                 gantry__train_is_number(dtype) && !gantry__train_is_float(dtype));
    if (is_narrow) return gantry_cast(scope, labels, GANTRY_INT32);
    return dtype == GANTRY_INT32 ? labels : gantry__train_cast(scope, labels, GANTRY_INT64);
}

const gantry_tensor_t *gantry__train_sparse_crossentropy(gantry_scope_t *scope,
                                                         const gantry__loss_call_t *c) {
    const gantry_tensor_t *predictions = c->predictions;
    const gantry_tensor_t *labels =
        class_numbers(scope, gantry__train_row_labels(scope, c->name, c->labels, predictions));
    if (!labels) return NULL;
    const gantry_tensor_t *logits = gantry__train_rows(scope, predictions), *losses = NULL;
    if (!c->options->from_logits && logits)
        logits = gantry_log(scope, clip_probabilities(scope, logits));
    if (gantry_tensor_shape(labels)->rank != 1)
        labels = gantry_reshape(scope, labels, GANTRY_SHAPE(-1));
    (void)gantry_sparse_softmax_cross_entropy_with_logits(scope, logits, labels, &losses, NULL);
    return losses ? losses_of_rows(scope, losses, predictions) : NULL;
}

static const gantry_tensor_t *crossentropy_of_logits(gantry_scope_t *scope,
                                                     const gantry_tensor_t *labels,
                                                     const gantry_tensor_t *logits) {
    const gantry_tensor_t *losses = NULL;
    (void)gantry_softmax_cross_entropy_with_logits(
        scope, gantry__train_rows(scope, logits), gantry__train_rows(scope, labels), &losses, NULL);
    return losses ? losses_of_rows(scope, losses, logits) : NULL;
}

const gantry_tensor_t *gantry__train_categorical_crossentropy(gantry_scope_t *scope,
                                                              const gantry__loss_call_t *c) {
    const double smoothing = c->options->label_smoothing;
    const gantry_reduce_options_t kept = over_last(true), gone = over_last(false);
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (labels)
        labels = smooth_labels(scope, labels, smoothing,
                               smoothing / (double)gantry__train_last_dim(predictions));
    if (!labels) return NULL;
    if (c->options->from_logits) return crossentropy_of_logits(scope, labels, predictions);
    const gantry_tensor_t *total = gantry_sum(scope, predictions, &kept);
    const gantry_tensor_t *shares = gantry_div(scope, predictions, total);
    if (!shares) return NULL;
    const gantry_tensor_t *logs = gantry_log(scope, clip_probabilities(scope, shares));
    return gantry_neg(scope, gantry_sum(scope, gantry_mul(scope, labels, logs), &gone));
}

/* max(x, 0) - x y + log(1 + exp(-|x|)). */
static const gantry_tensor_t *binary_of_logits(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                               const gantry_tensor_t *logits) {
    const gantry_tensor_t *zero = number_like(scope, logits, 0);
    const gantry_tensor_t *is_positive = gantry_greater_equal(scope, logits, zero);
    const gantry_tensor_t *positive = gantry_select(scope, is_positive, logits, zero);
    const gantry_tensor_t *minus_abs =
        gantry_select(scope, is_positive, gantry_neg(scope, logits), logits);
    return gantry_add(scope, gantry_sub(scope, positive, gantry_mul(scope, logits, labels)),
                      gantry_log1p(scope, gantry_exp(scope, minus_abs)));
}

static const gantry_tensor_t *binary_of_probabilities(gantry_scope_t *scope,
                                                      const gantry_tensor_t *labels,
                                                      const gantry_tensor_t *predictions) {
    const gantry_tensor_t *one = number_like(scope, predictions, 1);
    const gantry_tensor_t *p = clip_probabilities(scope, predictions);
    const gantry_tensor_t *yes = gantry_mul(scope, labels, gantry_log(scope, p));
    const gantry_tensor_t *no = gantry_mul(scope, gantry_sub(scope, one, labels),
                                           gantry_log(scope, gantry_sub(scope, one, p)));
    return gantry_neg(scope, gantry_add(scope, yes, no));
}

const gantry_tensor_t *gantry__train_binary_crossentropy(gantry_scope_t *scope,
                                                         const gantry__loss_call_t *c) {
    const double smoothing = c->options->label_smoothing;
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (labels) labels = smooth_labels(scope, labels, smoothing, 0.5 * smoothing);
    if (!labels) return NULL;
    return mean_of_last(scope, c->options->from_logits
                                   ? binary_of_logits(scope, labels, predictions)
                                   : binary_of_probabilities(scope, labels, predictions));
}

/* ---- regression ---- */

const gantry_tensor_t *gantry__train_squared_error(gantry_scope_t *scope,
                                                   const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    return mean_of_last(scope, gantry_squared_difference(scope, labels, predictions));
}

const gantry_tensor_t *gantry__train_absolute_error(gantry_scope_t *scope,
                                                    const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    return mean_of_last(scope, gantry_abs(scope, gantry_sub(scope, labels, predictions)));
}

const gantry_tensor_t *gantry__train_huber(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    const double delta = c->options->delta;
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_tensor_t *bound = number_like(scope, predictions, delta);
    const gantry_tensor_t *half = number_like(scope, predictions, 0.5);
    const gantry_tensor_t *error = gantry_sub(scope, predictions, labels);
    const gantry_tensor_t *size = gantry_abs(scope, error);
    const gantry_tensor_t *inside = gantry_mul(scope, half, gantry_square(scope, error));
    const gantry_tensor_t *outside =
        gantry_sub(scope, gantry_mul(scope, bound, size),
                   gantry_mul(scope, half, gantry_square(scope, bound)));
    return mean_of_last(
        scope, gantry_select(scope, gantry_less_equal(scope, size, bound), inside, outside));
}

/* ---- divergences and relative errors ---- */

static const gantry_tensor_t *sum_of_last(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_reduce_options_t options = over_last(false);
    return gantry_sum(scope, x, &options);
}

static const gantry_tensor_t *clip_to_one(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_clip_by_value(scope, x, number_like(scope, x, GANTRY__KERAS_EPSILON),
                                number_like(scope, x, 1));
}

const gantry_tensor_t *gantry__train_kl_divergence(gantry_scope_t *scope,
                                                   const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_tensor_t *y = clip_to_one(scope, labels), *p = clip_to_one(scope, predictions);
    return sum_of_last(scope, gantry_mul(scope, y, gantry_log(scope, gantry_div(scope, y, p))));
}

const gantry_tensor_t *gantry__train_poisson(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_tensor_t *p =
        gantry_add(scope, predictions, number_like(scope, predictions, GANTRY__KERAS_EPSILON));
    const gantry_tensor_t *expected = gantry_mul(scope, labels, gantry_log(scope, p));
    return mean_of_last(scope, gantry_sub(scope, predictions, expected));
}

/* x + log(1 + exp(-2 x)) - log(2). */
const gantry_tensor_t *gantry__train_log_cosh(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_tensor_t *error = gantry_sub(scope, predictions, labels);
    const gantry_tensor_t *doubled = gantry_mul(scope, error, number_like(scope, predictions, -2));
    const gantry_tensor_t *sum = gantry_add(scope, error, gantry_softplus(scope, doubled));
    return mean_of_last(scope, gantry_sub(scope, sum, number_like(scope, predictions, LOSS_LOG_2)));
}

const gantry_tensor_t *gantry__train_absolute_percentage_error(gantry_scope_t *scope,
                                                               const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_tensor_t *size = gantry_maximum(scope, gantry_abs(scope, labels),
                                                 number_like(scope, labels, GANTRY__KERAS_EPSILON));
    const gantry_tensor_t *error =
        gantry_abs(scope, gantry_div(scope, gantry_sub(scope, labels, predictions), size));
    return gantry_mul(scope, mean_of_last(scope, error), number_like(scope, labels, 100));
}

static const gantry_tensor_t *log_of_more(gantry_scope_t *scope, const gantry_tensor_t *x) {
    x = gantry_maximum(scope, x, number_like(scope, x, GANTRY__KERAS_EPSILON));
    return x ? gantry_log(scope, gantry_add(scope, x, number_like(scope, x, 1))) : NULL;
}

const gantry_tensor_t *gantry__train_squared_logarithmic_error(gantry_scope_t *scope,
                                                               const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    return mean_of_last(scope, gantry_squared_difference(scope, log_of_more(scope, predictions),
                                                         log_of_more(scope, labels)));
}

static const gantry_tensor_t *direction_of(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_reduce_options_t kept = over_last(true);
    const gantry_tensor_t *norm =
        gantry_rsqrt(scope, gantry_sum(scope, gantry_square(scope, x), &kept));
    return gantry_mul(
        scope, x, gantry_minimum(scope, norm, number_like(scope, x, 1 / GANTRY__KERAS_EPSILON)));
}

const gantry_tensor_t *gantry__train_cosine_similarity(gantry_scope_t *scope,
                                                       const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_tensor_t *product =
        gantry_mul(scope, direction_of(scope, labels), direction_of(scope, predictions));
    return gantry_neg(scope, sum_of_last(scope, product));
}

/* ---- hinges ---- */

/* Makes -1 and 1 of 0 and 1, if there is no other label. */
static const gantry_tensor_t *signs_of(gantry_scope_t *scope, const gantry_tensor_t *labels) {
    const gantry_tensor_t *one = number_like(scope, labels, 1);
    const gantry_tensor_t *is_zero = gantry_equal(scope, labels, number_like(scope, labels, 0));
    const gantry_tensor_t *is_binary = gantry_all(
        scope, gantry_logical_or(scope, is_zero, gantry_equal(scope, labels, one)), NULL);
    const gantry_tensor_t *doubled = gantry_mul(scope, labels, number_like(scope, labels, 2));
    return gantry_select(scope, is_binary, gantry_sub(scope, doubled, one), labels);
}

/* max(1 - y p, 0). */
static const gantry_tensor_t *hinges_of(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                        const gantry_tensor_t *predictions) {
    const gantry_tensor_t *product = gantry_mul(scope, signs_of(scope, labels), predictions);
    return gantry_maximum(scope, gantry_sub(scope, number_like(scope, predictions, 1), product),
                          number_like(scope, predictions, 0));
}

const gantry_tensor_t *gantry__train_hinge(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    return mean_of_last(scope, hinges_of(scope, labels, predictions));
}

const gantry_tensor_t *gantry__train_squared_hinge(gantry_scope_t *scope,
                                                   const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    return mean_of_last(scope, gantry_square(scope, hinges_of(scope, labels, predictions)));
}

const gantry_tensor_t *gantry__train_categorical_hinge(gantry_scope_t *scope,
                                                       const gantry__loss_call_t *c) {
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (!labels) return NULL;
    const gantry_reduce_options_t gone = over_last(false);
    const gantry_tensor_t *one = number_like(scope, predictions, 1);
    const gantry_tensor_t *positive = sum_of_last(scope, gantry_mul(scope, labels, predictions));
    const gantry_tensor_t *others = gantry_mul(scope, gantry_sub(scope, one, labels), predictions);
    const gantry_tensor_t *margin = gantry_sub(scope, gantry_max(scope, others, &gone), positive);
    return gantry_maximum(scope, gantry_add(scope, margin, one),
                          number_like(scope, predictions, 0));
}

/* ---- focal cross-entropies ---- */

/* (1 - x) to the power of gamma. */
static const gantry_tensor_t *focus_of(gantry_scope_t *scope, const gantry_tensor_t *x,
                                       double gamma) {
    if (!x) return NULL;
    return gantry_pow(scope, gantry_sub(scope, number_like(scope, x, 1), x),
                      number_like(scope, x, gamma));
}

/* a y + b (1 - y). */
static const gantry_tensor_t *mix_by(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                     const gantry_tensor_t *a, const gantry_tensor_t *b) {
    const gantry_tensor_t *others = gantry_sub(scope, number_like(scope, labels, 1), labels);
    return gantry_add(scope, gantry_mul(scope, labels, a), gantry_mul(scope, others, b));
}

const gantry_tensor_t *gantry__train_binary_focal_crossentropy(gantry_scope_t *scope,
                                                               const gantry__loss_call_t *c) {
    const double smoothing = c->options->label_smoothing;
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (labels) labels = smooth_labels(scope, labels, smoothing, 0.5 * smoothing);
    if (!labels) return NULL;
    const gantry_tensor_t *p =
        c->options->from_logits ? gantry_sigmoid(scope, predictions) : predictions;
    const gantry_tensor_t *losses = c->options->from_logits
                                        ? binary_of_logits(scope, labels, predictions)
                                        : binary_of_probabilities(scope, labels, predictions);
    const gantry_tensor_t *other = gantry_sub(scope, number_like(scope, predictions, 1), p);
    losses = gantry_mul(scope, losses,
                        focus_of(scope, mix_by(scope, labels, p, other), c->options->gamma));
    if (c->options->balances_classes)
        losses = gantry_mul(scope, losses,
                            mix_by(scope, labels, number_like(scope, labels, c->options->alpha),
                                   number_like(scope, labels, 1 - c->options->alpha)));
    return mean_of_last(scope, losses);
}

const gantry_tensor_t *gantry__train_categorical_focal_crossentropy(gantry_scope_t *scope,
                                                                    const gantry__loss_call_t *c) {
    const double smoothing = c->options->label_smoothing;
    const gantry_reduce_options_t kept = over_last(true);
    const gantry_tensor_t *labels = dense_labels(scope, c), *predictions = c->predictions;
    if (labels)
        labels = smooth_labels(scope, labels, smoothing,
                               smoothing / (double)gantry__train_last_dim(predictions));
    if (!labels) return NULL;
    const gantry_tensor_t *p =
        c->options->from_logits ? gantry_softmax(scope, predictions) : predictions;
    const gantry_tensor_t *shares = gantry_div(scope, p, gantry_sum(scope, p, &kept));
    if (!shares) return NULL;
    shares = clip_probabilities(scope, shares);
    const gantry_tensor_t *weights = gantry_mul(scope, focus_of(scope, shares, c->options->gamma),
                                                number_like(scope, labels, c->options->alpha));
    const gantry_tensor_t *losses = gantry_mul(scope, labels, gantry_log(scope, shares));
    return gantry_neg(scope, sum_of_last(scope, gantry_mul(scope, weights, losses)));
}

/* ---- of the program ---- */

static const gantry_tensor_t *call_own(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    return c->options->function(scope, c->labels, c->predictions, c->options->user);
}

const gantry_tensor_t *gantry__train_own_loss(gantry_scope_t *scope, const gantry__loss_call_t *c) {
    if (gantry_scope_lend(scope) != GANTRY_OK) return NULL;
    const gantry_tensor_t *losses = call_own(scope, c);
    gantry_scope_take_back(scope);
    if (losses && gantry__train_is_float(gantry_tensor_dtype(losses)))
        return gantry__train_cast(scope, losses, gantry_tensor_dtype(c->predictions));
    if (gantry_scope_status(scope) != GANTRY_OK) return NULL;
    (void)gantry__train_refuse(
        scope, "%s: the program's function returns %s; a tensor of a floating type is accepted",
        c->name, losses ? gantry_dtype_name(gantry_tensor_dtype(losses)) : "NULL");
    return NULL;
}
