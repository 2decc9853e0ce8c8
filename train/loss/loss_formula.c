/* SPDX-License-Identifier: Apache-2.0 */
/* Keras 3's formulas, in its order of operations. Branches are Selects and not Relu and Abs, so
 * that gradients at 0 are TensorFlow's. */
#include "train/loss/loss_formula.h"

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"
#include "train/loss/fit.h"

typedef const gantry_tensor_t tensor;

/* log(2) as a float32, which Keras takes for float64, too. */
#define LOSS_LOG_2 0.693147182464599609375

static const int32_t last_axis = -1;

static gantry_reduce_options_t over_last(bool keep_dims) {
    return (gantry_reduce_options_t){.struct_size = sizeof(gantry_reduce_options_t),
                                     .axes = &last_axis,
                                     .axis_count = 1,
                                     .keep_dims = keep_dims};
}

static tensor *mean_of_last(gantry_scope_t *scope, tensor *x) {
    const gantry_reduce_options_t options = over_last(false);
    return gantry_mean(scope, x, &options);
}

static tensor *number_like(gantry_scope_t *scope, tensor *x, double value) {
    return gantry__train_constant(scope, gantry_tensor_dtype(x), value);
}

static tensor *clip_probabilities(gantry_scope_t *scope, tensor *x) {
    return gantry_clip_by_value(scope, x, number_like(scope, x, GANTRY__KERAS_EPSILON),
                                number_like(scope, x, 1 - GANTRY__KERAS_EPSILON));
}

/* labels (1 - smoothing) + share. */
static tensor *smooth_labels(gantry_scope_t *scope, tensor *labels, double smoothing,
                             double share) {
    if (smoothing <= 0) return labels;
    labels = gantry_mul(scope, labels, number_like(scope, labels, 1 - smoothing));
    return labels ? gantry_add(scope, labels, number_like(scope, labels, share)) : NULL;
}

/* A loss for each row, in the shape of the predictions without the last dimension. */
static tensor *losses_of_rows(gantry_scope_t *scope, tensor *losses, tensor *predictions) {
    gantry_shape_t shape = *gantry_tensor_shape(predictions);
    --shape.rank;
    return shape.rank == 1 ? losses : gantry_reshape(scope, losses, shape);
}

/* ---- cross-entropies ---- */

/* Converts labels to numbers that the op takes, which are int32 and int64. */
static tensor *class_numbers(gantry_scope_t *scope, tensor *labels) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(labels);
    const bool is_narrow =
        dtype == GANTRY_BOOL || (dtype != GANTRY_INT32 && gantry_dtype_size(dtype) <= 2 &&
                                 gantry__train_is_number(dtype) && !gantry__train_is_float(dtype));
    if (is_narrow) return gantry_cast(scope, labels, GANTRY_INT32);
    return dtype == GANTRY_INT32 ? labels : gantry__train_cast(scope, labels, GANTRY_INT64);
}

tensor *gantry__train_sparse_crossentropy(gantry_scope_t *scope, tensor *labels,
                                          tensor *predictions,
                                          const gantry_loss_options_t *options) {
    labels = class_numbers(scope, labels);
    if (!labels) return NULL;
    tensor *logits = gantry__train_rows(scope, predictions), *losses = NULL;
    if (!options->from_logits && logits)
        logits = gantry_log(scope, clip_probabilities(scope, logits));
    if (gantry_tensor_shape(labels)->rank != 1)
        labels = gantry_reshape(scope, labels, GANTRY_SHAPE(-1));
    (void)gantry_sparse_softmax_cross_entropy_with_logits(scope, logits, labels, &losses, NULL);
    return losses ? losses_of_rows(scope, losses, predictions) : NULL;
}

static tensor *crossentropy_of_logits(gantry_scope_t *scope, tensor *labels, tensor *logits) {
    tensor *losses = NULL;
    (void)gantry_softmax_cross_entropy_with_logits(
        scope, gantry__train_rows(scope, logits), gantry__train_rows(scope, labels), &losses, NULL);
    return losses ? losses_of_rows(scope, losses, logits) : NULL;
}

tensor *gantry__train_categorical_crossentropy(gantry_scope_t *scope, tensor *labels,
                                               tensor *predictions,
                                               const gantry_loss_options_t *options) {
    const double smoothing = options->label_smoothing;
    const gantry_reduce_options_t kept = over_last(true), gone = over_last(false);
    labels = smooth_labels(scope, labels, smoothing,
                           smoothing / (double)gantry__train_last_dim(predictions));
    if (!labels) return NULL;
    if (options->from_logits) return crossentropy_of_logits(scope, labels, predictions);
    tensor *total = gantry_sum(scope, predictions, &kept);
    tensor *shares = gantry_div(scope, predictions, total);
    if (!shares) return NULL;
    tensor *logs = gantry_log(scope, clip_probabilities(scope, shares));
    return gantry_neg(scope, gantry_sum(scope, gantry_mul(scope, labels, logs), &gone));
}

