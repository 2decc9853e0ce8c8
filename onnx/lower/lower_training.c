/* SPDX-License-Identifier: Apache-2.0 */
/* ai.onnx.preview.training: a step of an optimizer. After the rate R and the number of steps T come
 * all tensors, then all their gradients, then all of each of their states; results have the new
 * tensors and states in the same order. */
#include <string.h>

#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

/* A node. */
typedef struct training_t {
    gantry__onnx_call_t *call;
    size_t count;         /* Of tensors. */
    tensor *rate, *steps; /* In the type of a tensor. */
} training_t;

/* What one tensor's step takes, in the type of the tensor, and makes. */
typedef struct training_step_t {
    tensor *x, *gradient, *states[2];
} training_step_t;

typedef training_step_t (*training_fn)(const training_t *training, training_step_t step);

static tensor *training_join(const training_t *training, const char *op, tensor *x, tensor *y) {
    return gantry__onnx_op2(training->call, op, x, y);
}

/* x a + y b. */
static tensor *training_mix(const training_t *training, tensor *x, double a, tensor *y, double b) {
    return training_join(training, "Add", gantry__onnx_scale(training->call, x, a, 0),
                         gantry__onnx_scale(training->call, y, b, 0));
}

static double training_number(const training_t *training, const char *name, float fallback) {
    return (double)gantry__onnx_attr_float(training->call, name, fallback);
}

/* One of two numbers: the first where steps have been made. */
static tensor *after_steps(const training_t *training, tensor *later, tensor *first) {
    return gantry__onnx_select(
        training->call, gantry__onnx_op_number(training->call, "Greater", training->steps, 0),
        later, first);
}

/* x less rate times y. */
static tensor *training_move(const training_t *training, tensor *x, tensor *rate, tensor *y) {
    return training_join(training, "Sub", x, training_join(training, "Mul", rate, y));
}

/* gradient / (sqrt(square) + epsilon) */
static tensor *adapted(const training_t *training, tensor *gradient, tensor *square) {
    tensor *root = gantry__onnx_op1(training->call, "Sqrt", square);
    return training_join(
        training, "Div", gradient,
        gantry__onnx_scale(training->call, root, 1, training_number(training, "epsilon", 1e-6f)));
}

static training_step_t adagrad_step(const training_t *training, training_step_t step) {
    tensor *slower = gantry__onnx_scale(training->call, training->steps,
                                        training_number(training, "decay_factor", 0), 1);
    tensor *rate = training_join(training, "Div", training->rate, slower);
    step.states[0] = training_join(training, "Add", step.states[0],
                                   gantry__onnx_op1(training->call, "Square", step.gradient));
    step.x =
        training_move(training, step.x, rate, adapted(training, step.gradient, step.states[0]));
    return step;
}

/* 1 - number^steps */
static tensor *missing_part(const training_t *training, double number) {
    tensor *base =
        gantry__onnx_make_scalar(training->call, gantry_tensor_dtype(training->steps), number);
    return gantry__onnx_scale(training->call, training_join(training, "Pow", base, training->steps),
                              -1, 1);
}

static training_step_t adam_step(const training_t *training, training_step_t step) {
    const double alpha = training_number(training, "alpha", 0.9f),
                 beta = training_number(training, "beta", 0.999f);
    tensor *square = gantry__onnx_op1(training->call, "Square", step.gradient);
    step.states[0] = training_mix(training, step.states[0], alpha, step.gradient, 1 - alpha);
    step.states[1] = training_mix(training, step.states[1], beta, square, 1 - beta);
    tensor *rate = training_join(
        training, "Div",
        training_join(training, "Mul", training->rate,
                      gantry__onnx_op1(training->call, "Sqrt", missing_part(training, beta))),
        missing_part(training, alpha));
    step.x = training_move(training, step.x, after_steps(training, rate, training->rate),
                           adapted(training, step.states[0], step.states[1]));
    step.x = gantry__onnx_scale(training->call, step.x,
                                1 - training_number(training, "norm_coefficient_post", 0), 0);
    return step;
}

static training_step_t momentum_step(const training_t *training, training_step_t step) {
    const char *mode = gantry__onnx_attr_text(training->call, "mode", "");
    const double alpha = training_number(training, "alpha", 0);
    const gantry_dtype_t dtype = gantry_tensor_dtype(training->steps);
    tensor *share = after_steps(
        training,
        gantry__onnx_make_scalar(training->call, dtype, training_number(training, "beta", 0)),
        gantry__onnx_make_scalar(training->call, dtype, 1));
    tensor *old = gantry__onnx_scale(training->call, step.states[0], alpha, 0);
    tensor *way = step.states[0] =
        training_join(training, "Add", old, training_join(training, "Mul", share, step.gradient));
    if (strcmp(mode, "nesterov") == 0)
        way = training_mix(training, step.gradient, 1, step.states[0], alpha);
    step.x = training_move(training, step.x, training->rate, way);
    return step;
}

static gantry_status_t set_steps(training_t *training, size_t states, training_fn make) {
    gantry__onnx_call_t *call = training->call;
    const size_t count = training->count = (call->input_count - 2) / (2 + states);
    if (count == 0 || call->input_count != 2 + count * (2 + states))
        return gantry__onnx_invalid(call, "%zu inputs; R, T and %zu for each tensor are accepted",
                                    call->input_count, 2 + states);
    for (size_t i = 0; i < count; ++i) {
        training_step_t step = {.x = gantry__onnx_input(call, 2 + i),
                                .gradient = gantry__onnx_input(call, 2 + count + i)};
        for (size_t k = 0; k < states; ++k)
            step.states[k] = gantry__onnx_input(call, 2 + (2 + k) * count + i);
        if (!step.x || !step.gradient || !step.states[states - 1])
            return gantry__onnx_invalid(call, "input %zu or one of its step is left out", 2 + i);
        const gantry_dtype_t dtype = gantry_tensor_dtype(step.x);
        GANTRY__TRY(gantry__onnx_scalar_input(call, 0, "R", &training->rate));
        GANTRY__TRY(gantry__onnx_scalar_input(call, 1, "T", &training->steps));
        if (!training->rate || !training->steps)
            return gantry__onnx_invalid(call, "R or T is left out");
        training->rate = gantry__onnx_cast(call, training->rate, dtype);
        training->steps = gantry__onnx_cast(call, training->steps, dtype);
        GANTRY__TRY(gantry_scope_status(call->scope));
        step.gradient = training_mix(
            training, step.x, training_number(training, "norm_coefficient", 0), step.gradient, 1);
        const training_step_t made = make(training, step);
        GANTRY__TRY(gantry__onnx_set(call, i, made.x));
        for (size_t k = 0; k < states; ++k)
            GANTRY__TRY(gantry__onnx_set(call, (1 + k) * count + i, made.states[k]));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_adagrad(gantry__onnx_call_t *call) {
    training_t training = {.call = call};
    return set_steps(&training, 1, adagrad_step);
}

gantry_status_t gantry__onnx_lower_adam(gantry__onnx_call_t *call) {
    training_t training = {.call = call};
    return set_steps(&training, 2, adam_step);
}

gantry_status_t gantry__onnx_lower_momentum(gantry__onnx_call_t *call) {
    training_t training = {.call = call};
    const char *mode = gantry__onnx_attr_text(call, "mode", "");
    if (strcmp(mode, "standard") != 0 && strcmp(mode, "nesterov") != 0)
        return gantry__onnx_invalid(call, "mode is %s; it is standard or nesterov", mode);
    return set_steps(&training, 1, momentum_step);
}
