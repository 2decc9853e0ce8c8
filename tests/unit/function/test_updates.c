/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Updates of variables by one program are one launch, whatever the shapes of the
 * variables, and have the bits of updates one by one.
 *
 * What uses a result, or a variable, in between keeps its place. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"
#include "updates_case.h"
#include "planned.h"

TEST(random_updates_have_the_bits_of_single_ones) {
    runtime_fixture_t f;
    uint32_t saved = 0;
    runtime_fixture_open(&f, 0);
    for (uint64_t seed = 1; seed <= FEWER_FOR_THREAD_SANITIZER(300, 40); ++seed)
        saved += updates_check(f.runtime, "/CPU:0", seed, 2 + (uint32_t)(seed % 19));
    print_message("%u launches saved\n", saved);
    assert_true(saved > 100);
    runtime_fixture_close(&f);
}

/* A function of `count` updates that nothing keeps apart. */
typedef struct plain_t {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    updates_case_t c;
    gantry_function_t *function;
} plain_t;

static void plain_open(plain_t *plain, uint32_t count, uint32_t passes_off) {
    runtime_fixture_open(&plain->f, 0);
    plain->scope = runtime_fixture_scope(&plain->f, NULL);
    updates_init(&plain->c, plain->scope, "/CPU:0", 5, count);
    plain->c.is_plain = true;
    plain->function = updates_trace(plain->f.runtime, &plain->c, passes_off, 0);
}

static void plain_close(plain_t *plain) {
    gantry_function_release(plain->function);
    updates_deinit(&plain->c);
    assert_int_equal(gantry_scope_end(plain->scope), GANTRY_OK);
    runtime_fixture_close(&plain->f);
}

TEST(updates_of_unlike_shapes_are_one_node) {
    static plain_t plain; /* large */
    plain_open(&plain, 7, 0);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedParts), 1);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedElementwise), 0);
    const gantry__graph_t *graph = &planned(plain.function)->graph;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        if (node->kind != GANTRY__NODE_OP || node->op->id != GANTRY__OP_ID__FusedParts) continue;
        assert_int_equal(node->fused_count, 7 * 5);
        assert_string_equal(node->fused[0], "Mul");
        assert_string_equal(node->fused[34], "Sub_6");
        assert_int_equal(node->output_count, 14);
        assert_int_equal(node->input_count, 7 * 3 + 3); /* and three scalars */
    }
    /* every result lies in its variable's memory */
    assert_int_equal(planned(plain.function)->schedule.overwrite_count, 14);
    plain_close(&plain);
}

TEST(updates_stay_apart_without_the_pass) {
    static plain_t plain; /* large */
    plain_open(&plain, 7, GANTRY_PASS_JOINED_UPDATES);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedParts), 0);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedElementwise), 7);
    plain_close(&plain);
}

/* Three inputs of each part, and three shared ones, of at most 64. */
TEST(updates_are_cut_at_the_limits_of_ops) {
    static plain_t plain; /* large */
    plain_open(&plain, 20, 0);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedParts), 1);
    plain_close(&plain);
    plain_open(&plain, 40, 0);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedParts), 2);
    assert_int_equal(updates_count(plain.function, GANTRY__OP_ID__FusedElementwise), 0);
    plain_close(&plain);
}

/* w = w * 0.5 + x */
static void halve(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    gantry_variable_t **variables = user;
    for (int i = 0; i < 2; ++i) {
        const gantry_tensor_t *w = gantry_variable_read(scope, variables[i]);
        w = gantry_mul(scope, w, gantry_scalar_f32(scope, 0.5f));
        (void)gantry_variable_assign(scope, variables[i], gantry_add(scope, w, inputs[0]));
    }
    outputs[0] = gantry_identity(scope, inputs[0]);
}

static gantry_status_t trace_halve(gantry_scope_t *scope) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SCALAR};
    gantry_variable_t *variables[2] = {NULL, NULL};
    gantry_function_t *function = NULL;
    gantry__specialization_t *traced;
    for (int i = 0; i < 2; ++i) {
        const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3 + i));
        variables[i] = gantry_variable_create(scope, zeros, "w");
    }
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK)
        status = gantry_function_trace(scope->runtime, "f", halve, variables, &input, 1, 1, NULL,
                                       &function);
    if (status == GANTRY_OK) status = plan_newest(function, &traced);
    if (status == GANTRY_OK)
        assert_int_equal(updates_count(function, GANTRY__OP_ID__FusedParts), 1);
    gantry_function_release(function);
    for (int i = 0; i < 2; ++i) gantry_variable_release(variables[i]);
    return status;
}

TEST(nothing_leaks_when_memory_runs_out) { runtime_fixture_starve_each(0, NULL, trace_halve); }

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
