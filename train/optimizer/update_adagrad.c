/* SPDX-License-Identifier: Apache-2.0 */
/* Adagrad:
 *
 *     s = s + g^2
 *     w = w - rate g / sqrt(s + epsilon) */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

enum { RATE, EPSILON };

static size_t adagrad_slots(const gantry__train_settings_t *settings,
                            gantry__train_slot_t *out_slots) {
    out_slots[0] = (gantry__train_slot_t){"accumulator", settings->initial_accumulator_value};
    return 1;
}

static void adagrad_begin(gantry__update_t *update) {
    update->numbers[RATE] = gantry__train_narrow(update, update->rate);
    update->numbers[EPSILON] =
        gantry__train_number(update->scope, update->dtype, update->settings->epsilon);
}

static tensor *adagrad_update(gantry_scope_t *scope, const gantry__update_t *update,
                              const gantry__train_now_t *now, tensor **new_slots) {
    new_slots[0] = gantry_add(scope, now->slots[0], now->sizes);
    tensor *root = gantry_sqrt(scope, gantry_add(scope, new_slots[0], update->numbers[EPSILON]));
    tensor *down = gantry_mul(scope, now->gradient, update->numbers[RATE]);
    return gantry_sub(scope, now->weights, gantry_div(scope, down, root));
}

static void adagrad_update_rows(gantry_scope_t *scope, const gantry__update_t *update,
                                const gantry__update_rows_t *rows) {
    gantry__train_scatter(scope, "ResourceScatterAdd", rows->slots[0], rows->indices,
                          gantry_square(scope, rows->values));
    tensor *sums =
        gantry_gather(scope, gantry_variable_read(scope, rows->slots[0]), rows->indices, 0);
    tensor *root = gantry_sqrt(scope, gantry_add(scope, sums, update->numbers[EPSILON]));
    tensor *down = gantry_mul(scope, rows->values, update->numbers[RATE]);
    gantry__train_scatter(scope, "ResourceScatterSub", rows->weights, rows->indices,
                          gantry_div(scope, down, root));
}

const gantry__train_rule_t gantry__train_adagrad = {.name = "adagrad",
                                                    .slots = adagrad_slots,
                                                    .begin = adagrad_begin,
                                                    .size_of = gantry_square,
                                                    .update = adagrad_update,
                                                    .update_rows = adagrad_update_rows,
                                                    .row_slots = 1};
