/* SPDX-License-Identifier: Apache-2.0 */
/* Adam, and AdamW, which differs in its default for the decay of weights:
 *
 *     m = m + (g - m) (1 - beta_1)
 *     v = v + (g^2 - v) (1 - beta_2)          AMSGrad: h = max(h, v) replaces v below
 *     w = w - m alpha / (sqrt(v) + epsilon),  alpha = rate sqrt(1 - beta_2^t) / (1 - beta_1^t) */
#include "train/optimizer/update_rule.h"

enum { ALPHA, REST_1, REST_2, EPSILON };

static size_t adam_slots(const gantry__train_settings_t *settings,
                         gantry__train_slot_t *out_slots) {
    out_slots[0] = (gantry__train_slot_t){"momentum", 0};
    out_slots[1] = (gantry__train_slot_t){"velocity", 0};
    out_slots[2] = (gantry__train_slot_t){"velocity_hat", 0};
    return settings->amsgrad ? 3 : 2;
}

static void adam_begin(gantry__train_step_t *step) {
    const gantry__train_settings_t *settings = step->settings;
    const gantry_tensor_t *rest_1 =
        gantry__train_one_minus(step, gantry__train_power(step, settings->beta_1, 0));
    const gantry_tensor_t *rest_2 =
        gantry__train_one_minus(step, gantry__train_power(step, settings->beta_2, 0));
    const gantry_tensor_t *alpha = gantry_div(
        step->scope, gantry_mul(step->scope, step->rate, gantry_sqrt(step->scope, rest_2)), rest_1);
    step->numbers[ALPHA] = gantry__train_narrow(step, alpha);
    step->numbers[REST_1] = gantry__train_number(step->scope, step->dtype, 1 - settings->beta_1);
    step->numbers[REST_2] = gantry__train_number(step->scope, step->dtype, 1 - settings->beta_2);
    step->numbers[EPSILON] = gantry__train_number(step->scope, step->dtype, settings->epsilon);
}

static const gantry_tensor_t *adam_update(gantry_scope_t *scope, const gantry__train_step_t *step,
                                          const gantry__train_now_t *now,
                                          const gantry_tensor_t **new_slots) {
    gantry__train_move_moments(scope, now, &step->numbers[REST_1], new_slots);
    const gantry_tensor_t *m = new_slots[0], *v = new_slots[1];
    if (step->settings->amsgrad) new_slots[2] = v = gantry_maximum(scope, now->slots[2], v);
    const gantry_tensor_t *divisor =
        gantry_add(scope, gantry_sqrt(scope, v), step->numbers[EPSILON]);
    return gantry_sub(scope, now->weights,
                      gantry_div(scope, gantry_mul(scope, m, step->numbers[ALPHA]), divisor));
}

const gantry__train_rule_t gantry__train_adam = {.name = "adam",
                                                 .slots = adam_slots,
                                                 .begin = adam_begin,
                                                 .size_of = gantry_square,
                                                 .update = adam_update};
const gantry__train_rule_t gantry__train_adamw = {.name = "adamw",
                                                  .slots = adam_slots,
                                                  .begin = adam_begin,
                                                  .size_of = gantry_square,
                                                  .update = adam_update};