/* max(x, 0) - x y + log(1 + exp(-|x|)). */
static tensor *binary_of_logits(gantry_scope_t *scope, tensor *labels, tensor *logits) {
    tensor *zero = number_like(scope, logits, 0);
    tensor *is_positive = gantry_greater_equal(scope, logits, zero);
    tensor *positive = gantry_select(scope, is_positive, logits, zero);
    tensor *minus_abs = gantry_select(scope, is_positive, gantry_neg(scope, logits), logits);
    return gantry_add(scope, gantry_sub(scope, positive, gantry_mul(scope, logits, labels)),
                      gantry_log1p(scope, gantry_exp(scope, minus_abs)));
}

static tensor *binary_of_probabilities(gantry_scope_t *scope, tensor *labels, tensor *predictions) {
    tensor *one = number_like(scope, predictions, 1);
    tensor *p = clip_probabilities(scope, predictions);
    tensor *yes = gantry_mul(scope, labels, gantry_log(scope, p));
    tensor *no = gantry_mul(scope, gantry_sub(scope, one, labels),
                            gantry_log(scope, gantry_sub(scope, one, p)));
    return gantry_neg(scope, gantry_add(scope, yes, no));
}

tensor *gantry__train_binary_crossentropy(gantry_scope_t *scope, tensor *labels,
                                          tensor *predictions,
                                          const gantry_loss_options_t *options) {
    const double smoothing = options->label_smoothing;
    labels = smooth_labels(scope, labels, smoothing, 0.5 * smoothing);
    if (!labels) return NULL;
    return mean_of_last(scope, options->from_logits
                                   ? binary_of_logits(scope, labels, predictions)
                                   : binary_of_probabilities(scope, labels, predictions));
}

/* ---- regression ---- */

tensor *gantry__train_squared_error(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                                    const gantry_loss_options_t *options) {
    (void)options;
    return mean_of_last(scope, gantry_squared_difference(scope, labels, predictions));
}

tensor *gantry__train_absolute_error(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                                     const gantry_loss_options_t *options) {
    (void)options;
    return mean_of_last(scope, gantry_abs(scope, gantry_sub(scope, labels, predictions)));
}

tensor *gantry__train_huber(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                            const gantry_loss_options_t *options) {
    const double delta = options->delta;
    tensor *bound = number_like(scope, predictions, delta);
    tensor *half = number_like(scope, predictions, 0.5);
    tensor *error = gantry_sub(scope, predictions, labels);
    tensor *size = gantry_abs(scope, error);
    tensor *inside = gantry_mul(scope, half, gantry_square(scope, error));
    tensor *outside = gantry_sub(scope, gantry_mul(scope, bound, size),
                                 gantry_mul(scope, half, gantry_square(scope, bound)));
    return mean_of_last(
        scope, gantry_select(scope, gantry_less_equal(scope, size, bound), inside, outside));
}

/* ---- divergences and relative errors ---- */

static tensor *sum_of_last(gantry_scope_t *scope, tensor *x) {
    const gantry_reduce_options_t options = over_last(false);
    return gantry_sum(scope, x, &options);
}

static tensor *clip_to_one(gantry_scope_t *scope, tensor *x) {
    return gantry_clip_by_value(scope, x, number_like(scope, x, GANTRY__KERAS_EPSILON),
                                number_like(scope, x, 1));
}

tensor *gantry__train_kl_divergence(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                                    const gantry_loss_options_t *options) {
    (void)options;
    tensor *y = clip_to_one(scope, labels), *p = clip_to_one(scope, predictions);
    return sum_of_last(scope, gantry_mul(scope, y, gantry_log(scope, gantry_div(scope, y, p))));
}

tensor *gantry__train_poisson(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                              const gantry_loss_options_t *options) {
    (void)options;
    tensor *p =
        gantry_add(scope, predictions, number_like(scope, predictions, GANTRY__KERAS_EPSILON));
    tensor *expected = gantry_mul(scope, labels, gantry_log(scope, p));
    return mean_of_last(scope, gantry_sub(scope, predictions, expected));
}

/* x + log(1 + exp(-2 x)) - log(2). */
tensor *gantry__train_log_cosh(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                               const gantry_loss_options_t *options) {
    (void)options;
    tensor *error = gantry_sub(scope, predictions, labels);
    tensor *doubled = gantry_mul(scope, error, number_like(scope, predictions, -2));
    tensor *sum = gantry_add(scope, error, gantry_softplus(scope, doubled));
    return mean_of_last(scope, gantry_sub(scope, sum, number_like(scope, predictions, LOSS_LOG_2)));
}

