/* SPDX-License-Identifier: Apache-2.0 */
/* A loss: its options and tensors checked, its formula (loss_formula.h), weights, reduction. */
#include <gantry_train/loss.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/loss/fit.h"
#include "train/loss/loss_formula.h"

typedef const gantry_tensor_t tensor;

/* The labels that a formula takes. */
typedef enum { LABELS_DENSE, LABELS_ROWS, LABELS_ANY } labels_t;

static const struct {
    const char *name, *constant;
    gantry__train_formula_fn *formula;
    labels_t labels;
} loss_rows[] = {
#define GANTRY__TRAIN_LOSS(loss, text, function, labels) \
    [GANTRY_##loss] = {text, "GANTRY_" #loss, gantry__train_##function, LABELS_##labels},
#include "train/loss/losses.def"
#undef GANTRY__TRAIN_LOSS
};

enum { LOSS_COUNT = sizeof loss_rows / sizeof loss_rows[0] };

static bool loss_exists(gantry_loss_t loss) {
    return (size_t)loss < LOSS_COUNT && loss_rows[loss].name;
}

const char *gantry_loss_name(gantry_loss_t loss) {
    return loss_exists(loss) ? loss_rows[loss].name : "";
}

/* ---- checks ---- */

static bool loss_smooths(gantry_loss_t loss) {
    return loss == GANTRY_CATEGORICAL_CROSSENTROPY || loss == GANTRY_BINARY_CROSSENTROPY ||
           loss == GANTRY_CATEGORICAL_FOCAL_CROSSENTROPY ||
           loss == GANTRY_BINARY_FOCAL_CROSSENTROPY;
}

static gantry_status_t loss_check_numbers(gantry_loss_t loss,
                                          const gantry_loss_options_t *options) {
    const double smoothing = options->label_smoothing;
    const bool smooths = loss_smooths(loss);
    if (!(smoothing >= 0 && smoothing <= (smooths ? 1 : 0)))
        return gantry__train_refuse(NULL, "%s: label_smoothing is %g; %s is accepted",
                                    loss_rows[loss].name, smoothing, smooths ? "0 to 1" : "0");
    if (!(options->delta >= 0))
        return gantry__train_refuse(NULL,
                                    "%s: delta is %g; a number above 0, or 0 for 1, is accepted",
                                    loss_rows[loss].name, options->delta);
    if (!(options->gamma >= 0 && options->gamma < 1e100))
        return gantry__train_refuse(NULL,
                                    "%s: gamma is %g; a number above 0, or 0 for 2, is accepted",
                                    loss_rows[loss].name, options->gamma);
    if (!(options->alpha >= 0 && options->alpha <= 1))
        return gantry__train_refuse(
            NULL, "%s: alpha is %g; a number above 0, up to 1, or 0 for 0.25, is accepted",
            loss_rows[loss].name, options->alpha);
    return GANTRY_OK;
}

static gantry_status_t loss_check_axes(gantry_loss_t loss, const gantry_loss_options_t *options) {
    const size_t most = loss == GANTRY_DICE ? GANTRY_MAX_RANK : 0;
    if (options->axis_count <= most) return GANTRY_OK;
    return gantry__train_refuse(NULL, "%s: axis_count is %zu; %s is accepted", loss_rows[loss].name,
                                options->axis_count, most > 0 ? "0 to 8" : "0");
}

gantry_status_t gantry__train_loss_function(gantry_loss_t loss,
                                            const gantry_loss_options_t *options) {
    if ((loss == GANTRY_OWN_LOSS) == (options->function != NULL)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL, "%s: function is %s; %s is accepted", loss_rows[loss].name,
        options->function ? "given" : "NULL",
        options->function ? "GANTRY_OWN_LOSS with a function, and another loss without one,"
                          : "the function of GANTRY_OWN_LOSS");
}

gantry_status_t gantry__train_loss_options(gantry_loss_t loss, const gantry_loss_options_t *given,
                                           gantry_loss_options_t *out) {
    if (!loss_exists(loss))
        return gantry__train_refuse(
            NULL,
            "gantry_loss: %d is no loss; GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY to %s are accepted",
            (int)loss, loss_rows[LOSS_COUNT - 1].constant);
    GANTRY__TRY(gantry__struct_read(given, sizeof *out, out, sizeof *out, "gantry_loss: options"));
    if ((unsigned)out->reduction > GANTRY_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT)
        return gantry__train_refuse(
            NULL,
            "%s: %d is no reduction; GANTRY_REDUCTION_SUM_OVER_BATCH_SIZE, ..._SUM, ..._NONE and ..._MEAN_WITH_SAMPLE_WEIGHT are accepted",
            loss_rows[loss].name, (int)out->reduction);
    GANTRY__TRY(loss_check_numbers(loss, out));
    GANTRY__TRY(loss_check_axes(loss, out));
    GANTRY__TRY(gantry__train_loss_function(loss, out));
    if (out->delta <= 0) out->delta = 1;
    if (out->gamma <= 0) out->gamma = 2;
    if (out->alpha <= 0) out->alpha = 0.25;
    return GANTRY_OK;
}

static bool loss_check_tensors(gantry_scope_t *scope, const char *name, tensor *labels,
                               tensor *predictions) {
    if (!gantry__train_is_given(scope, name, "labels", labels) ||
        !gantry__train_is_given(scope, name, "predictions", predictions))
        return false;
    if (!gantry__train_is_float(gantry_tensor_dtype(predictions)))
        return gantry__train_refuse_bool(
            scope, "%s: predictions are %s; float16, bfloat16, float32 and float64 are accepted",
            name, gantry_dtype_name(gantry_tensor_dtype(predictions)));
    if (gantry_tensor_shape(predictions)->rank > 0) return true;
    return gantry__train_refuse_bool(
        scope, "%s: predictions are a scalar; one dimension or more is accepted", name);
}

static bool loss_check_type(gantry_scope_t *scope, const char *name, const char *what, tensor *x) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    if ((GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_COMPLEXES) == 0) return true;
    return gantry__train_refuse_bool(scope, "%s: %s are %s; real numbers and bool are accepted",
                                     name, what, gantry_dtype_name(dtype));
}

