/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: NULL in each place of the calls of gantry_train/tape.h is refused by name, or has the
 * meaning that the header gives it. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "runtime_fixture.h"
#include "test.h"
#include "train_heap.h"

#include <gantry_train/tape.h>

typedef const gantry_tensor_t tensor;

static runtime_fixture_t fixture;
static gantry_scope_t *scope;
static gantry_tape_t *tape;
static tensor *x, *y;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 0);
    scope = runtime_fixture_scope(&fixture, NULL);
    x = F32(scope, 1, 2);
    tape = gantry_tape_begin(scope, &(gantry_tape_options_t){.persistent = true});
    assert_int_equal(gantry_tape_watch(tape, x), GANTRY_OK);
    y = gantry_square(scope, x);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gantry_tape_end(tape);
    gantry_scope_clear(scope);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* A call without a scope says why as the thread's last message. */
static void expect_message(gantry_status_t status, const char *text) {
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_last_message(), text)) fail_msg("message: %s", gantry_last_message());
}

TEST(calls_without_a_tape_are_refused) {
    tensor *gradient = x;
    const gantry_source_t source = {.tensor = x};
    expect_message(gantry_tape_watch(NULL, x), "the tape is NULL");
    expect_message(gantry_tape_watch_variable(NULL, NULL), "the tape is NULL");
    expect_message(gantry_tape_gradient(NULL, y, NULL, &source, 1, NULL, &gradient),
                   "the tape is NULL");
    assert_null(gradient);
    gantry_tape_pause(NULL, true);
    gantry_tape_end(NULL);
    expect_ended_well(gantry_scope_begin_in(scope, NULL));
}

/* Its scope ends first, by itself or with the scope around it. */
TEST(a_tape_may_outlive_its_scope) {
    for (int k = 0; k < 2; ++k) {
        gantry_scope_t *outer = gantry_scope_begin_in(scope, NULL),
                       *inner = gantry_scope_begin_in(outer, NULL);
        gantry_tape_t *left = gantry_tape_begin(inner, NULL);
        assert_int_equal(gantry_tape_watch(left, x), GANTRY_OK);
        tensor *square = gantry_scope_keep(inner, gantry_square(inner, x)), *gradient = x;
        const gantry_source_t source = {.tensor = x};
        if (k == 0) assert_int_equal(gantry_scope_end(inner), GANTRY_OK);
        (void)gantry_scope_end(outer);
        assert_int_equal(gantry_tape_watch(left, x), GANTRY_FAILED_PRECONDITION);
        assert_int_equal(gantry_tape_gradient(left, x, NULL, &source, 1, NULL, &gradient),
                         GANTRY_FAILED_PRECONDITION);
        assert_string_equal(
            gantry_last_message(),
            "gantry_tape_gradient: the tape's scope has ended; a tape of an open scope is accepted");
        assert_null(gradient);
        assert_non_null(square);
        gantry_tape_end(left);
    }
}

TEST(calls_without_a_scope_are_refused) {
    tensor *output = x;
    assert_null(gantry_tape_begin(NULL, NULL));
    if (!strstr(gantry_last_message(), "NULL")) fail_msg("message: %s", gantry_last_message());
    assert_null(gantry_stop_gradient(NULL, x));
    if (!strstr(gantry_last_message(), "NULL")) fail_msg("message: %s", gantry_last_message());
    expect_message(gantry_custom_gradient(NULL, NULL, NULL, NULL, &x, 1, &output, 1), "NULL");
    assert_null(output);
}

TEST(tensors_that_are_null_are_refused) {
    tensor *gradient;
    gantry_source_t source = {.tensor = x};
    assert_int_equal(gantry_tape_watch(tape, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the tensor is NULL");
    assert_int_equal(gantry_tape_watch_variable(tape, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the variable is NULL");
    assert_int_equal(gantry_tape_gradient(tape, NULL, NULL, &source, 1, NULL, &gradient),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the target is NULL");
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, NULL, 1, NULL, &gradient),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "sources is NULL");
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, NULL),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "out_gradients is NULL");
    source.tensor = NULL;
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, &source, 1, NULL, &gradient),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "neither tensor nor variable");
    assert_null(gantry_stop_gradient(scope, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "NULL");
}

TEST(no_sources_are_no_failure) {
    assert_int_equal(gantry_tape_gradient(tape, y, NULL, NULL, 0, NULL, NULL), GANTRY_OK);
}

/* ---- custom gradients ---- */

static void forward(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(s, inputs[0]);
}

static void backward(gantry_scope_t *s, tensor *const *inputs, tensor *const *outputs,
                     tensor *const *output_gradients, tensor **input_gradients, void *user) {
    (void)inputs, (void)outputs, (void)user;
    input_gradients[0] = gantry_neg(s, output_gradients[0]);
}

static void forget(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)s, (void)inputs, (void)outputs, (void)user;
}

TEST(custom_gradient_refuses_null) {
    tensor *output = x, *none = NULL;
    (void)gantry_custom_gradient(scope, NULL, backward, NULL, &x, 1, &output, 1);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "forward is NULL");
    (void)gantry_custom_gradient(scope, forward, NULL, NULL, &x, 1, &output, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "backward is NULL");
    (void)gantry_custom_gradient(scope, forward, backward, NULL, NULL, 1, &output, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "inputs is NULL");
    (void)gantry_custom_gradient(scope, forward, backward, NULL, &x, 1, NULL, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "outputs is NULL");
    (void)gantry_custom_gradient(scope, forget, backward, NULL, &x, 1, &output, 1);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "does not set output 0");
    (void)gantry_custom_gradient(scope, forward, backward, NULL, &none, 1, &output, 1);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "NULL");
    assert_int_equal(gantry_custom_gradient(scope, forward, backward, NULL, &x, 1, &output, 1),
                     GANTRY_OK);
    assert_non_null(output);
}

/* An input that forward does not use. */
static void first_only(gantry_scope_t *s, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(s, inputs[0]);
}

TEST(custom_gradient_refuses_a_null_that_forward_ignores) {
    tensor *inputs[] = {x, NULL}, *output = x;
    (void)gantry_custom_gradient(scope, first_only, backward, NULL, inputs, 2, &output, 1);
    assert_null(output);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "input 1 is NULL");
}

int main(void) { return test_main_each(set_up, tear_down); }
