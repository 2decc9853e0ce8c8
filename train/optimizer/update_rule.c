/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer/update_rule.h"

const gantry_tensor_t *gantry__train_number(gantry_scope_t *scope, gantry_dtype_t dtype,
                                            double value) {
    if (dtype == GANTRY_FLOAT64)
        return gantry_constant(scope, dtype, GANTRY_SCALAR, &value, sizeof value);
    const gantry_tensor_t *number = gantry_scalar_f32(scope, (float)value);
    return dtype == GANTRY_FLOAT32 ? number : gantry_cast(scope, number, dtype);
}

const gantry_tensor_t *gantry__train_scalar(const gantry__update_t *update, double value) {
    return gantry__train_number(update->scope, update->scalar_dtype, value);
}

const gantry_tensor_t *gantry__train_one_minus(const gantry__update_t *update,
                                               const gantry_tensor_t *x) {
    return gantry_sub(update->scope, gantry__train_scalar(update, 1), x);
}

const gantry_tensor_t *gantry__train_power(const gantry__update_t *update, double base,
                                           double plus) {
    const gantry_tensor_t *exponent = update->count;
    if (plus > 0)
        exponent = gantry_add(update->scope, exponent, gantry__train_scalar(update, plus));
    return gantry_pow(update->scope, gantry__train_scalar(update, base), exponent);
}

const gantry_tensor_t *gantry__train_narrow(const gantry__update_t *update,
                                            const gantry_tensor_t *scalar) {
    if (update->dtype == update->scalar_dtype) return scalar;
    return gantry_cast(update->scope, scalar, update->dtype);
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
