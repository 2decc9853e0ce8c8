/* SPDX-License-Identifier: Apache-2.0 */
/* RMSprop:
 *
 *     v = rho v + (1 - rho) g^2
 *     a = rho a + (1 - rho) g                  if centered
 *     d = rate g / sqrt(v - a^2 + epsilon)     without a if not centered
 *     m = momentum m + d                       with momentum; m replaces d below
 *     w = w - d */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

enum { RATE, RHO, REST, EPSILON, MOMENTUM };

/* Lists the slots: velocity, then those that the settings request. */
static size_t rmsprop_slots(const gantry__train_settings_t *settings,
                            gantry__train_slot_t *out_slots) {
    size_t count = 0;
    out_slots[count++] = (gantry__train_slot_t){"velocity", 0};
    if (settings->momentum > 0) out_slots[count++] = (gantry__train_slot_t){"momentum", 0};
    if (settings->centered) out_slots[count++] = (gantry__train_slot_t){"average_gradient", 0};
    return count;
}

static void rmsprop_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    update->numbers[RATE] = gantry__train_narrow(update, update->rate);
    update->numbers[RHO] = gantry__train_number(update->scope, update->dtype, settings->rho);
    update->numbers[REST] = gantry__train_number(update->scope, update->dtype, 1 - settings->rho);
    update->numbers[EPSILON] =
        gantry__train_number(update->scope, update->dtype, settings->epsilon);
    update->numbers[MOMENTUM] =
        gantry__train_number(update->scope, update->dtype, settings->momentum);
}

static tensor *rmsprop_update(gantry_scope_t *scope, const gantry__update_t *update,
                              const gantry__train_now_t *now, tensor **new_slots) {
    size_t next = 1;
    const bool has_momentum = update->settings->momentum > 0;
    const size_t of_momentum = has_momentum ? next++ : 0;
    tensor *const *parts = update->numbers + RHO; /* and REST */
    tensor *v = gantry__train_decay(scope, now->slots[0], now->sizes, parts);
    new_slots[0] = v;
    if (update->settings->centered) {
        new_slots[next] = gantry__train_decay(scope, now->slots[next], now->gradient, parts);
        v = gantry_sub(scope, v, gantry_square(scope, new_slots[next]));
    }
    tensor *root = gantry_sqrt(scope, gantry_add(scope, v, update->numbers[EPSILON]));
    tensor *down = gantry_div(scope, gantry_mul(scope, now->gradient, update->numbers[RATE]), root);
    if (has_momentum) {
        down = gantry_add(
            scope, gantry_mul(scope, now->slots[of_momentum], update->numbers[MOMENTUM]), down);
        new_slots[of_momentum] = down;
    }
    return gantry_sub(scope, now->weights, down);
}

const gantry__train_rule_t gantry__train_rmsprop = {.name = "rmsprop",
                                                    .keras_name = "rm_sprop",
                                                    .slots = rmsprop_slots,
                                                    .begin = rmsprop_begin,
                                                    .size_of = gantry_square,
                                                    .update = rmsprop_update};
