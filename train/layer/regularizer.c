/* SPDX-License-Identifier: Apache-2.0 */
/* Keras 3's formulas, in its order of operations. */
#include "train/layer/regularizer.h"

#include <math.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/keras.h"

typedef const gantry_tensor_t tensor;

/* ---- checks ---- */

static gantry_status_t regularizer_check_size(const char *what, const char *field, double value) {
    if (isfinite(value) && value >= 0) return GANTRY_OK;
    return gantry__train_refuse(NULL, "%s: %s is %g; a number of 0 or more is accepted", what,
                                field, value);
}

gantry_status_t gantry__regularizer_read(const gantry_regularizer_t *given, const char *what,
                                         gantry_regularizer_t *out) {
    GANTRY__TRY(gantry__struct_read(given, sizeof *out, out, sizeof *out, what));
    GANTRY__TRY(regularizer_check_size(what, "l1", out->l1));
    GANTRY__TRY(regularizer_check_size(what, "l2", out->l2));
    return regularizer_check_size(what, "orthogonal", out->orthogonal);
}

static gantry_status_t check_range(const gantry_constraint_t *c, const char *what) {
    if (c->kind == GANTRY_MIN_MAX_NORM && c->min_value > c->max_value)
        return gantry__train_refuse(
            NULL, "%s: min_value is %g; a number up to max_value, %g, is accepted", what,
            c->min_value, c->max_value);
    if (c->rate > 1)
        return gantry__train_refuse(NULL, "%s: rate is %g; a number up to 1 is accepted", what,
                                    c->rate);
    if (c->axis_count > sizeof c->axes / sizeof c->axes[0])
        return gantry__train_refuse(NULL, "%s: axis_count is %zu; up to 4 are accepted", what,
                                    c->axis_count);
    return GANTRY_OK;
}

gantry_status_t gantry__constraint_read(const gantry_constraint_t *given, const char *what,
                                        gantry_constraint_t *out) {
    GANTRY__TRY(gantry__struct_read(given, sizeof *out, out, sizeof *out, what));
    if ((unsigned)out->kind > GANTRY_MIN_MAX_NORM)
        return gantry__train_refuse(
            NULL, "%s: %d is no kind; GANTRY_CONSTRAINT_NONE to GANTRY_MIN_MAX_NORM are accepted",
            what, (int)out->kind);
    GANTRY__TRY(regularizer_check_size(what, "max_value", out->max_value));
    GANTRY__TRY(regularizer_check_size(what, "min_value", out->min_value));
    GANTRY__TRY(regularizer_check_size(what, "rate", out->rate));
    if (out->max_value <= 0) out->max_value = out->kind == GANTRY_MAX_NORM ? 2 : 1;
    if (out->rate <= 0) out->rate = 1;
    GANTRY__TRY(check_range(out, what));
    if (out->axis_count == 0) out->axes[out->axis_count++] = 0;
    return GANTRY_OK;
}

gantry_status_t gantry__constraint_fits(const gantry_constraint_t *constraint, int32_t rank,
                                        const char *what) {
    if (constraint->kind <= GANTRY_NON_NEG) return GANTRY_OK;
    for (size_t i = 0; i < constraint->axis_count; ++i) {
        if (constraint->axes[i] < -rank || constraint->axes[i] >= rank)
            return gantry__train_refuse(
                NULL, "%s: axis %d of weights of rank %d; %d to %d are accepted", what,
                (int)constraint->axes[i], (int)rank, (int)-rank, (int)rank - 1);
    }
    return GANTRY_OK;
}

/* Begins the scope of a call about weights; NULL after a failure. */
static gantry_scope_t *begin_on_weights(gantry_scope_t *scope, const char *call, const char *what,
                                        bool is_given, tensor *weights) {
    gantry_scope_t *inner = gantry__train_begin(scope, call);
    if (!inner) return NULL;
    if (!is_given || !weights) {
        (void)gantry__train_refuse(inner, "%s: the %s NULL", call, is_given ? "weights are" : what);
    } else if (!gantry__train_is_float(gantry_tensor_dtype(weights))) {
        (void)gantry__train_refuse(
            inner, "%s: weights are %s; float16, bfloat16, float32 and float64 are accepted", call,
            gantry_dtype_name(gantry_tensor_dtype(weights)));
    }
    if (gantry_scope_status(inner) == GANTRY_OK) return inner;
    (void)gantry__train_end(scope, inner, NULL);
    return NULL;
}

static tensor *hand_on_in(gantry_scope_t *scope, gantry_scope_t *inner, gantry_status_t status) {
    (void)gantry__train_hand_on(inner, status);
    return gantry__train_end(scope, inner, NULL);
}

static tensor *times(gantry_scope_t *scope, tensor *x, double number) {
    return x ? gantry_mul(scope, gantry__train_constant(scope, gantry_tensor_dtype(x), number), x)
             : NULL;
}

/* ---- regularizers ---- */

static tensor *add_loss(gantry_scope_t *scope, tensor *loss, tensor *more) {
    return loss ? gantry_add(scope, loss, more) : more;
}

