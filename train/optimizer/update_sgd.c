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

static void sgd_begin(gantry__train_step_t *step) {
    step->numbers[RATE] = gantry__train_narrow(step, step->rate);
    step->numbers[MOMENTUM] =
        gantry__train_number(step->scope, step->dtype, step->settings->momentum);
}

static const gantry_tensor_t *sgd_update(gantry_scope_t *scope, const gantry__train_step_t *step,
                                         const gantry__train_now_t *now,
                                         const gantry_tensor_t **new_slots) {
    const gantry_tensor_t *down = gantry_mul(scope, now->gradient, step->numbers[RATE]);
    if (step->settings->momentum <= 0) return gantry_sub(scope, now->weights, down);
    const gantry_tensor_t *momentum = step->numbers[MOMENTUM];
    const gantry_tensor_t *update =
        gantry_sub(scope, gantry_mul(scope, now->slots[0], momentum), down);
    new_slots[0] = update;
    if (step->settings->nesterov)
        update = gantry_sub(scope, gantry_mul(scope, update, momentum), down);
    return gantry_add(scope, now->weights, update);
}

static void sgd_update_rows(gantry_scope_t *scope, const gantry__train_step_t *step,
                            const gantry__update_rows_t *rows) {
    gantry__train_scatter(scope, "ResourceScatterSub", rows->weights, rows->indices,
                          gantry_mul(scope, rows->values, step->numbers[RATE]));
}

const gantry__train_rule_t gantry__train_sgd = {.name = "sgd",
                                                .slots = sgd_slots,
                                                .begin = sgd_begin,
                                                .update = sgd_update,
                                                .update_rows = sgd_update_rows};
