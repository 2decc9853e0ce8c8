/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Jacobians of tensors and variables, of second order, of a batch and in functions are
 * TensorFlow's, on the CPU backend and on PoCL. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>

#include <math.h>

#include "test.h"
#include "train_case.h"
#include "train_given.h"

#include <gantry_train/tape.h>

typedef const gantry_tensor_t tensor;

static const double wanted[4][12 * 8] = {
#include "train_jacobian_cases.inc"
};

enum { OF_X, OF_W, SECOND, BATCH, RESULTS };

static const size_t counts[RESULTS] = {72, 96, 36, 24};

/* ---- the program of make_jacobian_cases.py ---- */

static gantry_variable_t *weights;

static tensor *make_x(gantry_scope_t *scope) {
    double x[6];
    for (int i = 0; i < 6; ++i) x[i] = (double)(i * 7 % 11 - 5) / 8;
    return gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(3, 2), x, sizeof x);
}

static gantry_variable_t *make_weights(gantry_scope_t *scope) {
    double w[8];
    for (int i = 0; i < 8; ++i) w[i] = (double)(i * 5 % 13 - 6) / 8;
    return gantry_variable_create(
        scope, gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(2, 4), w, sizeof w), "w");
}

static void compute_all(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    static const gantry_tape_options_t persistent = {.persistent = true};
    tensor *x = inputs[0], *first;
    const gantry_source_t sources[] = {{.tensor = x}, {.variable = weights}};
    (void)user;
    gantry_tape_t *outer = gantry_tape_begin(scope, &persistent);
    (void)gantry_tape_watch(outer, x);
    gantry_tape_t *tape = gantry_tape_begin(scope, &persistent);
    (void)gantry_tape_watch(tape, x);
    tensor *product =
        gantry_tanh(scope, gantry_matmul(scope, x, gantry_variable_read(scope, weights), NULL));
    tensor *corner = gantry_slice(scope, x, (int64_t[]){0, 0}, (int64_t[]){1, 1});
    tensor *y = gantry_add(scope, product, corner);
    tensor *loss = gantry_sum(scope, gantry_square(scope, y), NULL);
    (void)gantry_tape_jacobian(tape, y, sources, 2, NULL, outputs);
    (void)gantry_tape_gradient(tape, loss, NULL, sources, 1, NULL, &first);
    (void)gantry_tape_jacobian(outer, first, sources, 1, NULL, &outputs[SECOND]);
    outputs[BATCH] = gantry_tape_batch_jacobian(tape, product, x);
    gantry_tape_end(tape);
    gantry_tape_end(outer);
}

static void expect_all(tensor *const *outputs) {
    const gantry_shape_t shapes[RESULTS] = {GANTRY_SHAPE(3, 4, 3, 2), GANTRY_SHAPE(3, 4, 2, 4),
                                            GANTRY_SHAPE(3, 2, 3, 2), GANTRY_SHAPE(3, 4, 2)};
    for (int i = 0; i < RESULTS; ++i) {
        double numbers[12 * 8];
        assert_non_null(outputs[i]);
        assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[i]), &shapes[i]));
        must(gantry_tensor_read(outputs[i], numbers, counts[i] * sizeof *numbers));
        for (size_t k = 0; k < counts[i]; ++k) {
            if (!(fabs(numbers[k] - wanted[i][k]) <= 1e-12 * (1 + fabs(wanted[i][k]))))
                fail_msg("result %d, number %zu is %.17g; TensorFlow has %.17g", i, k, numbers[k],
                         wanted[i][k]);
        }
    }
}

static void follow(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    tensor *x = make_x(scope), *outputs[RESULTS] = {NULL}, *traced[RESULTS] = {NULL};
    const gantry_input_spec_t spec = {.dtype = GANTRY_FLOAT64, .shape = GANTRY_SHAPE(3, 2)};
    gantry_function_t *function;
    weights = make_weights(scope);
    compute_all(scope, &x, outputs, NULL);
    must(gantry_scope_status(scope));
    expect_all(outputs);
    must(gantry_function_trace(runtime, "jacobians", compute_all, NULL, &spec, 1, RESULTS, NULL,
                               &function));
    must(gantry_function_call(scope, function, &x, 1, traced, RESULTS));
    expect_all(traced);
    gantry_function_release(function);
    gantry_variable_release(weights);
    must(gantry_scope_end(scope));
}

TEST(jacobians_are_tensorflows) { follow(fixture.runtime, NULL); }

TEST(jacobians_on_pocl_are_tensorflows) {
    gantry_runtime_t *runtime = train_open_gpu();
    follow(runtime, "/GPU:0");
    gantry_runtime_release(runtime);
}

/* ---- None, sizes, and how often ---- */

TEST(unconnected_sources_have_none_or_zeros) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = make_x(scope), *apart = make_x(scope), *got[2];
    const gantry_source_t sources[] = {{.tensor = x}, {.tensor = apart}};
    gantry_tape_t *tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    (void)gantry_tape_watch(tape, x);
    (void)gantry_tape_watch(tape, apart);
    tensor *y = gantry_square(scope, x), *number = gantry_sum(scope, y, NULL);
    must(gantry_tape_jacobian(tape, y, sources, 2, NULL, got));
    assert_non_null(got[0]);
    assert_null(got[1]);
    must(gantry_tape_jacobian(tape, number, sources, 2,
                              &(gantry_gradient_options_t){.zeros_where_unconnected = true}, got));
    assert_int_equal(gantry_tensor_shape(got[0])->rank, 2); /* as the gradient */
    assert_int_equal(gantry_tensor_shape(got[1])->rank, 2);
    tensor *zeros = gantry_tape_batch_jacobian(tape, y, apart);
    double numbers[12];
    must(gantry_tensor_read(zeros, numbers, sizeof numbers));
    for (int i = 0; i < 12; ++i) assert_true(numbers[i] == 0);
    tensor *none = gantry_slice(scope, y, (int64_t[]){0, 0}, (int64_t[]){0, 2});
    must(gantry_tape_jacobian(tape, none, sources, 1, NULL, got));
    assert_int_equal(gantry_tensor_elements(got[0]), 0);
    assert_int_equal(gantry_tensor_shape(got[0])->rank, 4);
    gantry_tape_end(tape);
    must(gantry_scope_end(scope));
}

