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

static void adam_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    const gantry_tensor_t *rest_1 =
        gantry__train_one_minus(update, gantry__train_power(update, settings->beta_1, 0));
    const gantry_tensor_t *rest_2 =
        gantry__train_one_minus(update, gantry__train_power(update, settings->beta_2, 0));
    const gantry_tensor_t *alpha = gantry_div(
        update->scope, gantry_mul(update->scope, update->rate, gantry_sqrt(update->scope, rest_2)),
        rest_1);
    update->numbers[ALPHA] = gantry__train_narrow(update, alpha);
    update->numbers[REST_1] =
        gantry__train_number(update->scope, update->dtype, 1 - settings->beta_1);
    update->numbers[REST_2] =
        gantry__train_number(update->scope, update->dtype, 1 - settings->beta_2);
    update->numbers[EPSILON] =
        gantry__train_number(update->scope, update->dtype, settings->epsilon);
}

static const gantry_tensor_t *adam_update(gantry_scope_t *scope, const gantry__update_t *update,
                                          const gantry__train_now_t *now,
                                          const gantry_tensor_t **new_slots) {
    gantry__train_move_moments(scope, now, &update->numbers[REST_1], new_slots);
    const gantry_tensor_t *m = new_slots[0], *v = new_slots[1];
    if (update->settings->amsgrad) new_slots[2] = v = gantry_maximum(scope, now->slots[2], v);
    const gantry_tensor_t *divisor =
        gantry_add(scope, gantry_sqrt(scope, v), update->numbers[EPSILON]);
    return gantry_sub(scope, now->weights,
                      gantry_div(scope, gantry_mul(scope, m, update->numbers[ALPHA]), divisor));
}

const gantry__train_rule_t gantry__train_adam = {.name = "adam",
                                                 .slots = adam_slots,
                                                 .begin = adam_begin,
                                                 .size_of = gantry_square,
                                                 .update = adam_update};
const gantry__train_rule_t gantry__train_adamw = {.name = "adamw",
                                                  .keras_name = "adam_w",
                                                  .slots = adam_slots,
                                                  .begin = adam_begin,
                                                  .size_of = gantry_square,
                                                  .update = adam_update};
