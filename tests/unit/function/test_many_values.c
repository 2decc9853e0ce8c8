/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A function, a branch, a loop and a graph take 1,000 inputs and give 1,000 outputs, also
 * inside each other.
 * Promise: A scope takes 300 donations at a time, also in functions and branches. */
#define _XOPEN_SOURCE 700

#include "graph_copy.h"
#include "runtime_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

enum { MANY = 1000, DONATED = 300 };

typedef struct many_t {
    gantry_function_t *inner; /* called in the body; NULL: none */
} many_t;

/* Each output is the input plus one; the last takes all inputs. */
static void add_one(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *one = gantry_scalar_f32(scope, 1);
    (void)user;
    for (int i = 0; i < MANY; ++i) outputs[i] = gantry_add(scope, inputs[i], one);
}

static void identity(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)scope;
    (void)user;
    for (int i = 0; i < MANY; ++i) outputs[i] = inputs[MANY - 1 - i];
}

static void is_small(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_less(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 4));
}

/* A call, a branch and a loop of all values, in turn. */
static void nested(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    const many_t *many = user;
    tensor *is_true = gantry_less(scope, gantry_scalar_f32(scope, 0), gantry_scalar_f32(scope, 1));
    (void)gantry_function_call(scope, many->inner, inputs, MANY, outputs, MANY);
    (void)gantry_cond(scope, is_true, identity, add_one, user, outputs, MANY, outputs, MANY);
    (void)gantry_while(scope, is_small, add_one, user, outputs, MANY, NULL, outputs);
}

static gantry_function_t *trace(gantry_runtime_t *runtime, gantry_function_body_fn body,
                                many_t *many, bool is_eager) {
    static gantry_input_spec_t specs[MANY];
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = is_eager};
    gantry_function_t *function;
    for (int i = 0; i < MANY; ++i)
        specs[i] = (gantry_input_spec_t){NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};
    if (gantry_function_trace(runtime, "many", body, many, specs, MANY, MANY, &options,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void expect_nested(gantry_scope_t *scope, gantry_function_t *function) {
    static tensor *inputs[MANY], *outputs[MANY];
    for (int i = 0; i < MANY; ++i) inputs[i] = F32(scope, (float)-i, (float)i);
    if (gantry_function_call(scope, function, inputs, MANY, outputs, MANY) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    /* after the branch, value i is input MANY - 1 - i plus one; the first one's sum is 2 */
    for (int i = 0; i < MANY; ++i) {
        const float at = (float)(MANY - 1 - i);
        EXPECT_F32(outputs[i], -at + 2, at + 2);
    }
    EXPECT_F32(inputs[1], -1, 1);
}

TEST(functions_take_1000_inputs_inside_each_other) {
    runtime_fixture_t f;
    many_t many = {NULL};
    runtime_fixture_open(&f, 0);
    many.inner = trace(f.runtime, add_one, &many, false);
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        gantry_function_t *function = trace(f.runtime, nested, &many, is_eager);
        expect_nested(scope, function);
        expect_nested(scope, function);
        gantry_function_release(function);
        expect_ended_well(scope);
    }
    gantry_function_release(many.inner);
    runtime_fixture_close(&f);
}

TEST(graphs_take_1000_inputs) {
    runtime_fixture_t f;
    many_t many = {NULL};
    gantry_graph_t *graph;
    gantry_function_t *again;
    runtime_fixture_open(&f, 0);
    many.inner = trace(f.runtime, add_one, &many, false);
    gantry_function_t *function = trace(f.runtime, nested, &many, false);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    graph_expect_ok(gantry_function_get_graph(function, &graph));
    gantry_graph_t *copy = graph_copy(f.runtime, graph);
    graph_expect_ok(gantry_function_from_graph(copy, NULL, &again));
    expect_nested(scope, again);
    expect_ended_well(scope);
    gantry_graph_release(graph);
    gantry_graph_release(copy);
    gantry_function_release(again);
    gantry_function_release(function);
    gantry_function_release(many.inner);
    runtime_fixture_close(&f);
}

/* ---- donations ---- */

/* All are donated before the first op takes one; each op gives back its memory. */
static void donate_all(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *made[DONATED], *sum = inputs[0];
    (void)user;
    for (int i = 0; i < DONATED; ++i)
        made[i] = gantry_tensor_donate(scope, gantry_add(scope, inputs[0], inputs[0]));
    for (int i = 0; i < DONATED; ++i) sum = gantry_add(scope, made[i], sum);
    outputs[0] = sum;
}

static uint32_t tensors_of(const gantry_scope_t *scope) {
    uint32_t count = 0;
    for (const gantry_tensor_t *at = scope->tensors; at; at = at->next) ++count;
    return count;
}

TEST(scope_takes_300_donations) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    tensor *x = F32(scope, 1, 2), *sum;
    donate_all(scope, &x, &sum, NULL);
    EXPECT_F32(sum, 601, 1202);
    assert_int_equal(scope->donated_count, 0);
    assert_int_equal(tensors_of(scope), 1 + DONATED); /* x, and the sums */
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void donate_inside(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                          void *user) {
    tensor *is_true =
        gantry_less(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 10));
    (void)gantry_function_call(scope, user, inputs, 1, outputs, 1);
    (void)gantry_cond(scope, is_true, donate_all, donate_all, user, outputs, 1, outputs, 1);
}

TEST(functions_and_branches_take_300_donations) {
    const gantry_input_spec_t spec = {NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};
    runtime_fixture_t f;
    gantry_function_t *inner, *function;
    runtime_fixture_open(&f, 0);
    graph_expect_ok(
        gantry_function_trace(f.runtime, "d", donate_all, NULL, &spec, 1, 1, NULL, &inner));
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
        tensor *x = F32(scope, 1, -2), *sum;
        graph_expect_ok(gantry_function_trace(
            f.runtime, "i", donate_inside, inner, &spec, 1, 1,
            &(gantry_function_options_t){.struct_size = sizeof(gantry_function_options_t),
                                         .runs_eagerly = is_eager},
            &function));
        graph_expect_ok(gantry_function_call(scope, function, &x, 1, &sum, 1));
        EXPECT_F32(sum, 601 * 601, -2 * 601 * 601);
        gantry_function_release(function);
        expect_ended_well(scope);
    }
    gantry_function_release(inner);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