/* ---- weights and reduction ---- */

static tensor *loss_weigh(gantry_scope_t *scope, const char *name, tensor *losses,
                          tensor **weights) {
    if (!losses || !*weights) return losses;
    if (!loss_check_type(scope, name, "sample_weights", *weights)) return NULL;
    *weights = gantry__train_cast(scope, *weights, gantry_tensor_dtype(losses));
    if (*weights) gantry__train_fit_ranks(scope, &losses, weights, true);
    if (!losses || !*weights) return NULL;
    if (gantry__train_broadcasts(losses, *weights)) return gantry_mul(scope, losses, *weights);
    return gantry__train_refuse_pointer(
        scope,
        "%s: sample_weights of shape %s do not fit losses of shape %s; a shape that broadcasts is accepted",
        name, gantry__train_shape_text(*weights).text, gantry__train_shape_text(losses).text);
}

/* The sum divided by the number of losses. */
static tensor *loss_mean(gantry_scope_t *scope, tensor *losses) {
    const int64_t count = gantry_tensor_elements(losses);
    const gantry_dtype_t dtype = gantry_tensor_dtype(losses);
    tensor *sum = gantry_sum(scope, losses, NULL);
    if (count == 0) return sum;
    if (count > 0)
        return gantry_div(scope, sum, gantry__train_constant(scope, dtype, (double)count));
    tensor *open_count = gantry_size(scope, losses, GANTRY_INT64);
    return gantry_div_no_nan(scope, sum, gantry_cast(scope, open_count, dtype));
}

static tensor *loss_reduce(gantry_scope_t *scope, tensor *losses, tensor *weights,
                           gantry_reduction_t reduction) {
    if (!losses || reduction == GANTRY_REDUCTION_NONE || gantry_tensor_shape(losses)->rank == 0)
        return losses;
    if (reduction == GANTRY_REDUCTION_SUM) return gantry_sum(scope, losses, NULL);
    if (reduction == GANTRY_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT && weights)
        return gantry_div_no_nan(scope, gantry_sum(scope, losses, NULL),
                                 gantry_sum(scope, weights, NULL));
    return loss_mean(scope, losses);
}

/* ---- the call ---- */

/* The labels as the formula takes them; NULL after a refusal. */
static tensor *loss_labels(gantry_scope_t *scope, gantry_loss_t loss, tensor *labels,
                           tensor *predictions) {
    const char *name = loss_rows[loss].name;
    if (!labels || !predictions || loss_rows[loss].labels == LABELS_ANY) return labels;
    if (!loss_check_type(scope, name, "labels", labels)) return NULL;
    if (loss_rows[loss].labels == LABELS_ROWS)
        return gantry__train_row_labels(scope, name, labels, predictions);
    if (!gantry__train_same_shape(scope, name, labels, predictions)) return NULL;
    return gantry__train_cast(scope, labels, gantry_tensor_dtype(predictions));
}

static tensor *loss_compute(gantry_scope_t *scope, gantry_loss_t loss, tensor *labels,
                            tensor *predictions, const gantry_loss_options_t *options) {
    const char *name = loss_rows[loss].name;
    tensor *weights = options->sample_weights;
    if (!loss_check_tensors(scope, name, labels, predictions)) return NULL;
    gantry__train_fit_ranks(scope, &labels, &predictions, true);
    labels = loss_labels(scope, loss, labels, predictions);
    if (!labels || !predictions) return NULL;
    tensor *losses = loss_rows[loss].formula(scope, labels, predictions, options);
    losses = loss_weigh(scope, name, losses, &weights);
    return loss_reduce(scope, losses, weights, options->reduction);
}

tensor *gantry_loss(gantry_scope_t *scope, gantry_loss_t loss, tensor *labels, tensor *predictions,
                    const gantry_loss_options_t *options) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_loss_options_t read;
    gantry_scope_t *inner = gantry__train_begin(scope, "gantry_loss");
    if (!inner) return NULL;
    gantry_status_t status = gantry__train_loss_options(loss, options, &read);
    if (status != GANTRY_OK) {
        (void)gantry__train_hand_on(inner, status);
        return gantry__train_end(scope, inner, NULL);
    }
    return gantry__train_end(scope, inner, loss_compute(inner, loss, labels, predictions, &read));
}
