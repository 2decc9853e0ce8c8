/* SPDX-License-Identifier: Apache-2.0 */
/* SGD. With momentum, v is the last update:
 *
 *     v = momentum v - rate g
 *     w = w + v                       Nesterov: w + momentum v - rate g */
#include "train/optimizer/update_rule.h"

enum { RATE, MOMENTUM };

static size_t sgd_slots(const gantry__train_settings_t *settings, gantry__train_slot_t *out_slots) {
    out_slots[0] = (gantry__train_slot_t){"momentum", 0};
    return settings->momentum > 0;
}

static void sgd_begin(gantry__update_t *update) {
    update->numbers[RATE] = gantry__train_narrow(update, update->rate);
    update->numbers[MOMENTUM] =
        gantry__train_number(update->scope, update->dtype, update->settings->momentum);
}

static const gantry_tensor_t *sgd_update(gantry_scope_t *scope, const gantry__update_t *update,
                                         const gantry__train_now_t *now,
                                         const gantry_tensor_t **new_slots) {
    const gantry_tensor_t *down = gantry_mul(scope, now->gradient, update->numbers[RATE]);
    if (update->settings->momentum <= 0) return gantry_sub(scope, now->weights, down);
    const gantry_tensor_t *momentum = update->numbers[MOMENTUM];
    const gantry_tensor_t *change =
        gantry_sub(scope, gantry_mul(scope, now->slots[0], momentum), down);
    new_slots[0] = change;
    if (update->settings->nesterov)
        change = gantry_sub(scope, gantry_mul(scope, change, momentum), down);
    return gantry_add(scope, now->weights, change);
}

static void sgd_update_rows(gantry_scope_t *scope, const gantry__update_t *update,
                            const gantry__update_rows_t *rows) {
    gantry__train_scatter(scope, "ResourceScatterSub", rows->weights, rows->indices,
                          gantry_mul(scope, rows->values, update->numbers[RATE]));
}

const gantry__train_rule_t gantry__train_sgd = {.name = "sgd",
                                                .slots = sgd_slots,
                                                .begin = sgd_begin,
                                                .update = sgd_update,
                                                .update_rows = sgd_update_rows};
