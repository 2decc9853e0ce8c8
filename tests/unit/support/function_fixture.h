/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in tests: traced, called and refused over a runtime fixture. Header only. */
#ifndef TESTS_FUNCTION_FIXTURE_H
#define TESTS_FUNCTION_FIXTURE_H

#include "runtime_fixture.h"

#define SPEC(type, ...) \
    (gantry_input_spec_t) { NULL, type, GANTRY_SHAPE(__VA_ARGS__) }
#define SPEC_F32(...) SPEC(GANTRY_FLOAT32, __VA_ARGS__)
#define SPEC_I32(...) SPEC(GANTRY_INT32, __VA_ARGS__)

/* Expects this failure of a call that returns a status. */
#define expect_refusal(call, code, text)                                                          \
    do {                                                                                          \
        assert_int_equal(call, code);                                                             \
        if (!strstr(gantry_last_message(), text)) fail_msg("message: %s", gantry_last_message()); \
    } while (0)

static inline gantry_function_t *function_fixture_trace(gantry_runtime_t *runtime,
                                                        gantry_function_body_fn body, void *user,
                                                        const gantry_input_spec_t *inputs,
                                                        size_t input_count, size_t output_count,
                                                        const gantry_function_options_t *options) {
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", body, user, inputs, input_count, output_count, options,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

/* Of two floats to one output; the function is released. NULL is what a refused one gives. */
static inline gantry_status_t function_fixture_try(runtime_fixture_t *f,
                                                   gantry_function_body_fn body, void *user) {
    const gantry_input_spec_t input = SPEC_F32(2);
    gantry_function_t *function = (gantry_function_t *)(void *)f;
    gantry_status_t status =
        gantry_function_trace(f->runtime, "f", body, user, &input, 1, 1, NULL, &function);
    if (status == GANTRY_OK) {
        gantry_function_release(function);
    } else {
        assert_null(function);
    }
    return status;
}

static inline void function_fixture_call(gantry_scope_t *scope, gantry_function_t *function,
                                         const gantry_tensor_t *const *inputs, size_t input_count,
                                         const gantry_tensor_t **outputs, size_t output_count) {
    if (gantry_function_call(scope, function, inputs, input_count, outputs, output_count) !=
        GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
}

static inline void negating(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(scope, inputs[0]);
}

static inline void setting_nothing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                   const gantry_tensor_t **outputs, void *user) {
    (void)scope, (void)inputs, (void)outputs, (void)user;
}

#endif
