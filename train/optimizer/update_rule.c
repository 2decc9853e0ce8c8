/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer/update_rule.h"

const gantry_tensor_t *gantry__train_number(gantry_scope_t *scope, gantry_dtype_t dtype,
                                            double value) {
    if (dtype == GANTRY_FLOAT64)
        return gantry_constant(scope, dtype, GANTRY_SCALAR, &value, sizeof value);
    const gantry_tensor_t *number = gantry_scalar_f32(scope, (float)value);
    return dtype == GANTRY_FLOAT32 ? number : gantry_cast(scope, number, dtype);
}

const gantry_tensor_t *gantry__train_scalar(const gantry__train_step_t *step, double value) {
    return gantry__train_number(step->scope, step->scalar_dtype, value);
}

const gantry_tensor_t *gantry__train_one_minus(const gantry__train_step_t *step,
                                               const gantry_tensor_t *x) {
    return gantry_sub(step->scope, gantry__train_scalar(step, 1), x);
}

const gantry_tensor_t *gantry__train_power(const gantry__train_step_t *step, double base,
                                           double plus) {
    const gantry_tensor_t *exponent = step->step;
    if (plus > 0) exponent = gantry_add(step->scope, exponent, gantry__train_scalar(step, plus));
    return gantry_pow(step->scope, gantry__train_scalar(step, base), exponent);
}

const gantry_tensor_t *gantry__train_narrow(const gantry__train_step_t *step,
                                            const gantry_tensor_t *scalar) {
    if (step->dtype == step->scalar_dtype) return scalar;
    return gantry_cast(step->scope, scalar, step->dtype);
}

const gantry_tensor_t *gantry__train_move(gantry_scope_t *scope, const gantry_tensor_t *mean,
                                          const gantry_tensor_t *x, const gantry_tensor_t *part) {
    return gantry_add(scope, mean, gantry_mul(scope, gantry_sub(scope, x, mean), part));
}

void gantry__train_move_moments(gantry_scope_t *scope, const gantry__train_now_t *now,
                                const gantry_tensor_t *const *rests,
                                const gantry_tensor_t **new_slots) {
    new_slots[0] = gantry__train_move(scope, now->slots[0], now->gradient, rests[0]);
    new_slots[1] = gantry__train_move(scope, now->slots[1], now->sizes, rests[1]);
}

void gantry__train_scatter(gantry_scope_t *scope, const char *op, gantry_variable_t *variable,
                           const gantry_tensor_t *indices, const gantry_tensor_t *values) {
    const gantry_tensor_t *const inputs[] = {indices, values};
    (void)gantry_variable_update(scope, op, &variable, 1, inputs, 2, NULL, 0);
}
