/* SPDX-License-Identifier: Apache-2.0 */
/* Adadelta:
 *
 *     v = rho v + (1 - rho) g^2
 *     q = (d + epsilon) / (v + epsilon)
 *     d = rho d + (1 - rho) q g^2
 *     w = w - rate g sqrt(q) */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

enum { RATE, RHO, REST, EPSILON };

static size_t adadelta_slots(const gantry__train_settings_t *settings,
                             gantry__train_slot_t *out_slots) {
    (void)settings;
    out_slots[0] = (gantry__train_slot_t){"accumulated_grad", 0};
    out_slots[1] = (gantry__train_slot_t){"accumulated_delta_var", 0};
    return 2;
}

static void adadelta_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    update->numbers[RATE] = gantry__train_narrow(update, update->rate);
    update->numbers[RHO] = gantry__train_number(update->scope, update->dtype, settings->rho);
    update->numbers[REST] = gantry__train_number(update->scope, update->dtype, 1 - settings->rho);
    update->numbers[EPSILON] =
        gantry__train_number(update->scope, update->dtype, settings->epsilon);
}

static tensor *adadelta_update(gantry_scope_t *scope, const gantry__update_t *update,
                               const gantry__train_now_t *now, tensor **new_slots) {
    tensor *const *numbers = update->numbers, *const *parts = numbers + RHO; /* and REST */
    new_slots[0] = gantry__train_decay(scope, now->slots[0], now->sizes, parts);
    tensor *quotient = gantry_div(scope, gantry_add(scope, now->slots[1], numbers[EPSILON]),
                                  gantry_add(scope, new_slots[0], numbers[EPSILON]));
    new_slots[1] = gantry__train_decay(scope, now->slots[1],
                                       gantry_mul_no_nan(scope, now->sizes, quotient), parts);
    tensor *step = gantry_mul(scope, gantry_sqrt(scope, quotient), now->gradient);
    return gantry_sub(scope, now->weights, gantry_mul(scope, step, numbers[RATE]));
}

const gantry__train_rule_t gantry__train_adadelta = {.name = "adadelta",
                                                     .slots = adadelta_slots,
                                                     .begin = adadelta_begin,
                                                     .size_of = gantry_square,
                                                     .update = adadelta_update};
