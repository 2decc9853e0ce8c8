/* SPDX-License-Identifier: Apache-2.0 */
/* Lion:
 *
 *     w = w - rate sign(beta_1 m + (1 - beta_1) g)
 *     m = beta_2 m + (1 - beta_2) g */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

enum { RATE, BETA_1, REST_1, BETA_2, REST_2 };

static size_t lion_slots(const gantry__train_settings_t *settings,
                         gantry__train_slot_t *out_slots) {
    (void)settings;
    out_slots[0] = (gantry__train_slot_t){"momentum", 0};
    return 1;
}

static void lion_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    const double betas[] = {settings->beta_1, 1 - settings->beta_1, settings->beta_2,
                            1 - settings->beta_2};
    update->numbers[RATE] = gantry__train_narrow(update, update->rate);
    for (size_t i = 0; i < 4; ++i)
        update->numbers[BETA_1 + i] = gantry__train_number(update->scope, update->dtype, betas[i]);
}

/* m a + g b */
static tensor *mix(gantry_scope_t *scope, tensor *m, tensor *a, tensor *g, tensor *b) {
    return gantry_add(scope, gantry_mul(scope, m, a), gantry_mul(scope, g, b));
}

static tensor *lion_update(gantry_scope_t *scope, const gantry__update_t *update,
                           const gantry__train_now_t *now, tensor **new_slots) {
    tensor *const *numbers = update->numbers;
    tensor *direction = gantry_sign(
        scope, mix(scope, now->slots[0], numbers[BETA_1], now->gradient, numbers[REST_1]));
    new_slots[0] = mix(scope, now->slots[0], numbers[BETA_2], now->gradient, numbers[REST_2]);
    return gantry_sub(scope, now->weights, gantry_mul(scope, direction, numbers[RATE]));
}

const gantry__train_rule_t gantry__train_lion = {
    .name = "lion", .slots = lion_slots, .begin = lion_begin, .update = lion_update};
