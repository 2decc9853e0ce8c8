/* SPDX-License-Identifier: Apache-2.0 */
/* Adagrad:
 *
 *     s = s + g^2
 *     w = w - rate g / sqrt(s + epsilon) */
#include "train/optimizer/update_rule.h"

enum { RATE, EPSILON };

static size_t adagrad_slots(const gantry__train_settings_t *settings,
                            gantry__train_slot_t *out_slots) {
    out_slots[0] = (gantry__train_slot_t){"accumulator", settings->initial_accumulator_value};
    return 1;
}

static void adagrad_begin(gantry__train_step_t *step) {
    step->numbers[RATE] = gantry__train_narrow(step, step->rate);
    step->numbers[EPSILON] =
        gantry__train_number(step->scope, step->dtype, step->settings->epsilon);
}

static const gantry_tensor_t *adagrad_update(gantry_scope_t *scope,
                                             const gantry__train_step_t *step,
                                             const gantry__train_now_t *now,
                                             const gantry_tensor_t **new_slots) {
    new_slots[0] = gantry_add(scope, now->slots[0], now->sizes);
    const gantry_tensor_t *root =
        gantry_sqrt(scope, gantry_add(scope, new_slots[0], step->numbers[EPSILON]));
    const gantry_tensor_t *down = gantry_mul(scope, now->gradient, step->numbers[RATE]);
    return gantry_sub(scope, now->weights, gantry_div(scope, down, root));
}

static void adagrad_update_rows(gantry_scope_t *scope, const gantry__train_step_t *step,
                                const gantry__update_rows_t *rows) {
    gantry__train_scatter(scope, "ResourceScatterAdd", rows->slots[0], rows->indices,
                          gantry_square(scope, rows->values));
    const gantry_tensor_t *sums =
        gantry_gather(scope, gantry_variable_read(scope, rows->slots[0]), rows->indices, 0);
    const gantry_tensor_t *root =
        gantry_sqrt(scope, gantry_add(scope, sums, step->numbers[EPSILON]));
    const gantry_tensor_t *down = gantry_mul(scope, rows->values, step->numbers[RATE]);
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
