/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A callback of a gradient, replica, loss, rate, layer, observer or device function that
 * ends its own scope, or one around it, is refused with FailedPrecondition.
 * Promise: A callback of a gradient may end its tape, watch tensors with the tape or resume it
 * without harm, and is refused if it asks the tape for another gradient.
 * Promise: A callback of a gradient, replica, loss, rate or layer that leaves a block of
 * gantry_device_begin open is refused with FailedPrecondition.
 * Promise: A scope that a library on top of Gantry has lent cannot be ended until it has been taken
 * back as often as it was lent. */
#define _POSIX_C_SOURCE 200809L

#include <gantry_train/train.h>

#include "test.h"
#include "train_fixture.h"

typedef const gantry_tensor_t tensor;

static gantry_scope_t *outer; /* of the test */
static bool ends_outer;       /* else the callback's own */
static gantry_status_t ended;

static bool leaves_open; /* it leaves a device block open, and ends nothing */

static void end_one(gantry_scope_t *own) {
    if (leaves_open) {
        (void)gantry_device_begin(own, "/CPU:0");
        return;
    }
    ended = gantry_scope_end(ends_outer || !own ? outer : own);
}

static tensor *ones(gantry_scope_t *s) { return gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(2)); }

/* ---- callbacks ---- */

static void relu(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    out[0] = gantry_relu(s, in[0]);
}

static void ending_forward(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    relu(s, in, out, user);
    end_one(s);
}

static void ending_backward(gantry_scope_t *s, tensor *const *in, tensor *const *out,
                            tensor *const *dy, tensor **dx, void *user) {
    (void)in;
    (void)out;
    (void)user;
    dx[0] = gantry_neg(s, dy[0]);
    end_one(s);
}

static void ending_replica(gantry_scope_t *s, size_t replica, void *user) {
    (void)replica;
    (void)user;
    end_one(s);
}

static tensor *ending_loss(gantry_scope_t *s, tensor *labels, tensor *predictions, void *user) {
    (void)user;
    tensor *loss = gantry_sub(s, labels, predictions);
    end_one(s);
    return loss;
}

static tensor *ending_rate(gantry_scope_t *s, tensor *step, gantry_dtype_t dtype, void *user) {
    (void)user;
    tensor *rate = gantry_cast(s, step, dtype);
    end_one(s);
    return rate;
}

static gantry_status_t ending_observer(gantry_scope_t *s, const gantry_observation_t *observation,
                                       void *user) {
    (void)observation;
    (void)user;
    end_one(s);
    return GANTRY_OK;
}

static const char *ending_choice(const gantry_device_choice_t *choice, void *user) {
    (void)choice;
    (void)user;
    end_one(NULL);
    return NULL;
}

/* ---- calls with such a callback ---- */

static void call_forward(void) {
    tensor *x = ones(outer), *y;
    (void)gantry_custom_gradient(outer, ending_forward, ending_backward, NULL, &x, 1, &y, 1);
}

static void call_backward(void) {
    tensor *x = ones(outer), *y, *dx;
    gantry_tape_t *tape = gantry_tape_begin(outer, NULL);
    (void)gantry_tape_watch(tape, x);
    (void)gantry_custom_gradient(outer, relu, ending_backward, NULL, &x, 1, &y, 1);
    (void)gantry_tape_gradient(tape, y, NULL, &(gantry_source_t){.tensor = x}, 1, NULL, &dx);
    gantry_tape_end(tape);
}

static void call_replica(void) {
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, NULL, 0);
    (void)gantry_strategy_run(strategy, outer, ending_replica, NULL);
    gantry_strategy_release(strategy);
}

static void call_loss(void) {
    const gantry_loss_options_t options = {.struct_size = sizeof options, .function = ending_loss};
    (void)gantry_loss(outer, GANTRY_OWN_LOSS, ones(outer), ones(outer), &options);
}

static void call_rate(void) {
    gantry_schedule_t *schedule = gantry_schedule_create(ending_rate, NULL);
    const int64_t step = 1;
    tensor *at = gantry_constant(outer, GANTRY_INT64, GANTRY_SCALAR, &step, sizeof step);
    (void)gantry_schedule_rate(outer, schedule, at, GANTRY_FLOAT32);
    gantry_schedule_release(schedule);
}

static void call_observer(void) {
    gantry_observer_t observer = {.observe = ending_observer};
    assert_int_equal(gantry_scope_observe(outer, &observer), GANTRY_OK);
    tensor *x = ones(outer);
    (void)gantry_softmax(outer, x);
    gantry_scope_unobserve(outer, &observer);
}

/* The parts of a composed op are in a scope of their own. */
static void call_choice(void) {
    gantry_scope_t *s = gantry_scope_begin_choosing(outer, ending_choice, NULL);
    tensor *x = gantry_softmax(s, ones(s));
    tensor *mean, *variance;
    (void)gantry_moments(s, x, NULL, &mean, &variance);
    (void)gantry_scope_fail(outer, gantry_scope_end(s), "of the scope inside");
}

