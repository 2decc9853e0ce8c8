/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tape computes the gradients of watched tensors and variables, also of second order,
 * and names an op that has none.
 * Promise: A tape may be persistent, works eagerly and in a function, and gives a source that is
 * not connected None or zeros.
 * Promise: Ops between gantry_device_begin and gantry_device_end have gradients, which are computed
 * where the block of the gradient's call requests.
 *
 * The gradients of single ops are in test_rules.c. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "test.h"
#include "train_fixture.h"

#include <gantry_train/tape.h>

typedef const gantry_tensor_t tensor;

static tensor *vector(gantry_scope_t *scope, float a, float b) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2), (float[]){a, b}, 8);
}

static void expect_values(tensor *given, float a, float b) {
    float values[2];
    assert_non_null(given);
    assert_int_equal(gantry_tensor_read(given, values, sizeof values), GANTRY_OK);
    assert_float_equal(values[0], a, 1e-6);
    assert_float_equal(values[1], b, 1e-6);
}

static gantry_source_t of_tensor(tensor *given) { return (gantry_source_t){.tensor = given}; }

/* d sum(x * x + 3 x) = 2 x + 3 */
TEST(gradient_of_a_watched_tensor) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, -2), *gradient;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, x), GANTRY_OK);
    tensor *y = gantry_sum(scope,
                           gantry_add(scope, gantry_mul(scope, x, x),
                                      gantry_mul(scope, x, gantry_scalar_f32(scope, 3))),
                           NULL);
    const gantry_source_t source = of_tensor(x);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient), GANTRY_OK);
    expect_values(gradient, 5, -1);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* d (x * x) * x = 3 x * x, each product on a CPU of its own. */
static void cube(gantry_scope_t *scope, tensor *const *x, tensor **y, void *user) {
    (void)user;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x[0]);
    (void)gantry_device_begin(scope, "/CPU:1");
    tensor *square = gantry_mul(scope, x[0], x[0]);
    (void)gantry_device_end(scope);
    tensor *product = gantry_mul(scope, square, x[0]);
    (void)gantry_device_begin(scope, "/CPU:2");
    (void)gantry_tape_gradient(tape, product, NULL, &(gantry_source_t){.tensor = x[0]}, 1, NULL, y);
    (void)gantry_device_end(scope);
    gantry_tape_end(tape);
}

TEST(gradient_of_ops_in_device_blocks) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)};
    gantry_function_t *function;
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, 3), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, "/CPU:0");
    tensor *x = vector(scope, 1, -2), *gradient = NULL;
    cube(scope, &x, &gradient, NULL);
    expect_values(gradient, 3, 12);
    expect_on(gradient, "/device:CPU:2");
    assert_int_equal(
        gantry_function_trace(fixture.runtime, "f", cube, NULL, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &gradient, 1), GANTRY_OK);
    expect_values(gradient, 3, 12);
    expect_on(gradient, "/device:CPU:2");
    gantry_function_release(function);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* u (high - low) + low: u for the upper bound, 1 - u for the lower one. */
TEST(gradient_of_the_bounds_of_a_draw) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *low = gantry_scalar_f32(scope, 1), *high = vector(scope, 3, 9), *gradients[2];
    tensor *u = gantry_stateless_random_uniform(scope, GANTRY_SHAPE(2), GANTRY_FLOAT32, 1, 2);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, low), GANTRY_OK);
    assert_int_equal(gantry_tape_watch(tape, high), GANTRY_OK);
    tensor *y = gantry_stateless_random_uniform_range(scope, GANTRY_SHAPE(2), low, high, 1, 2);
    const gantry_source_t sources[] = {of_tensor(low), of_tensor(high)};
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, sources, 2, NULL, gradients), GANTRY_OK);
    float values[2], sum;
    assert_int_equal(gantry_tensor_read(u, values, sizeof values), GANTRY_OK);
    expect_values(gradients[1], values[0], values[1]);
    assert_int_equal(gantry_tensor_read(gradients[0], &sum, sizeof sum), GANTRY_OK);
    assert_float_equal(sum, 2 - values[0] - values[1], 1e-6);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* One step of gradient descent on a line, and the gradient of a variable that is read twice. */
TEST(gradient_of_a_variable) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    gantry_variable_t *w = gantry_variable_create(scope, vector(scope, 2, 3), "w");
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    tensor *y = gantry_mul(scope, gantry_variable_read(scope, w), gantry_variable_read(scope, w));
    const gantry_source_t source = {.variable = w};
    tensor *gradient;
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient), GANTRY_OK);
    expect_values(gradient, 4, 6);
    gantry_tape_end(tape);
    gantry_variable_release(w);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* A view is no op; the same part by an op has a gradient. */