/* Each pair of two different rows occurs twice among the products, so the sum is halved. */
static tensor *orthogonal_loss(gantry_scope_t *scope, const gantry_regularizer_t *r, tensor *w) {
    const gantry_shape_t *shape = gantry_tensor_shape(w);
    const gantry_dtype_t dtype = gantry_tensor_dtype(w);
    const int32_t axis = r->orthogonal_columns ? 0 : 1;
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = &axis, .axis_count = 1, .keep_dims = true};
    const gantry_matmul_options_t product = {.struct_size = sizeof product,
                                             .transpose_a = r->orthogonal_columns,
                                             .transpose_b = !r->orthogonal_columns};
    if (shape->rank != 2)
        return gantry__train_refuse_pointer(
            scope, "an orthogonal regularizer takes rank 2; the rank is %d", (int)shape->rank);
    const int64_t size = shape->dims[r->orthogonal_columns ? 1 : 0];
    const double pairs = (double)size * ((double)size - 1) / 2;
    tensor *inverse = gantry_minimum(
        scope, gantry_rsqrt(scope, gantry_sum(scope, gantry_square(scope, w), &over)),
        gantry__train_constant(scope, dtype, 1 / GANTRY__KERAS_EPSILON));
    tensor *unit = gantry_mul(scope, w, inverse);
    tensor *others = gantry_mul(scope, gantry_matmul(scope, unit, unit, &product),
                                gantry_sub(scope, gantry__train_constant(scope, dtype, 1),
                                           gantry_eye(scope, size, size, dtype)));
    return gantry_div(
        scope, times(scope, gantry_sum(scope, gantry_abs(scope, others), NULL), r->orthogonal / 2),
        gantry__train_constant(scope, dtype, pairs));
}

static tensor *size_loss(gantry_scope_t *scope, const gantry_regularizer_t *r, tensor *w) {
    tensor *loss = NULL;
    if (r->l1 > 0) loss = times(scope, gantry_sum(scope, gantry_abs(scope, w), NULL), r->l1);
    if (r->l2 > 0) {
        tensor *squares = times(scope, gantry_sum(scope, gantry_square(scope, w), NULL), r->l2);
        loss = add_loss(scope, loss, squares);
    }
    if (r->orthogonal > 0) loss = add_loss(scope, loss, orthogonal_loss(scope, r, w));
    return gantry__regularizes(r) ? loss : gantry__train_constant(scope, gantry_tensor_dtype(w), 0);
}

tensor *gantry_regularizer_loss(gantry_scope_t *scope, const gantry_regularizer_t *regularizer,
                                tensor *weights) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const char call[] = "gantry_regularizer_loss";
    gantry_regularizer_t read;
    gantry_scope_t *inner =
        begin_on_weights(scope, call, "regularizer is", regularizer != NULL, weights);
    if (!inner) return NULL;
    const gantry_status_t status = gantry__regularizer_read(regularizer, call, &read);
    if (status != GANTRY_OK) return hand_on_in(scope, inner, status);
    return gantry__train_end(scope, inner, size_loss(inner, &read, weights));
}

/* ---- constraints ---- */

static tensor *norms_of(gantry_scope_t *scope, const gantry_constraint_t *c, tensor *w) {
    const gantry_reduce_options_t options = {.struct_size = sizeof options,
                                             .axes = c->axes,
                                             .axis_count = c->axis_count,
                                             .keep_dims = true};
    return gantry_sqrt(scope, gantry_sum(scope, gantry_square(scope, w), &options));
}

static tensor *bounded_norms(gantry_scope_t *scope, const gantry_constraint_t *c, tensor *norms) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(norms);
    const bool has_least = c->kind == GANTRY_MIN_MAX_NORM;
    tensor *clipped = gantry_clip_by_value(
        scope, norms, gantry__train_constant(scope, dtype, has_least ? c->min_value : 0),
        gantry__train_constant(scope, dtype, c->max_value));
    if (!has_least) return clipped;
    return gantry_add(scope, times(scope, clipped, c->rate), times(scope, norms, 1 - c->rate));
}

static tensor *constrained(gantry_scope_t *scope, const gantry_constraint_t *c, tensor *w) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(w);
    if (c->kind == GANTRY_CONSTRAINT_NONE) return gantry_identity(scope, w);
    if (c->kind == GANTRY_NON_NEG)
        return gantry_maximum(scope, w, gantry__train_constant(scope, dtype, 0));
    tensor *norms = norms_of(scope, c, w);
    if (!norms) return NULL;
    tensor *divisor =
        gantry_add(scope, gantry__train_constant(scope, dtype, GANTRY__KERAS_EPSILON), norms);
    if (c->kind == GANTRY_UNIT_NORM) return gantry_div(scope, w, divisor);
    return gantry_mul(scope, w, gantry_div(scope, bounded_norms(scope, c, norms), divisor));
}

tensor *gantry_constrain(gantry_scope_t *scope, const gantry_constraint_t *constraint,
                         tensor *weights) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const char call[] = "gantry_constrain";
    gantry_constraint_t read;
    gantry_scope_t *inner =
        begin_on_weights(scope, call, "constraint is", constraint != NULL, weights);
    if (!inner) return NULL;
    gantry_status_t status = gantry__constraint_read(constraint, call, &read);
    if (status == GANTRY_OK)
        status = gantry__constraint_fits(&read, gantry_tensor_shape(weights)->rank, call);
    if (status != GANTRY_OK) return hand_on_in(scope, inner, status);
    return gantry__train_end(scope, inner, constrained(inner, &read, weights));
}