TEST(callbacks_do_not_end_scopes) {
    static void (*const calls[])(void) = {call_forward, call_backward, call_replica, call_loss,
                                          call_rate,    call_observer, call_choice};
    for (size_t i = 0; i < 2 * sizeof calls / sizeof calls[0]; ++i) {
        ends_outer = i % 2;
        ended = GANTRY_OK;
        outer = gantry_scope_begin(fixture.runtime, NULL);
        calls[i / 2]();
        if (ended != GANTRY_FAILED_PRECONDITION)
            fail_msg("call %zu: the end of the scope gave %s", i / 2, gantry_status_name(ended));
        assert_int_equal(gantry_scope_end(outer), GANTRY_FAILED_PRECONDITION);
    }
}

TEST(callbacks_do_not_leave_blocks_open) {
    static void (*const calls[])(void) = {call_forward, call_backward, call_replica, call_loss,
                                          call_rate};
    leaves_open = true;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        outer = gantry_scope_begin(fixture.runtime, NULL);
        calls[i]();
        assert_non_null(strstr(gantry_scope_message(outer), "a gantry_device_begin has no"));
        assert_int_equal(gantry_scope_end(outer), GANTRY_FAILED_PRECONDITION);
    }
    leaves_open = false;
}

/* ---- a layer, in a model ---- */

static tensor *ending_layer(const gantry_layer_call_t *call, void *user) {
    (void)user;
    tensor *y = gantry_neg(call->scope, call->inputs[0]);
    end_one(call->scope);
    return y;
}

static gantry_status_t build_with_layer(void) {
    static const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Ending", .call = ending_layer};
    ends_outer = false;
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_layer_create(&kind, NULL, NULL));
    const gantry_status_t status = gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(2));
    gantry_model_release(model);
    return status;
}

TEST(layer_does_not_end_its_scope) {
    assert_int_equal(build_with_layer(), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(ended, GANTRY_FAILED_PRECONDITION);
}

TEST(layer_does_not_leave_a_block_open) {
    leaves_open = true;
    assert_int_equal(build_with_layer(), GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "a gantry_device_begin has no"));
    leaves_open = false;
}

/* ---- the tape of a callback ---- */

typedef struct own_tape_t {
    gantry_tape_t *tape;
    bool ends, asks;
} own_tape_t;

static void calling_backward(gantry_scope_t *s, tensor *const *in, tensor *const *out,
                             tensor *const *dy, tensor **dx, void *user) {
    own_tape_t *own = user;
    gantry_tape_pause(own->tape, false);
    for (int i = 0; i < 100; ++i) {
        tensor *more = gantry_add(s, in[0], ones(s));
        (void)gantry_tape_watch(own->tape, more);
        (void)gantry_mul(s, more, in[0]);
    }
    if (own->asks)
        (void)gantry_tape_gradient(own->tape, out[0], NULL, &(gantry_source_t){.tensor = in[0]}, 1,
                                   NULL, dx);
    if (own->ends) gantry_tape_end(own->tape);
    dx[0] = gantry_add(s, dy[0], dy[0]);
}

static gantry_status_t run_own_tape(own_tape_t *own, bool is_jacobian) {
    gantry_scope_t *s = gantry_scope_begin(fixture.runtime, NULL);
    tensor *x = ones(s), *y = NULL, *z, *dx = NULL;
    own->tape = gantry_tape_begin(s, NULL);
    (void)gantry_tape_watch(own->tape, x);
    z = gantry_neg(s, x); /* recorded before: its rule runs after the callback */
    (void)gantry_custom_gradient(s, relu, calling_backward, own, &z, 1, &y, 1);
    const gantry_source_t source = {.tensor = x};
    if (is_jacobian)
        (void)gantry_tape_jacobian(own->tape, y, &source, 1, NULL, &dx);
    else
        (void)gantry_tape_gradient(own->tape, y, NULL, &source, 1, NULL, &dx);
    float slope = 0;
    if (dx) assert_int_equal(gantry_tensor_read(gantry_sum(s, dx, NULL), &slope, 4), GANTRY_OK);
    if (!own->asks) assert_true(slope == -4);
    if (!own->ends) gantry_tape_end(own->tape);
    return gantry_scope_end(s);
}

TEST(callbacks_may_call_their_tape) {
    for (int i = 0; i < 4; ++i) {
        own_tape_t own = {.ends = i % 2};
        assert_int_equal(run_own_tape(&own, i / 2), GANTRY_OK);
        own = (own_tape_t){.asks = true};
        assert_int_equal(run_own_tape(&own, i / 2), GANTRY_FAILED_PRECONDITION);
    }
}

/* ---- loans ---- */

TEST(lent_scope_ends_after_it_was_taken_back) {
    gantry_scope_t *s = gantry_scope_begin(fixture.runtime, NULL);
    for (int i = 0; i < 2; ++i) assert_int_equal(gantry_scope_lend(s), GANTRY_OK);
    gantry_scope_take_back(s);
    assert_int_equal(gantry_scope_end(s), GANTRY_FAILED_PRECONDITION);
    gantry_scope_clear(s);
    gantry_scope_take_back(s);
    gantry_scope_take_back(s); /* nothing is lent */
    assert_int_equal(gantry_scope_end(s), GANTRY_OK);
    assert_int_equal(gantry_scope_lend(NULL), GANTRY_INVALID_ARGUMENT);
    gantry_scope_take_back(NULL);
}

int main(void) { return test_main_each(set_up, tear_down); }
