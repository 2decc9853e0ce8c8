/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A graph of a function, and a saved one, refuse a gradient where the body gave its own.
 * Promise: The gradient of a loaded recurrent layer is that of the layer.
 */
#define _XOPEN_SOURCE 700

#include <math.h>

#include <gantry_train/train.h>

#include "train_fixture.h"
/* after the fixture, which has cmocka */
#include "saved_file.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static void forward_double(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                           void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

static void backward_ten(gantry_scope_t *scope, tensor *const *inputs, tensor *const *outputs,
                         tensor *const *dy, tensor **dx, void *user) {
    (void)inputs, (void)outputs, (void)user;
    dx[0] = gantry_mul(scope, dy[0], gantry_scalar_f32(scope, 10));
}

static void doubled(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *y;
    (void)gantry_custom_gradient(scope, forward_double, backward_ten, user, inputs, 1, &y, 1);
    outputs[0] = gantry_exp(scope, y);
}

static void same(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_identity(scope, inputs[0]);
}

static void in_a_branch(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    tensor *is_positive =
        gantry_all(scope, gantry_greater(scope, inputs[0], gantry_scalar_f32(scope, 0)), NULL);
    (void)gantry_cond(scope, is_positive, doubled, same, user, inputs, 1, outputs, 1);
}

static void of_a_function(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                          void *user) {
    (void)gantry_function_call(scope, user, inputs, 1, outputs, 1);
}

static gantry_function_t *trace(gantry_function_body_fn body, void *user) {
    static const gantry_input_spec_t x = {"x", GANTRY_FLOAT32, {1, {2}}};
    gantry_function_t *function;
    if (gantry_function_trace(fixture.runtime, "f", body, user, &x, 1, 1, NULL, &function))
        fail_msg("%s", gantry_last_message());
    return function;
}

static gantry_function_t *describe(gantry_function_t *function) {
    gantry_graph_t *graph;
    gantry_function_t *made;
    if (gantry_function_get_graph(function, &graph) ||
        gantry_function_from_graph(graph, NULL, &made))
        fail_msg("%s", gantry_last_message());
    gantry_graph_release(graph);
    return made;
}

static gantry_function_t *load(gantry_function_t *function) {
    saved_file_t file;
    saved_file_init(&file);
    saved_file_save(function, &file);
    gantry_function_t *loaded = saved_file_load(fixture.runtime, &file, NULL);
    saved_file_deinit(&file);
    return loaded;
}

/* The gradient of a call of a vector of ones; false: it was refused. */
static bool differentiate(gantry_function_t *function, float y[2], float dx[2]) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    static const float ones[] = {1, 1};
    tensor *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2), ones, sizeof ones);
    tensor *result, *gradient;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &result, 1), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(result, y, 2 * sizeof *y), GANTRY_OK);
    const gantry_status_t status = gantry_tape_gradient(
        tape, result, NULL, &(gantry_source_t){.tensor = x}, 1, NULL, &gradient);
    gantry_tape_end(tape);
    if (status == GANTRY_OK)
        assert_int_equal(gantry_tensor_read(gradient, dx, 2 * sizeof *dx), GANTRY_OK);
    else
        assert_non_null(strstr(gantry_scope_message(scope), "node \"Identity"));
    if (status != GANTRY_OK) assert_int_equal(status, GANTRY_UNIMPLEMENTED);
    (void)gantry_scope_end(scope);
    return status == GANTRY_OK;
}

/* Takes over the function; its results are those of the body. */
static void expect_refused(gantry_function_t *function) {
    float y[2], dx[2];
    assert_false(differentiate(function, y, dx));
    assert_true(fabsf(y[0] - expf(2)) < 1e-5F);
    gantry_function_release(function);
}

static void check_body(gantry_function_body_fn body) {
    float y[2], dx[2];
    gantry_function_t *function = trace(body, NULL);
    assert_true(differentiate(function, y, dx));
    assert_true(fabsf(dx[0] - 10 * expf(2)) < 1e-4F);
    gantry_function_t *loaded = load(function), *described = describe(function);
    gantry_function_t *outer = trace(of_a_function, loaded);
    expect_refused(load(loaded));
    expect_refused(load(described));
    expect_refused(describe(outer));
    expect_refused(outer);
    expect_refused(described);
    expect_refused(loaded);
    gantry_function_release(function);
}

TEST(gradient_of_the_program_is_refused) { check_body(doubled); }

TEST(gradient_of_the_program_in_a_branch_is_refused) { check_body(in_a_branch); }

/* A graph that is made without the field has the gradients of its ops. */
TEST(node_without_the_field_has_the_gradient_of_its_op) {
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)};
    for (int refuses = 0; refuses < 2; ++refuses) {
        gantry_graph_t *graph;
        gantry_graph_value_t value;
        gantry_function_t *function;
        float y[2], dx[2] = {0};
        size_t count = 1;
        assert_int_equal(gantry_graph_create(fixture.runtime, "g", &graph), GANTRY_OK);
        assert_int_equal(gantry_graph_add_input(graph, &spec, &value), GANTRY_OK);
        const gantry_graph_node_t node = {.struct_size = sizeof node,
                                          .op = "Neg",
                                          .name = "Identity",
                                          .inputs = &value,
                                          .input_count = 1,
                                          .refuses_gradient = refuses};
        assert_int_equal(gantry_graph_add_node(graph, &node, &value, &count), GANTRY_OK);
        assert_int_equal(gantry_graph_add_output(graph, "y", value), GANTRY_OK);
        assert_int_equal(gantry_function_from_graph(graph, NULL, &function), GANTRY_OK);
        assert_int_equal(differentiate(function, y, dx), !refuses);
        if (!refuses) assert_true(dx[0] == -1);
        gantry_function_release(function);
        gantry_graph_release(graph);
    }
}

/* ---- the library's own ---- */

static void run_layer(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *x = gantry_reshape(scope, inputs[0], GANTRY_SHAPE(1, 2, 1));
    outputs[0] =
        gantry_reshape(scope, gantry_model_call(user, scope, &x, 1, true), GANTRY_SHAPE(2));
}

TEST(loaded_recurrent_layer_has_its_gradient) {
    float y[2], wanted[2], got[2];
    gantry_model_t *model =
        gantry_sequential(fixture.runtime, &(gantry_model_options_t){.seed = 1});
    (void)gantry_model_add(model, gantry_lstm(2, NULL));
    assert_int_equal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1)), GANTRY_OK);
    gantry_function_t *function = trace(run_layer, model);
    assert_true(differentiate(function, y, wanted));
    gantry_function_t *loaded = load(function);
    assert_true(differentiate(loaded, y, got));
    for (int i = 0; i < 2; ++i) assert_true(fabsf(got[i] - wanted[i]) < 1e-6F);
    gantry_function_release(loaded);
    gantry_function_release(function);
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