TEST(views_of_memory_are_not_followed) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, 2), *gradient;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    (void)gantry_tape_watch(tape, x);
    tensor *view = gantry_tensor_view(scope, x, 4, GANTRY_FLOAT32, GANTRY_SHAPE(1));
    tensor *part = gantry_slice(scope, x, (int64_t[]){1}, (int64_t[]){1});
    tensor *by_view = gantry_square(scope, view), *by_op = gantry_square(scope, part);
    assert_int_equal(gantry_tape_gradient(tape, by_view, NULL, &source, 1, NULL, &gradient),
                     GANTRY_OK);
    assert_null(gradient);
    assert_int_equal(gantry_tape_gradient(tape, by_op, NULL, &source, 1, NULL, &gradient),
                     GANTRY_OK);
    expect_values(gradient, 0, 4);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(unconnected_sources_get_null_or_zeros) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, 2), *z = vector(scope, 5, 6), *gradients[2];
    gantry_tape_t *tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    (void)gantry_tape_watch(tape, x);
    (void)gantry_tape_watch(tape, z);
    tensor *y = gantry_square(scope, x);
    const gantry_source_t sources[] = {of_tensor(x), of_tensor(z)};
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, sources, 2, NULL, gradients), GANTRY_OK);
    expect_values(gradients[0], 2, 4);
    assert_null(gradients[1]);
    const gantry_gradient_options_t zeros = {.zeros_where_unconnected = true};
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, sources, 2, &zeros, gradients), GANTRY_OK);
    expect_values(gradients[1], 0, 0);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* d2 (x^2 x) / dx2 = 6 x */
TEST(second_order) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, -2), *first, *second;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *outer = gantry_tape_begin(scope, NULL), *inner;
    (void)gantry_tape_watch(outer, x);
    inner = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(inner, x);
    tensor *y = gantry_mul(scope, gantry_square(scope, x), x);
    assert_int_equal(gantry_tape_gradient(inner, y, NULL, &source, 1, NULL, &first), GANTRY_OK);
    expect_values(first, 3, 12);
    assert_int_equal(gantry_tape_gradient(outer, first, NULL, &source, 1, NULL, &second),
                     GANTRY_OK);
    expect_values(second, 6, -12);
    gantry_tape_end(inner);
    gantry_tape_end(outer);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* The slope of relu is a step. TensorFlow has zeros there, not None. */
TEST(slope_of_a_step_is_zero) {
    static const char *const ops[] = {"Relu", "Relu6", "LeakyRelu"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
        tensor *x = vector(scope, 1, -2), *y = NULL, *first, *second;
        const gantry_source_t source = of_tensor(x);
        size_t count = 1;
        gantry_tape_t *outer = gantry_tape_begin(scope, NULL), *inner;
        (void)gantry_tape_watch(outer, x);
        inner = gantry_tape_begin(scope, NULL);
        (void)gantry_tape_watch(inner, x);
        assert_int_equal(gantry_op_call(scope, ops[i], &x, 1, NULL, 0, &y, &count), GANTRY_OK);
        assert_int_equal(gantry_tape_gradient(inner, y, NULL, &source, 1, NULL, &first), GANTRY_OK);
        assert_int_equal(gantry_tape_gradient(outer, first, NULL, &source, 1, NULL, &second),
                         GANTRY_OK);
        if (!second) fail_msg("%s has no second gradient", ops[i]);
        expect_values(second, 0, 0);
        gantry_tape_end(inner);
        gantry_tape_end(outer);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

TEST(stop_gradient_stops_it) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 3, 4), *gradient;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_mul(scope, x, gantry_stop_gradient(scope, x));
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient), GANTRY_OK);
    expect_values(gradient, 3, 4);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* A pause leaves an op out, and only the named variable is watched. */
TEST(pause_and_named_variables) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    gantry_variable_t *w = gantry_variable_create(scope, vector(scope, 2, 3), "w"),
                      *v = gantry_variable_create(scope, vector(scope, 5, 7), "v");
    gantry_tape_t *tape =
        gantry_tape_begin(scope, &(gantry_tape_options_t){.watches_named_variables = true});
    assert_int_equal(gantry_tape_watch_variable(tape, w), GANTRY_OK);
    tensor *x = gantry_variable_read(scope, w), *gradients[2];
    gantry_tape_pause(tape, true);
    tensor *apart = gantry_mul(scope, x, x);
    gantry_tape_pause(tape, false);
    tensor *y = gantry_add(scope, gantry_mul(scope, x, gantry_variable_read(scope, v)), apart);
    const gantry_source_t sources[] = {{.variable = w}, {.variable = v}};
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, sources, 2, NULL, gradients), GANTRY_OK);
    expect_values(gradients[0], 5, 7);
    assert_null(gradients[1]);
    gantry_tape_end(tape);
    gantry_variable_release(w);
    gantry_variable_release(v);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* ---- custom gradients ---- */

