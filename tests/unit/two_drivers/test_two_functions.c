/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: After a card of the stand-in for NVIDIA's driver is lost between two calls of a
 * function, the next call names node and card, and the function goes on elsewhere.
 *
 * Work that is under way is reported with its functions. */
#define _XOPEN_SOURCE 700

#include "two_drivers.h"

static const float six[] = {1, 2, 3, 4, 5, 6};

typedef struct used_t {
    const char *device;          /* that the body asks for; NULL: the scope of the call */
    gantry_variable_t *variable; /* NULL: none */
} used_t;

/* x * x on the device, and the sum of it and x on the CPU. */
static void squaring(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const used_t *used = user;
    gantry_scope_t *there = gantry_scope_begin_in(scope, used->device),
                   *cpu = gantry_scope_begin_in(scope, "CPU:0");
    const gantry_tensor_t *x = inputs[0];
    if (used->variable) x = gantry_variable_read(there, used->variable);
    (void)gantry_scope_name_next(there, "squared");
    const gantry_tensor_t *product = gantry_matmul(there, x, x, NULL);
    outputs[0] = gantry_identity(scope, gantry_add(cpu, product, inputs[0]));
    (void)gantry_scope_end(cpu);
    (void)gantry_scope_end(there);
}

static gantry_status_t call_on(two_drivers_t *t, gantry_function_t *function, const char *device) {
    gantry_scope_t *host = two_drivers_scope(t, "CPU:0"), *scope = two_drivers_scope(t, device);
    const gantry_tensor_t *x = gantry_constant(host, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), six, 16),
                          *got;
    float values[4];
    gantry_status_t status = gantry_function_call(scope, function, &x, 1, &got, 1);
    if (status == GANTRY_OK) status = gantry_tensor_read(got, values, sizeof values);
    if (status == GANTRY_OK && (values[0] != 8 || values[3] != 26))
        fail_msg("%g and %g", (double)values[0], (double)values[3]);
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
    two_drivers_end_scope(host);
    return status;
}

