/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of functions made by a seed. Header only.
 *
 * A body runs random steps (random_body.h) in scopes on CPU:0, on GPU:0, without a request, and
 * behind an earlier tensor. Branches and loops have bodies of such steps, up to two in each other.
 * The same seed makes the same calls. */
#ifndef TESTS_RANDOM_BLOCKS_H
#define TESTS_RANDOM_BLOCKS_H

#include "random_body.h"

/* ---- branches and loops ---- */

typedef struct random_inner_t {
    const random_graph_t *graph;
    const gantry_tensor_t *outer; /* used without being an input */
    bool assigns;
} random_inner_t;

static inline void random_then(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    const random_inner_t *inner = user;
    const gantry_tensor_t *two = gantry_sqrt(scope, gantry_scalar_f32(scope, 4)),
                          *bent = gantry_tanh(scope, gantry_mul(scope, inputs[0], two));
    if (inner->assigns) (void)gantry_variable_assign_add(scope, inner->graph->variables[0], bent);
    outputs[0] = gantry_add(scope, bent, inner->outer);
}

static inline void random_else(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    const random_inner_t *inner = user;
    const gantry_tensor_t *less = gantry_sub(scope, inputs[0], inner->outer);
    if (inner->assigns) (void)gantry_variable_assign(scope, inner->graph->variables[1], less);
    outputs[0] = gantry_maximum(scope, less, gantry_sub(scope, inputs[0], inner->outer));
}

static inline void random_while_less(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i32(scope, 3));
}

static inline void random_while_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    random_then(scope, inputs + 1, outputs + 1, user);
}

static inline void random_control(random_body_t *body) {
    const uint32_t x = (uint32_t)random_pick(body, GANTRY_FLOAT32);
    uint32_t y = random_partner(body, x);
    const gantry_shape_t *shape = gantry_tensor_shape(body->pool[x]);
    if (!gantry_shape_equal(shape, gantry_tensor_shape(body->pool[y]))) y = x;
    random_inner_t inner = {.graph = body->graph,
                            .outer = body->pool[y],
                            .assigns = gantry_shape_equal(shape, &body->graph->shape)};
    const gantry_tensor_t *made[2];
    if (random_is_one_of(body, 2)) {
        const gantry_tensor_t *is_less = gantry_less(
            body->at, gantry_sum(body->at, body->pool[x], NULL), gantry_scalar_f32(body->at, 0));
        if (gantry_cond(body->at, is_less, random_then, random_else, &inner, &body->pool[x], 1,
                        made, 1) == GANTRY_OK)
            random_add(body, made[0], body->varies[x] || body->varies[y]);
    } else {
        const gantry_tensor_t *const values[] = {gantry_scalar_i32(body->at, 0), body->pool[x]};
        if (gantry_while(body->at, random_while_less, random_while_body, &inner, values, 2, NULL,
                         made) == GANTRY_OK)
            random_add(body, made[1], body->varies[x] || body->varies[y]);
    }
}

/* ---- blocks whose bodies are random steps ---- */

typedef struct random_nested_t {
    const random_body_t *outer;
    uint64_t state;
    uint32_t x, y; /* the block's input, and a tensor from outside */
} random_nested_t;

static inline void random_step(random_body_t *body);

static inline void random_begin_scopes(random_body_t *body, const gantry_tensor_t *const *first) {
    body->scopes[0] = body->at = body->scope;
    body->scopes[1] = gantry_scope_begin_in(body->scope, "CPU:0");
    body->scopes[2] = gantry_scope_begin_in(body->scope, "GPU:0");
    body->scopes[3] = gantry_scope_begin_after(body->scope, first, 1);
}

static inline void random_end_scopes(random_body_t *body) {
    for (uint32_t i = RANDOM_GRAPH_SCOPES; i-- > 1;) (void)gantry_scope_end(body->scopes[i]);
}

/* The newest result of the input's type and shape, if there is one. */
static inline const gantry_tensor_t *random_nested_result(const random_body_t *body,
                                                          const gantry_tensor_t *input) {
    for (uint32_t i = body->count; i-- > 0;) {
        if (gantry_tensor_dtype(body->pool[i]) == GANTRY_FLOAT32 &&
            gantry_shape_equal(gantry_tensor_shape(body->pool[i]), gantry_tensor_shape(input)))
            return body->pool[i];
    }
    return input;
}

static inline const gantry_tensor_t *random_run_nested(gantry_scope_t *scope,
                                                       const random_nested_t *nested,
                                                       uint64_t number,
                                                       const gantry_tensor_t *input) {
    const random_body_t *outer = nested->outer;
    random_body_t body = {.graph = outer->graph,
                          .state = nested->state + number,
                          .scope = scope,
                          .depth = outer->depth + 1};
    random_begin_scopes(&body, &outer->pool[nested->y]);
    random_add(&body, input, outer->varies[nested->x]);
    random_add(&body, outer->pool[nested->y], outer->varies[nested->y]);
    for (uint32_t steps = 2 + random_choose(&body, 5); steps > 0; --steps) random_step(&body);
    const gantry_tensor_t *result = random_nested_result(&body, input);
    random_end_scopes(&body);
    return result;
}

