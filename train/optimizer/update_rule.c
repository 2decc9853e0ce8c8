/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

tensor *gantry__train_number(gantry_scope_t *scope, gantry_dtype_t dtype, double value) {
    if (dtype == GANTRY_FLOAT64)
        return gantry_constant(scope, dtype, GANTRY_SCALAR, &value, sizeof value);
    tensor *number = gantry_scalar_f32(scope, (float)value);
    return dtype == GANTRY_FLOAT32 ? number : gantry_cast(scope, number, dtype);
}

tensor *gantry__train_scalar(const gantry__update_t *update, double value) {
    return gantry__train_number(update->scope, update->scalar_dtype, value);
}

tensor *gantry__train_one_minus(const gantry__update_t *update, tensor *x) {
    return gantry_sub(update->scope, gantry__train_scalar(update, 1), x);
}

tensor *gantry__train_power(const gantry__update_t *update, double base, double plus) {
    tensor *exponent = update->count;
    if (plus > 0)
        exponent = gantry_add(update->scope, exponent, gantry__train_scalar(update, plus));
    return gantry_pow(update->scope, gantry__train_scalar(update, base), exponent);
}

tensor *gantry__train_narrow(const gantry__update_t *update, tensor *scalar) {
    if (update->dtype == update->scalar_dtype) return scalar;
    return gantry_cast(update->scope, scalar, update->dtype);
}

tensor *gantry__train_move(gantry_scope_t *scope, tensor *mean, tensor *x, tensor *part) {
    return gantry_add(scope, mean, gantry_mul(scope, gantry_sub(scope, x, mean), part));
}

tensor *gantry__train_decay(gantry_scope_t *scope, tensor *mean, tensor *x, tensor *const *parts) {
    return gantry_add(scope, gantry_mul(scope, mean, parts[0]), gantry_mul(scope, x, parts[1]));
}

void gantry__train_move_moments(gantry_scope_t *scope, const gantry__train_now_t *now,
                                tensor *const *rests, tensor **new_slots) {
    new_slots[0] = gantry__train_move(scope, now->slots[0], now->gradient, rests[0]);
    new_slots[1] = gantry__train_move(scope, now->slots[1], now->sizes, rests[1]);
}

void gantry__train_scatter(gantry_scope_t *scope, const char *op, gantry_variable_t *variable,
                           tensor *indices, tensor *values) {
    tensor *const inputs[] = {indices, values};
    (void)gantry_variable_update(scope, op, &variable, 1, inputs, 2, NULL, 0);
}