/* More elements than an op has inputs. */
TEST(many_rows_are_joined) {
    enum { MANY = 150 };
    static double values[MANY], numbers[MANY * MANY];
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    for (int i = 0; i < MANY; ++i) values[i] = i + 1;
    tensor *x =
               gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(1, MANY), values, sizeof values),
           *got;
    for (int batch = 0; batch < 2; ++batch) {
        gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
        (void)gantry_tape_watch(tape, x);
        tensor *y = gantry_square(scope, x);
        if (batch)
            got = gantry_tape_batch_jacobian(tape, y, x);
        else
            must(gantry_tape_jacobian(tape, y, &(gantry_source_t){.tensor = x}, 1, NULL, &got));
        gantry_tape_end(tape);
        must(gantry_tensor_read(got, numbers, sizeof numbers));
        for (int i = 0; i < MANY * MANY; ++i)
            assert_true(numbers[i] == (i % (MANY + 1) == 0 ? 2.0 * (i / MANY + 1) : 0.0));
    }
    must(gantry_scope_end(scope));
}

static void expect_kept_failure(gantry_scope_t *scope, gantry_status_t status, const char *text) {
    assert_int_equal(gantry_scope_status(scope), status);
    if (!strstr(gantry_scope_message(scope), text))
        fail_msg("\"%s\" lacks \"%s\"", gantry_scope_message(scope), text);
    gantry_scope_clear(scope);
}

TEST(wrong_calls_are_refused) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = make_x(scope), *got = x;
    tensor *wide = gantry_zeros(scope, GANTRY_FLOAT64, GANTRY_SHAPE(1, 1, 1, 1, 1, 1, 1));
    const gantry_source_t of_x = {.tensor = x}, of_none = {NULL};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    (void)gantry_tape_watch(tape, wide);
    tensor *y = gantry_square(scope, x), *z = gantry_square(scope, wide);
    (void)gantry_tape_jacobian(tape, NULL, &of_x, 1, NULL, &got);
    assert_null(got);
    expect_kept_failure(scope, GANTRY_INVALID_ARGUMENT, "gantry_tape_jacobian: the target is NULL");
    (void)gantry_tape_jacobian(tape, y, &of_none, 1, NULL, &got);
    expect_kept_failure(scope, GANTRY_INVALID_ARGUMENT, "source 0 has neither tensor nor variable");
    (void)gantry_tape_jacobian(tape, z, &of_x, 1, NULL, &got);
    expect_kept_failure(scope, GANTRY_INVALID_ARGUMENT,
                        "8 dimensions of both together are accepted");
    assert_null(gantry_tape_batch_jacobian(tape, y, wide));
    expect_kept_failure(scope, GANTRY_INVALID_ARGUMENT, "the same first dimension is accepted");
    assert_null(gantry_tape_batch_jacobian(tape, gantry_sum(scope, y, NULL), x));
    expect_kept_failure(scope, GANTRY_INVALID_ARGUMENT, "a first dimension of samples");
    (void)gantry_tape_jacobian(tape, y, &of_x, 1, &(gantry_gradient_options_t){.struct_size = 99},
                               &got);
    expect_kept_failure(scope, GANTRY_INVALID_ARGUMENT, "struct_size is 99");
    gantry_tape_end(tape);
    tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    y = gantry_square(scope, x);
    must(gantry_tape_jacobian(tape, y, &of_x, 1, NULL, &got));
    (void)gantry_tape_jacobian(tape, y, &of_x, 1, NULL, &got);
    expect_kept_failure(scope, GANTRY_FAILED_PRECONDITION, "a persistent tape computes several");
    gantry_tape_end(tape);
    must(gantry_scope_end(scope));
}

static gantry_status_t try_all(void *user) {
    (void)user;
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = make_x(scope), *outputs[RESULTS] = {NULL};
    weights = make_weights(scope);
    compute_all(scope, &x, outputs, NULL);
    gantry_variable_release(weights);
    return gantry_scope_end(scope);
}

TEST(memory_may_be_out) { assert_true(train_heap_fail_each("jacobians", try_all, NULL) > 20); }

/* ---- functions that a tape recorded ---- */

static void square_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    (void)user;
    outputs[0] = gantry_square(scope, inputs[0]);
}

TEST(released_function_has_a_gradient) {
    const gantry_input_spec_t spec = {.dtype = GANTRY_FLOAT64, .shape = GANTRY_SHAPE(3, 2)};
    double x_values[6], numbers[6];
    gantry_function_t *function;
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = make_x(scope), *y, *gradient;
    const gantry_source_t source = {.tensor = x};
    must(gantry_function_trace(fixture.runtime, "square", square_body, NULL, &spec, 1, 1, NULL,
                               &function));
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    must(gantry_function_call(scope, function, &x, 1, &y, 1));
    gantry_function_release(function);
    must(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient));
    gantry_tape_end(tape);
    must(gantry_tensor_read(x, x_values, sizeof x_values));
    must(gantry_tensor_read(gradient, numbers, sizeof numbers));
    for (int i = 0; i < 6; ++i) assert_true(numbers[i] == 2 * x_values[i]);
    must(gantry_scope_end(scope));
}

int main(void) { return test_main_each(set_up, tear_down); }