tensor *gantry__train_absolute_percentage_error(gantry_scope_t *scope, tensor *labels,
                                                tensor *predictions,
                                                const gantry_loss_options_t *options) {
    (void)options;
    tensor *size = gantry_maximum(scope, gantry_abs(scope, labels),
                                  number_like(scope, labels, GANTRY__KERAS_EPSILON));
    tensor *error =
        gantry_abs(scope, gantry_div(scope, gantry_sub(scope, labels, predictions), size));
    return gantry_mul(scope, mean_of_last(scope, error), number_like(scope, labels, 100));
}

static tensor *log_of_more(gantry_scope_t *scope, tensor *x) {
    x = gantry_maximum(scope, x, number_like(scope, x, GANTRY__KERAS_EPSILON));
    return x ? gantry_log(scope, gantry_add(scope, x, number_like(scope, x, 1))) : NULL;
}

tensor *gantry__train_squared_logarithmic_error(gantry_scope_t *scope, tensor *labels,
                                                tensor *predictions,
                                                const gantry_loss_options_t *options) {
    (void)options;
    return mean_of_last(scope, gantry_squared_difference(scope, log_of_more(scope, predictions),
                                                         log_of_more(scope, labels)));
}

static tensor *direction_of(gantry_scope_t *scope, tensor *x) {
    const gantry_reduce_options_t kept = over_last(true);
    tensor *norm = gantry_rsqrt(scope, gantry_sum(scope, gantry_square(scope, x), &kept));
    return gantry_mul(
        scope, x, gantry_minimum(scope, norm, number_like(scope, x, 1 / GANTRY__KERAS_EPSILON)));
}

tensor *gantry__train_cosine_similarity(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                                        const gantry_loss_options_t *options) {
    (void)options;
    tensor *product =
        gantry_mul(scope, direction_of(scope, labels), direction_of(scope, predictions));
    return gantry_neg(scope, sum_of_last(scope, product));
}

/* ---- hinges ---- */

/* Makes -1 and 1 of 0 and 1, if there is no other label. */
static tensor *signs_of(gantry_scope_t *scope, tensor *labels) {
    tensor *one = number_like(scope, labels, 1);
    tensor *is_zero = gantry_equal(scope, labels, number_like(scope, labels, 0));
    tensor *is_binary = gantry_all(
        scope, gantry_logical_or(scope, is_zero, gantry_equal(scope, labels, one)), NULL);
    tensor *doubled = gantry_mul(scope, labels, number_like(scope, labels, 2));
    return gantry_select(scope, is_binary, gantry_sub(scope, doubled, one), labels);
}

/* max(1 - y p, 0). */
static tensor *hinges_of(gantry_scope_t *scope, tensor *labels, tensor *predictions) {
    tensor *product = gantry_mul(scope, signs_of(scope, labels), predictions);
    return gantry_maximum(scope, gantry_sub(scope, number_like(scope, predictions, 1), product),
                          number_like(scope, predictions, 0));
}

tensor *gantry__train_hinge(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                            const gantry_loss_options_t *options) {
    (void)options;
    return mean_of_last(scope, hinges_of(scope, labels, predictions));
}

tensor *gantry__train_squared_hinge(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                                    const gantry_loss_options_t *options) {
    (void)options;
    return mean_of_last(scope, gantry_square(scope, hinges_of(scope, labels, predictions)));
}

tensor *gantry__train_categorical_hinge(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                                        const gantry_loss_options_t *options) {
    (void)options;
    const gantry_reduce_options_t gone = over_last(false);
    tensor *one = number_like(scope, predictions, 1);
    tensor *positive = sum_of_last(scope, gantry_mul(scope, labels, predictions));
    tensor *others = gantry_mul(scope, gantry_sub(scope, one, labels), predictions);
    tensor *margin = gantry_sub(scope, gantry_max(scope, others, &gone), positive);
    return gantry_maximum(scope, gantry_add(scope, margin, one),
                          number_like(scope, predictions, 0));
}

/* ---- focal cross-entropies ---- */

/* (1 - x) to the power of gamma. */
static tensor *focus_of(gantry_scope_t *scope, tensor *x, double gamma) {
    if (!x) return NULL;
    return gantry_pow(scope, gantry_sub(scope, number_like(scope, x, 1), x),
                      number_like(scope, x, gamma));
}

/* a y + b (1 - y). */
static tensor *mix_by(gantry_scope_t *scope, tensor *labels, tensor *a, tensor *b) {
    tensor *others = gantry_sub(scope, number_like(scope, labels, 1), labels);
    return gantry_add(scope, gantry_mul(scope, labels, a), gantry_mul(scope, others, b));
}