static inline void random_nested_first(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                       const gantry_tensor_t **outputs, void *user) {
    outputs[0] = random_run_nested(scope, user, 1, inputs[0]);
}

static inline void random_nested_second(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                        const gantry_tensor_t **outputs, void *user) {
    outputs[0] = random_run_nested(scope, user, 2, inputs[0]);
}

static inline void random_nested_third(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                       const gantry_tensor_t **outputs, void *user) {
    outputs[0] = random_run_nested(scope, user, 3, inputs[0]);
}

static inline void random_nested_loop(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                      const gantry_tensor_t **outputs, void *user) {
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i32(scope, 1));
    outputs[1] = random_run_nested(scope, user, 4, inputs[1]);
}

static inline void random_nest(random_body_t *body) {
    static const gantry_function_body_fn bodies[] = {random_nested_first, random_nested_second,
                                                     random_nested_third};
    if (body->depth == RANDOM_GRAPH_DEPTH) return;
    random_nested_t nested = {.outer = body, .state = body->state};
    nested.x = (uint32_t)random_pick(body, GANTRY_FLOAT32);
    nested.y = random_choose(body, body->count);
    const gantry_tensor_t *input = body->pool[nested.x], *made[2] = {NULL, NULL};
    const gantry_tensor_t *const values[] = {gantry_scalar_i32(body->at, 0), input};
    const gantry_tensor_t *largest = gantry_max(body->at, input, NULL);
    switch (random_choose(body, 3)) {
        case 0:
            (void)gantry_cond(body->at,
                              gantry_less(body->at, largest, gantry_scalar_f32(body->at, 3)),
                              bodies[0], bodies[1], &nested, &input, 1, &made[1], 1);
            break;
        case 1:
            (void)gantry_case(body->at, gantry_cast(body->at, largest, GANTRY_INT32), bodies, 3,
                              &nested, &input, 1, &made[1], 1);
            break;
        default:
            (void)gantry_while(body->at, random_while_less, random_nested_loop, &nested, values, 2,
                               NULL, made);
    }
    random_add(body, made[1], false); /* it may be a constant of the body */
}

/* ---- the body ---- */

static inline void random_step(random_body_t *body) {
    const uint32_t choice = random_choose(body, 46);
    body->at =
        body->scopes[random_is_one_of(body, 3) ? random_choose(body, RANDOM_GRAPH_SCOPES) : 0];
    if (choice < 9) {
        random_unary(body);
    } else if (choice < 17) {
        random_binary(body);
    } else if (choice < 18) {
        random_sum(body);
    } else if (choice < 21) {
        random_repeat(body);
    } else if (choice < 23) {
        random_integer(body);
    } else if (choice < 25) {
        random_compare(body);
    } else if (choice < 27) {
        random_select(body);
    } else if (choice < 29) {
        random_cast(body);
    } else if (choice < 30) {
        random_cast_back(body);
    } else if (choice < 32) {
        if (choice == 30)
            random_reduce(body);
        else
            random_rows(body);
    } else if (choice < 33) {
        random_product(body);
    } else if (choice < 35) {
        random_shape_step(body);
    } else if (choice < 35 + (uint32_t)random_is_one_of(body, 2)) {
        random_composed(body);
    } else if (choice < 36) {
        random_control(body);
    } else if (choice < 38) {
        random_constant(body);
    } else if (choice < 40) {
        random_variable(body);
    } else if (choice < 41) {
        random_open(body);
    } else if (choice < 43) {
        random_nest(body);
    } else if (choice < 44) {
        random_results(body);
    } else if (choice < 45) {
        random_draw(body);
    } else {
        random_call_function(body);
    }
}

static inline void random_graph_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                     const gantry_tensor_t **outputs, void *user) {
    random_graph_t *graph = user;
    random_body_t body = {.graph = graph, .state = graph->seed, .scope = scope};
    random_begin_scopes(&body, inputs);
    for (uint32_t i = 0; i < RANDOM_GRAPH_INPUTS; ++i) random_add(&body, inputs[i], true);
    random_add(&body, graph->captured, false);
    for (uint32_t i = 0; i < graph->steps; ++i) random_step(&body);
    for (uint32_t i = 0; i < RANDOM_GRAPH_OUTPUTS; ++i) {
        const uint32_t at = i < 2 ? body.count - 1 - i : random_choose(&body, body.count);
        outputs[i] = body.pool[at];
        graph->varies[i] = body.varies[at];
    }
    random_end_scopes(&body);
}

#endif