static gantry_function_t *trace(two_drivers_t *t, used_t *used) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(-1, 2)};
    gantry_function_t *function;
    if (gantry_function_trace(t->runtime, "f", squaring, used, &input, 1, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static void expect_message(const char *text) {
    if (!strstr(gantry_last_message(), text)) fail_msg("message: %s", gantry_last_message());
}

static void expect_lost_call(two_drivers_t *t, gantry_function_t *function, const char *device,
                             const char *node) {
    gantry_status_t status = call_on(t, function, device);
    if (status != GANTRY_UNAVAILABLE && status != GANTRY_INVALID_ARGUMENT)
        fail_msg("%s: %s", gantry_status_name(status), gantry_last_message());
    expect_message("function f: ");
    expect_message(node);
    expect_message("/device:GPU:0");
    expect_message("was lost");
    expect_message("CUDA_ERROR_LAUNCH_FAILED");
}

/* The first call after the loss may be the one that meets it; later ones are placed anew. */
static void lost_card_is_named_with_the_node(void **state) {
    two_drivers_t t;
    used_t used = {.device = "GPU:0"};
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_function_t *function = trace(&t, &used);
    for (int k = 0; k < 2; ++k) {
        if (call_on(&t, function, NULL) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    }
    two_drivers_control()->lose(0, 719);
    expect_lost_call(&t, function, NULL,
                     "node x (Placeholder) of float32[2,2] on "); /* it cannot be sent there */
    for (int k = 0; k < 2; ++k)
        expect_lost_call(&t, function, NULL, "Cannot assign a device for operation squared: ");
    gantry_function_release(function);
    two_drivers_expect_product(&t, "GPU:1", "/device:GPU:1");
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

/* ---- after the call has returned ---- */

static void doubling(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

static gantry_function_t *trace_doubling(two_drivers_t *t, const char *name) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2)};
    gantry_function_t *function;
    if (gantry_function_trace(t->runtime, name, doubling, NULL, &input, 1, 1, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static const gantry_tensor_t *call_doubling(gantry_scope_t *scope, gantry_function_t *function) {
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2), six, 8),
                          *got;
    if (gantry_function_call(scope, function, &x, 1, &got, 1) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return got;
}

/* The card is lost while nobody waits for the work of two functions; that of a third has ended, and
 * its result was read. */
static void work_that_fails_later_is_told_with_its_functions(void **state) {
    static const char expected[] = "; not known to have ended: function doubled, thrice";
    two_drivers_t t;
    float values[2];
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_function_t *read = trace_doubling(&t, "read"), *first = trace_doubling(&t, "doubled"),
                      *second = trace_doubling(&t, "thrice");
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    const gantry_tensor_t *good = call_doubling(scope, read);
    assert_int_equal(gantry_tensor_read(good, values, sizeof values), GANTRY_OK);
    (void)call_doubling(scope, first);
    (void)call_doubling(scope, first);
    const gantry_tensor_t *bad = call_doubling(scope, second);
    gantry_function_release(first);
    two_drivers_control()->lose(0, 719);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(gantry_tensor_read(bad, values, sizeof values), GANTRY_UNAVAILABLE);
        expect_message("/device:GPU:0 was lost: ");
        expect_message("CUDA_ERROR_LAUNCH_FAILED");
        const char *at = strstr(gantry_last_message(), expected);
        if (!at) fail_msg("message: %s", gantry_last_message());
        assert_string_equal(at, expected);
    }
    two_drivers_end_scope(scope);
    gantry_function_release(second);
    gantry_function_release(read);
    two_drivers_expect_product(&t, "GPU:1", "/device:GPU:1");
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

/* All work of the function has ended: a later failure does not name it. */
static void work_that_has_ended_is_not_told(void **state) {
    two_drivers_t t;
    float values[2];
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_function_t *function = trace_doubling(&t, "doubled");
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    const gantry_tensor_t *good = call_doubling(scope, function);
    assert_int_equal(gantry_tensor_read(good, values, sizeof values), GANTRY_OK);
    const gantry_tensor_t *bad = gantry_add(scope, good, good);
    two_drivers_control()->lose(0, 719);
    assert_int_equal(gantry_tensor_read(bad, values, sizeof values), GANTRY_UNAVAILABLE);
    expect_message("/device:GPU:0 was lost: ");
    assert_null(strstr(gantry_last_message(), "doubled"));
    two_drivers_end_scope(scope);
    gantry_function_release(function);
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

static void function_goes_on_where_its_next_call_asks(void **state) {
    two_drivers_t t;
    used_t used = {.device = NULL};
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_function_t *function = trace(&t, &used);
    assert_int_equal(call_on(&t, function, "GPU:0"), GANTRY_OK);
    two_drivers_control()->lose(0, 719);
    expect_lost_call(&t, function, "GPU:0", "node x (Placeholder) of float32[2,2] on ");
    for (int k = 0; k < 2; ++k) {
        if (call_on(&t, function, "GPU:1") != GANTRY_OK) fail_msg("%s", gantry_last_message());
        if (call_on(&t, function, "CPU:0") != GANTRY_OK) fail_msg("%s", gantry_last_message());
    }
    expect_lost_call(&t, function, "GPU:0", "Cannot assign a device for operation squared: ");
    gantry_function_release(function);
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

static void variable_of_a_lost_card_is_named(void **state) {
    two_drivers_t t;
    used_t used = {.device = NULL};
    (void)state;
    two_drivers_open(&t, NULL);
    gantry_scope_t *scope = two_drivers_scope(&t, "GPU:0");
    used.variable = gantry_variable_create(
        scope, gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), six, 16), "w");
    assert_non_null(used.variable);
    two_drivers_end_scope(scope);
    gantry_function_t *function = trace(&t, &used);
    assert_int_equal(call_on(&t, function, "GPU:0"), GANTRY_OK);
    two_drivers_control()->lose(0, 719);
    expect_lost_call(&t, function, "GPU:0", "node ");
    expect_lost_call(&t, function, "GPU:1", "Cannot assign a device for operation w/read: ");
    gantry_function_release(function);
    gantry_variable_release(used.variable);
    two_drivers_close(&t);
    two_drivers_control()->reset();
}

#define TWO "devices=2;memory=64M"

int main(void) {
    const two_drivers_case_t cases[] = {
#define CASE(body, ...) {#body, body, __VA_ARGS__}
        CASE(lost_card_is_named_with_the_node, TWO, NULL, NULL, NULL),
        CASE(work_that_fails_later_is_told_with_its_functions, TWO, NULL, NULL, NULL),
        CASE(work_that_has_ended_is_not_told, TWO, NULL, NULL, NULL),
        CASE(function_goes_on_where_its_next_call_asks, TWO, NULL, NULL, NULL),
        CASE(variable_of_a_lost_card_is_named, TWO, NULL, NULL, NULL),
    };
    return two_drivers_run(cases, sizeof cases / sizeof cases[0]);
}
