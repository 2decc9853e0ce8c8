/* SPDX-License-Identifier: Apache-2.0 */
/* Nadam. u(t) = beta_1 (1 - 0.96^t / 2) is the momentum of step t, and p the product of all of them
 * up to t, which is carried from step to step:
 *
 *     m = m + (g - m) (1 - beta_1)
 *     v = v + (g^2 - v) (1 - beta_2)
 *     w = w - (m a + g b) / (sqrt(v c) + epsilon)
 *
 *     a = rate u(t + 1) / (1 - p u(t + 1))
 *     b = rate (1 - u(t)) / (1 - p)
 *     c = 1 / (1 - beta_2^t) */
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

enum { OF_MEAN, OF_GRADIENT, OF_SQUARES, REST_1, REST_2, EPSILON };

static size_t nadam_slots(const gantry__train_settings_t *settings,
                          gantry__train_slot_t *out_slots) {
    (void)settings;
    out_slots[0] = (gantry__train_slot_t){"momentum", 0};
    out_slots[1] = (gantry__train_slot_t){"velocity", 0};
    return 2;
}

/* u of a later step: 0 is this one. */
static tensor *momentum_of(const gantry__update_t *update, double later) {
    tensor *half = gantry_mul(update->scope, gantry__train_power(update, 0.96, later),
                              gantry__train_scalar(update, 0.5));
    return gantry_mul(update->scope, gantry__train_one_minus(update, half),
                      gantry__train_scalar(update, update->settings->beta_1));
}

static void nadam_set_weights(gantry__update_t *update, tensor *now, tensor *next) {
    gantry_scope_t *scope = update->scope;
    tensor *product = update->new_carried;
    tensor *rest = gantry__train_one_minus(update, gantry_mul(scope, product, next));
    tensor *of_mean = gantry_div(scope, gantry_mul(scope, update->rate, next), rest);
    tensor *of_gradient =
        gantry_div(scope, gantry_mul(scope, update->rate, gantry__train_one_minus(update, now)),
                   gantry__train_one_minus(update, product));
    tensor *power = gantry__train_power(update, update->settings->beta_2, 0);
    tensor *of_squares =
        gantry_div(scope, gantry__train_scalar(update, 1), gantry__train_one_minus(update, power));
    update->numbers[OF_MEAN] = gantry__train_narrow(update, of_mean);
    update->numbers[OF_GRADIENT] = gantry__train_narrow(update, of_gradient);
    update->numbers[OF_SQUARES] = gantry__train_narrow(update, of_squares);
}

static void nadam_begin(gantry__update_t *update) {
    const gantry__train_settings_t *settings = update->settings;
    tensor *now = momentum_of(update, 0), *next = momentum_of(update, 1);
    update->new_carried = gantry_mul(update->scope, update->carried, now);
    nadam_set_weights(update, now, next);
    update->numbers[REST_1] =
        gantry__train_number(update->scope, update->dtype, 1 - settings->beta_1);
    update->numbers[REST_2] =
        gantry__train_number(update->scope, update->dtype, 1 - settings->beta_2);
    update->numbers[EPSILON] =
        gantry__train_number(update->scope, update->dtype, settings->epsilon);
}

static tensor *nadam_update(gantry_scope_t *scope, const gantry__update_t *update,
                            const gantry__train_now_t *now, tensor **new_slots) {
    gantry__train_move_moments(scope, now, &update->numbers[REST_1], new_slots);
    tensor *m = new_slots[0], *v = new_slots[1];
    tensor *down = gantry_add(scope, gantry_mul(scope, m, update->numbers[OF_MEAN]),
                              gantry_mul(scope, now->gradient, update->numbers[OF_GRADIENT]));
    tensor *root = gantry_sqrt(scope, gantry_mul(scope, v, update->numbers[OF_SQUARES]));
    return gantry_sub(scope, now->weights,
                      gantry_div(scope, down, gantry_add(scope, root, update->numbers[EPSILON])));
}

const gantry__train_rule_t gantry__train_nadam = {.name = "nadam",
                                                  .carried = "momentum_product",
                                                  .slots = nadam_slots,
                                                  .begin = nadam_begin,
                                                  .size_of = gantry_square,
                                                  .update = nadam_update};
