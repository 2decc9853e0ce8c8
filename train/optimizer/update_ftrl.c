/* SPDX-License-Identifier: Apache-2.0 */
/* Ftrl, "follow the regularized leader", where p is the negative of learning_rate_power:
 *
 *     n' = n + g^2
 *     z = z + g + 2 l2_shrinkage w - w (n'^p - n^p) / rate
 *     w = (clip(z, -l1, l1) - z) / (n'^p / rate + 2 l2 + beta / rate)
 *     n = n' */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

enum { RATE, POWER, SHRINKAGE, L1, L2 };

static size_t ftrl_slots(const gantry__train_settings_t *settings,
                         gantry__train_slot_t *out_slots) {
    out_slots[0] = (gantry__train_slot_t){"accumulator", settings->initial_accumulator_value};
    out_slots[1] = (gantry__train_slot_t){"linear", 0};
    return 2;
}

static void ftrl_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    gantry_scope_t *scope = update->scope;
    tensor *beta = gantry_div(scope, gantry__train_scalar(update, settings->beta), update->rate);
    tensor *l2 = gantry_add(scope, beta,
                            gantry__train_scalar(update, 2 * settings->l2_regularization_strength));
    update->numbers[RATE] = gantry__train_narrow(update, update->rate);
    update->numbers[POWER] =
        gantry__train_number(scope, update->dtype, -settings->learning_rate_power);
    update->numbers[SHRINKAGE] = gantry__train_number(
        scope, update->dtype, 2 * settings->l2_shrinkage_regularization_strength);
    update->numbers[L1] =
        gantry__train_number(scope, update->dtype, settings->l1_regularization_strength);
    update->numbers[L2] = gantry__train_narrow(update, l2);
}

/* The sum of squares to the power by which the rate falls. */
static tensor *power_of(gantry_scope_t *scope, const gantry__update_t *update, tensor *sum) {
    const bool is_root = update->settings->learning_rate_power == -0.5;
    return is_root ? gantry_sqrt(scope, sum) : gantry_pow(scope, sum, update->numbers[POWER]);
}

static tensor *ftrl_update(gantry_scope_t *scope, const gantry__update_t *update,
                           const gantry__train_now_t *now, tensor **new_slots) {
    tensor *const *numbers = update->numbers, *w = now->weights, *l1 = numbers[L1];
    new_slots[0] = gantry_add(scope, now->slots[0], now->sizes);
    tensor *power = power_of(scope, update, new_slots[0]);
    tensor *risen = gantry_sub(scope, power, power_of(scope, update, now->slots[0]));
    tensor *shrunk = gantry_add(scope, now->gradient, gantry_mul(scope, w, numbers[SHRINKAGE]));
    tensor *back = gantry_mul(scope, gantry_div(scope, risen, numbers[RATE]), w);
    tensor *z = gantry_add(scope, now->slots[1], gantry_sub(scope, shrunk, back));
    tensor *clipped = gantry_minimum(scope, gantry_maximum(scope, z, gantry_neg(scope, l1)), l1);
    tensor *divisor = gantry_add(scope, gantry_div(scope, power, numbers[RATE]), numbers[L2]);
    new_slots[1] = z;
    return gantry_div(scope, gantry_sub(scope, clipped, z), divisor);
}

const gantry__train_rule_t gantry__train_ftrl = {.name = "ftrl",
                                                 .slots = ftrl_slots,
                                                 .begin = ftrl_begin,
                                                 .size_of = gantry_square,
                                                 .update = ftrl_update};
