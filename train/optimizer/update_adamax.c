/* SPDX-License-Identifier: Apache-2.0 */
/* Adamax:
 *
 *     m = m + (g - m) (1 - beta_1)
 *     u = max(beta_2 u, |g|)
 *     w = w - m rate / ((1 - beta_1^t) (u + epsilon)) */
#include "train/optimizer/update_rule.h"

enum { RATE, REST, BETA_2, EPSILON };

static size_t adamax_slots(const gantry__train_settings_t *settings,
                           gantry__train_slot_t *out_slots) {
    (void)settings;
    out_slots[0] = (gantry__train_slot_t){"momentum", 0};
    out_slots[1] = (gantry__train_slot_t){"norm", 0};
    return 2;
}

static void adamax_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    const gantry_tensor_t *rest =
        gantry__train_one_minus(update, gantry__train_power(update, settings->beta_1, 0));
    update->numbers[RATE] =
        gantry__train_narrow(update, gantry_div(update->scope, update->rate, rest));
    update->numbers[REST] =
        gantry__train_number(update->scope, update->dtype, 1 - settings->beta_1);
    update->numbers[BETA_2] = gantry__train_number(update->scope, update->dtype, settings->beta_2);
    update->numbers[EPSILON] =
        gantry__train_number(update->scope, update->dtype, settings->epsilon);
}

static const gantry_tensor_t *adamax_update(gantry_scope_t *scope, const gantry__update_t *update,
                                            const gantry__train_now_t *now,
                                            const gantry_tensor_t **new_slots) {
    const gantry_tensor_t *m =
        gantry__train_move(scope, now->slots[0], now->gradient, update->numbers[REST]);
    const gantry_tensor_t *u = gantry_maximum(
        scope, gantry_mul(scope, now->slots[1], update->numbers[BETA_2]), now->sizes);
    new_slots[0] = m;
    new_slots[1] = u;
    const gantry_tensor_t *divisor = gantry_add(scope, u, update->numbers[EPSILON]);
    return gantry_sub(scope, now->weights,
                      gantry_div(scope, gantry_mul(scope, m, update->numbers[RATE]), divisor));
}

const gantry__train_rule_t gantry__train_adamax = {.name = "adamax",
                                                   .slots = adamax_slots,
                                                   .begin = adamax_begin,
                                                   .size_of = gantry_abs,
                                                   .update = adamax_update};
