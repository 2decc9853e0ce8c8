/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations by the squares only: RMSNormalization, UnitNormalization. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_norm.h"

typedef const gantry_tensor_t tensor;

const gantry_tensor_t *gantry__layer_unit(gantry_scope_t *s, const gantry_tensor_t *x,
                                          const int32_t *axes, size_t count, double epsilon) {
    const gantry_reduce_options_t over = {.axes = axes, .axis_count = count, .keep_dims = true};
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    tensor *inverse = gantry_rsqrt(s, gantry_sum(s, gantry_square(s, x), &over));
    return gantry_mul(s, x,
                      gantry_minimum(s, inverse, gantry__train_constant(s, dtype, 1 / epsilon)));
}

/* ---- RMSNormalization ---- */

static gantry_status_t rms_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                 size_t input_count, void *user) {
    const gantry__norm_t *n = user;
    GANTRY__TRY(gantry__norm_find_axes(layer, inputs, input_count, GANTRY_MAX_RANK));
    if (!n->has_scale) return GANTRY_OK;
    return gantry__norm_add(layer, "scale", inputs, GANTRY_INIT_ONES, true);
}

/* Over the last axes: the op, which has the same bits. The gradient of 16-bit types is computed in
 * float32 without it. */
static tensor *rms_op(const gantry_layer_call_t *call, const gantry__norm_t *n) {
    const gantry_attr_value_t attrs[] = {
        {.name = "axis", .kind = GANTRY_ATTR_INT, .i = n->axes[0]},
        {.name = "epsilon", .kind = GANTRY_ATTR_FLOAT, .f = n->epsilon}};
    tensor *inputs[] = {call->inputs[0], call->weights[0]}, *y = NULL;
    size_t count = 1;
    (void)gantry_op_call(call->scope, "RMSNorm", inputs, 2, attrs, 2, &y, &count);
    return y;
}

/* 16-bit types are computed in float32, as in Keras. */
static tensor *rms_call(const gantry_layer_call_t *call, void *user) {
    if (!gantry__layer_has_floats(call, "RMSNormalization")) return NULL;
    const gantry__norm_t *n = user;
    gantry_scope_t *s = call->scope;
    const gantry_dtype_t given = gantry_tensor_dtype(call->inputs[0]),
                         dtype = gantry_dtype_size(given) == 2 ? GANTRY_FLOAT32 : given;
    const int32_t rank = gantry_tensor_shape(call->inputs[0])->rank;
    if (dtype == given && n->has_scale && (size_t)(rank - n->axes[0]) == n->axis_count)
        return rms_op(call, n);
    tensor *x = gantry__train_cast(s, call->inputs[0], dtype);
    const gantry_reduce_options_t over = {
        .axes = n->axes, .axis_count = n->axis_count, .keep_dims = true};
    tensor *squares = gantry_mean(s, gantry_square(s, x), &over);
    tensor *epsilon = gantry__train_constant(s, dtype, n->epsilon);
    tensor *y = gantry_mul(s, x, gantry_rsqrt(s, gantry_add(s, squares, epsilon)));
    if (n->has_scale)
        y = gantry_mul(
            s, y, gantry__train_cast(s, gantry__norm_spread(s, n, x, call->weights[0]), dtype));
    return gantry__train_cast(s, y, given);
}

gantry_layer_t *gantry_rms_normalization(const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("RMSNormalization", rms_build, rms_call);
    return gantry__norm_layer(&kind, GANTRY_MAX_RANK - 1, 1e-6, options);
}

/* ---- UnitNormalization ---- */

static gantry_status_t unit_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                  size_t input_count, void *user) {
    (void)user;
    return gantry__norm_find_axes(layer, inputs, input_count, GANTRY_MAX_RANK);
}

static tensor *unit_call(const gantry_layer_call_t *call, void *user) {
    if (!gantry__layer_has_floats(call, "UnitNormalization")) return NULL;
    const gantry__norm_t *n = user;
    return gantry__layer_unit(call->scope, call->inputs[0], n->axes, n->axis_count, n->epsilon);
}

gantry_layer_t *gantry_unit_normalization(const gantry_norm_options_t *options) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("UnitNormalization", unit_build, unit_call, .passes_masks = true);
    return gantry__norm_layer(&kind, GANTRY_MAX_RANK - 1, 1e-12, options);
}
