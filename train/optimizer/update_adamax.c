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

static void adamax_begin(gantry__train_step_t *step) {
    const gantry__train_settings_t *settings = step->settings;
    const gantry_tensor_t *rest =
        gantry__train_one_minus(step, gantry__train_power(step, settings->beta_1, 0));
    step->numbers[RATE] = gantry__train_narrow(step, gantry_div(step->scope, step->rate, rest));
    step->numbers[REST] = gantry__train_number(step->scope, step->dtype, 1 - settings->beta_1);
    step->numbers[BETA_2] = gantry__train_number(step->scope, step->dtype, settings->beta_2);
    step->numbers[EPSILON] = gantry__train_number(step->scope, step->dtype, settings->epsilon);
}

static const gantry_tensor_t *adamax_update(gantry_scope_t *scope, const gantry__train_step_t *step,
                                            const gantry__train_now_t *now,
                                            const gantry_tensor_t **new_slots) {
    const gantry_tensor_t *m =
        gantry__train_move(scope, now->slots[0], now->gradient, step->numbers[REST]);
    const gantry_tensor_t *u =
        gantry_maximum(scope, gantry_mul(scope, now->slots[1], step->numbers[BETA_2]), now->sizes);
    new_slots[0] = m;
    new_slots[1] = u;
    const gantry_tensor_t *divisor = gantry_add(scope, u, step->numbers[EPSILON]);
    return gantry_sub(scope, now->weights,
                      gantry_div(scope, gantry_mul(scope, m, step->numbers[RATE]), divisor));
}

const gantry__train_rule_t gantry__train_adamax = {.name = "adamax",
                                                   .slots = adamax_slots,
                                                   .begin = adamax_begin,
                                                   .size_of = gantry_abs,
                                                   .update = adamax_update};
