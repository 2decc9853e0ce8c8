/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of branches, loops and functions. */
#include "train/tape/rule.h"

static void rule_custom(gantry__rule_call_t *c) {
    const gantry_backward_fn backward = (gantry_backward_fn)(void (*)(void))c->record->bodies[0];
    backward(c->scope, c->x, c->y, c->dy, c->dx, c->record->user);
}

const gantry__rule_t gantry__rules_control[] = {{"CustomGradient", rule_custom}, {NULL, NULL}};
