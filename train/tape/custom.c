/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that the program gives, and no gradient: both run ops that no tape records. */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/tape/tape_state.h"

const gantry_tensor_t *gantry_stop_gradient(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    if (gantry__train_check_scope(scope) != GANTRY_OK) return NULL;
    const gantry_tensor_t *same = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, "StopGradient", &tensor, 1, NULL, 0, &same, &count);
    return same;
}

/* An object of the outer scope's own over each output of forward. */
static gantry_status_t custom_run_forward(gantry_scope_t *inner, gantry_function_body_fn forward,
                                          void *user, const gantry_tensor_t *const *inputs,
                                          const gantry_tensor_t **outputs, size_t output_count) {
    GANTRY__TRY(gantry_scope_lend(inner));
    {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        forward(inner, inputs, outputs, user);
    }
    gantry_scope_take_back(inner);
    for (size_t i = 0; i < output_count && gantry_scope_status(inner) == GANTRY_OK; ++i) {
        if (outputs[i])
            outputs[i] = gantry_scope_keep(inner, gantry_identity(inner, outputs[i]));
        else
            (void)gantry__train_refuse(
                inner, "gantry_custom_gradient: forward does not set output %zu; it sets all %zu",
                i, output_count);
    }
    return gantry_scope_status(inner);
}

static gantry_status_t check_custom(gantry_scope_t *scope, gantry_function_body_fn forward,
                                    gantry_backward_fn backward,
                                    const gantry_tensor_t *const *inputs, size_t input_count,
                                    const gantry_tensor_t *const *outputs, size_t output_count) {
    for (size_t i = 0; inputs && i < input_count; ++i) {
        if (!inputs[i])
            return gantry__train_refuse(
                scope, "gantry_custom_gradient: input %zu is NULL; a tensor is accepted", i);
    }
    if (forward && backward && (inputs || input_count == 0) && (outputs || output_count == 0))
        return GANTRY_OK;
    return gantry__train_refuse(scope, "gantry_custom_gradient: %s is NULL",
                                !forward    ? "forward"
                                : !backward ? "backward"
                                : outputs   ? "inputs"
                                            : "outputs");
}

/* observed: inputs, user, and attributes of what observers see. */
static gantry_status_t custom_give_gradient(gantry_scope_t *scope, gantry_observer_t *inside,
                                            gantry_function_body_fn forward,
                                            gantry_backward_fn backward,
                                            gantry_observation_t observed,
                                            const gantry_tensor_t **outputs, size_t output_count) {
    for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = NULL;
    GANTRY__TRY(gantry__train_check_scope(scope));
    GANTRY__TRY(check_custom(scope, forward, backward, observed.inputs, observed.input_count,
                             outputs, output_count));
    gantry_scope_t *inner = gantry_scope_begin_unobserved(scope);
    if (!inner) return gantry__train_no_inner(scope);
    if (!inside || gantry_scope_observe(inner, inside) == GANTRY_OK)
        (void)custom_run_forward(inner, forward, observed.user, observed.inputs, outputs,
                                 output_count);
    gantry_status_t status = gantry_scope_end(inner);
    if (status != GANTRY_OK) {
        for (size_t i = 0; i < output_count; ++i) outputs[i] = NULL;
        return gantry__train_hand_on(scope, status);
    }
    /* the rule turns it back: rule_control.c */
    const gantry_function_body_fn bodies[] = {(gantry_function_body_fn)(void (*)(void))backward};
    observed.struct_size = sizeof observed;
    observed.op = "CustomGradient";
    observed.outputs = outputs;
    observed.output_count = output_count;
    observed.bodies = bodies;
    observed.body_count = 1;
    return gantry_scope_tell(scope, &observed);
}

gantry_status_t gantry__custom_gradient(gantry_scope_t *scope, gantry_observer_t *inside,
                                        gantry_function_body_fn forward,
                                        gantry_backward_fn backward, void *user,
                                        const gantry_tensor_t *const *inputs, size_t input_count,
                                        const gantry_tensor_t **outputs, size_t output_count) {
    /* for descriptions of traces: src/function/build/graph_function.c */
    static const gantry_attr_value_t that_of_ops = {
        .name = "is_that_of_ops", .kind = GANTRY_ATTR_BOOL, .i = 1};
    const gantry_observation_t observed = {.inputs = inputs,
                                           .input_count = input_count,
                                           .attrs = &that_of_ops,
                                           .attr_count = 1,
                                           .user = user};
    return custom_give_gradient(scope, inside, forward, backward, observed, outputs, output_count);
}

gantry_status_t gantry_custom_gradient(gantry_scope_t *scope, gantry_function_body_fn forward,
                                       gantry_backward_fn backward, void *user,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_tensor_t **outputs, size_t output_count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const gantry_observation_t observed = {
        .inputs = inputs, .input_count = input_count, .user = user};
    return custom_give_gradient(scope, NULL, forward, backward, observed, outputs, output_count);
}
