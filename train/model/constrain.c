/* SPDX-License-Identifier: Apache-2.0 */
/* The constraints of weights, after an update. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/model/model_state.h"

static void constrain_one(gantry_scope_t *scope, const gantry__weight_t *weight,
                          gantry_variable_t *variable) {
    const gantry_tensor_t *value =
        gantry_constrain(scope, &weight->constraint, gantry_variable_read(scope, variable));
    if (value) (void)gantry_variable_assign(scope, variable, value);
}

static bool has_constraints(const gantry_model_t *model) {
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        if (model->net.variables[i].weight->constraint.kind != GANTRY_CONSTRAINT_NONE) return true;
    }
    return false;
}

void gantry__model_constrain(const gantry_model_t *model, gantry_scope_t *scope, size_t replica,
                             const gantry_tensor_t *const *gradients) {
    size_t trained = 0;
    if (!has_constraints(model) || gantry_scope_status(scope) != GANTRY_OK) return;
    gantry_scope_t *inner = gantry__model_scope(model, scope, replica);
    if (!inner) return;
    for (size_t i = 0; i < model->net.variable_count; ++i) {
        const gantry__weight_t *weight = model->net.variables[i].weight;
        if (!model->net.variables[i].is_trained) continue;
        const bool has_gradient = !gradients || gradients[trained];
        ++trained;
        if (has_gradient && weight->constraint.kind != GANTRY_CONSTRAINT_NONE)
            constrain_one(inner, weight, model->net.variables[i].copies[replica]);
    }
    (void)gantry__train_hand_on(scope, gantry_scope_end(inner));
}