tensor *gantry__train_binary_focal_crossentropy(gantry_scope_t *scope, tensor *labels,
                                                tensor *predictions,
                                                const gantry_loss_options_t *options) {
    const double smoothing = options->label_smoothing;
    labels = smooth_labels(scope, labels, smoothing, 0.5 * smoothing);
    if (!labels) return NULL;
    tensor *p = options->from_logits ? gantry_sigmoid(scope, predictions) : predictions;
    tensor *losses = options->from_logits ? binary_of_logits(scope, labels, predictions)
                                          : binary_of_probabilities(scope, labels, predictions);
    tensor *other = gantry_sub(scope, number_like(scope, predictions, 1), p);
    losses =
        gantry_mul(scope, losses, focus_of(scope, mix_by(scope, labels, p, other), options->gamma));
    if (options->balances_classes)
        losses = gantry_mul(scope, losses,
                            mix_by(scope, labels, number_like(scope, labels, options->alpha),
                                   number_like(scope, labels, 1 - options->alpha)));
    return mean_of_last(scope, losses);
}

tensor *gantry__train_categorical_focal_crossentropy(gantry_scope_t *scope, tensor *labels,
                                                     tensor *predictions,
                                                     const gantry_loss_options_t *options) {
    const double smoothing = options->label_smoothing;
    const gantry_reduce_options_t kept = over_last(true);
    labels = smooth_labels(scope, labels, smoothing,
                           smoothing / (double)gantry__train_last_dim(predictions));
    if (!labels) return NULL;
    tensor *p = options->from_logits ? gantry_softmax(scope, predictions) : predictions;
    tensor *shares = gantry_div(scope, p, gantry_sum(scope, p, &kept));
    if (!shares) return NULL;
    shares = clip_probabilities(scope, shares);
    tensor *weights = gantry_mul(scope, focus_of(scope, shares, options->gamma),
                                 number_like(scope, labels, options->alpha));
    tensor *losses = gantry_mul(scope, labels, gantry_log(scope, shares));
    return gantry_neg(scope, sum_of_last(scope, gantry_mul(scope, weights, losses)));
}

/* ---- overlaps ---- */

static bool axes_fit(gantry_scope_t *scope, tensor *predictions,
                     const gantry_loss_options_t *options) {
    const int32_t rank = gantry_tensor_shape(predictions)->rank;
    for (size_t i = 0; i < options->axis_count; ++i) {
        const int32_t axis = options->axes[i];
        if (axis >= -rank && axis < rank) continue;
        return gantry__train_refuse_bool(
            scope, "dice: axis %d of predictions of shape %s; %d to %d are accepted", (int)axis,
            gantry__train_shape_text(predictions).text, (int)-rank, (int)rank - 1);
    }
    return true;
}

tensor *gantry__train_dice(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                           const gantry_loss_options_t *options) {
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = options->axes, .axis_count = options->axis_count};
    const gantry_reduce_options_t *axes = options->axis_count > 0 ? &over : NULL;
    if (!axes_fit(scope, predictions, options)) return NULL;
    tensor *both = gantry_sum(scope, gantry_mul(scope, labels, predictions), axes);
    tensor *sum =
        gantry_add(scope, gantry_sum(scope, labels, axes), gantry_sum(scope, predictions, axes));
    if (!both || !sum) return NULL;
    tensor *share =
        gantry_div(scope, gantry_mul(scope, number_like(scope, both, 2), both),
                   gantry_add(scope, sum, number_like(scope, sum, GANTRY__KERAS_EPSILON)));
    return gantry_sub(scope, number_like(scope, both, 1), share);
}

/* ---- of the program ---- */

static tensor *call_own(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                        const gantry_loss_options_t *options) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    return options->function(scope, labels, predictions, options->user);
}

tensor *gantry__train_own_loss(gantry_scope_t *scope, tensor *labels, tensor *predictions,
                               const gantry_loss_options_t *options) {
    if (gantry_scope_lend(scope) != GANTRY_OK) return NULL;
    tensor *losses = call_own(scope, labels, predictions, options);
    gantry_scope_take_back(scope);
    if (losses && gantry__train_is_float(gantry_tensor_dtype(losses)))
        return gantry__train_cast(scope, losses, gantry_tensor_dtype(predictions));
    if (gantry_scope_status(scope) != GANTRY_OK) return NULL;
    return gantry__train_refuse_pointer(
        scope, "loss: the program's function returns %s; a tensor of a floating type is accepted",
        losses ? gantry_dtype_name(gantry_tensor_dtype(losses)) : "NULL");
}