static void forward_double(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                           void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

static void backward_ten(gantry_scope_t *scope, tensor *const *inputs, tensor *const *outputs,
                         tensor *const *output_gradients, tensor **input_gradients, void *user) {
    (void)inputs;
    (void)outputs;
    input_gradients[0] =
        gantry_mul(scope, output_gradients[0], gantry_scalar_f32(scope, *(const float *)user));
}

TEST(custom_gradient_replaces_the_ops) {
    float ten = 10;
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 3, 4), *y, *gradient;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    assert_int_equal(
        gantry_custom_gradient(scope, forward_double, backward_ten, &ten, &x, 1, &y, 1), GANTRY_OK);
    expect_values(y, 6, 8);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient), GANTRY_OK);
    expect_values(gradient, 10, 10);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* ---- a step as a function ---- */

static void take_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    gantry_variable_t *w = user;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    tensor *error =
        gantry_sub(scope, gantry_mul(scope, gantry_variable_read(scope, w), inputs[0]), inputs[1]);
    tensor *loss = gantry_mean(scope, gantry_square(scope, error), NULL), *gradient;
    const gantry_source_t source = {.variable = w};
    (void)gantry_tape_gradient(tape, loss, NULL, &source, 1, NULL, &gradient);
    gantry_tape_end(tape);
    (void)gantry_variable_assign_sub(scope, w,
                                     gantry_mul(scope, gradient, gantry_scalar_f32(scope, 0.1f)));
    outputs[0] = loss;
}

TEST(step_is_a_function) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    gantry_variable_t *w = gantry_variable_create(scope, gantry_scalar_f32(scope, 0), "w");
    gantry_function_t *step;
    const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)},
                                         {"y", GANTRY_FLOAT32, GANTRY_SHAPE(2)}};
    tensor *inputs[] = {vector(scope, 1, 2), vector(scope, 3, 6)}, *loss;
    float value = 0;
    assert_int_equal(
        gantry_function_trace(fixture.runtime, "step", take_step, w, specs, 2, 1, NULL, &step),
        GANTRY_OK);
    for (int i = 0; i < 60; ++i)
        assert_int_equal(gantry_function_call(scope, step, inputs, 2, &loss, 1), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(gantry_variable_read(scope, w), &value, sizeof value),
                     GANTRY_OK);
    assert_float_equal(value, 3, 1e-4);
    gantry_function_release(step);
    gantry_variable_release(w);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* ---- bad input ---- */

TEST(op_without_a_gradient_is_named) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, 2), *gradient;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_truncate_mod(scope, x, x);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient),
                     GANTRY_UNIMPLEMENTED);
    assert_non_null(strstr(gantry_scope_message(scope), "op TruncateMod has no gradient"));
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_UNIMPLEMENTED);
}

TEST(second_gradient_of_a_plain_tape_is_refused) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, 2), *gradient;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_square(scope, x);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient), GANTRY_OK);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient),
                     GANTRY_FAILED_PRECONDITION);
    assert_null(gradient);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_FAILED_PRECONDITION);
}

/* An attribute that is an empty list, at an address that is the caller's. */
TEST(attributes_may_be_empty_lists) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const int64_t none[1] = {0};
    const gantry_attr_value_t axes = {
        .name = "squeeze_dims", .kind = GANTRY_ATTR_INTS, .i = 0, .list = none};
    const float values[] = {3, 4};
    tensor *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1), values, 8);
    tensor *y = NULL, *gradient;
    size_t count = 1;
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, x), GANTRY_OK);
    assert_int_equal(gantry_op_call(scope, "Squeeze", &x, 1, &axes, 1, &y, &count), GANTRY_OK);
    const gantry_source_t source = of_tensor(x);
    y = gantry_square(scope, y);
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient), GANTRY_OK);
    expect_values(gradient, 6, 8);
    gantry_tape_end(tape);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* ---- memory ---- */

static gantry_status_t compute_once(void) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = vector(scope, 1, 2), *gradient;
    const gantry_source_t source = of_tensor(x);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    if (tape) (void)gantry_tape_watch(tape, x);
    tensor *y = gantry_sum(scope, gantry_square(scope, x), NULL);
    if (y) (void)gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient);
    gantry_tape_end(tape);
    return gantry_scope_end(scope);
}

TEST(failing_allocations_leak_nothing) {
    assert_int_equal(compute_once(), GANTRY_OK);
    const long count = train_heap_count();
    assert_true(count > 0);
    for (long i = 0; i < count; ++i) {
        train_heap_reset(i);
        assert_int_equal(compute_once(), GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(train_heap_live(), 0);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
