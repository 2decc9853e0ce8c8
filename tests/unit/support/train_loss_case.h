/* SPDX-License-Identifier: Apache-2.0 */
/* Keras's losses, checked on a device: called at once and inside a function. Header only. */
#ifndef TESTS_TRAIN_LOSS_CASE_H
#define TESTS_TRAIN_LOSS_CASE_H

#include <gantry_train/loss.h>
#include <gantry_train/tape.h>

#include "train_case.h"

typedef struct train_loss_case_t {
    const char *name;
    gantry_loss_t loss;
    gantry_loss_options_t options;
    train_tensor_t labels, predictions, weights, expected;
    train_tensor_t gradient; /* of the sum of expected, with regard to predictions */
} train_loss_case_t;

static const train_loss_case_t train_loss_cases[] = {
#include "train_loss_cases.inc"
};

enum { TRAIN_LOSS_CASES = sizeof train_loss_cases / sizeof train_loss_cases[0] };

static inline const double *train_loss_bound(const train_loss_case_t *c) {
    static const double single = 2e-6, twice = 1e-13;
    return c->predictions.dtype == GANTRY_FLOAT32 ? &single : &twice;
}

static inline void train_loss_name(const train_loss_case_t *c, const char *how, char out[128]) {
    (void)snprintf(out, 128, "%s, %s, %s", gantry_loss_name(c->loss), c->name, how);
}

static inline void train_loss_eager(gantry_scope_t *scope, const train_loss_case_t *c) {
    char name[128];
    gantry_loss_options_t options = c->options;
    options.sample_weights = train_make(scope, &c->weights);
    const gantry_tensor_t *got = gantry_loss(scope, c->loss, train_make(scope, &c->labels),
                                             train_make(scope, &c->predictions), &options);
    train_loss_name(c, "at once", name);
    train_expect(name, got, &c->expected, train_loss_bound(c));
}

static inline void train_loss_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                   const gantry_tensor_t **outputs, void *user) {
    const train_loss_case_t *c = user;
    gantry_loss_options_t options = c->options;
    options.sample_weights = c->weights.hex ? inputs[2] : NULL;
    outputs[0] = gantry_loss(scope, c->loss, inputs[0], inputs[1], &options);
}

static inline void train_loss_captured(gantry_scope_t *scope, const train_loss_case_t *c) {
    char name[128];
    train_loss_case_t copy = *c;
    const size_t count = c->weights.hex ? 3 : 2;
    const gantry_input_spec_t specs[] = {train_spec(&c->labels), train_spec(&c->predictions),
                                         train_spec(&c->weights)};
    gantry_function_t *function = function_fixture_trace(
        gantry_scope_runtime(scope), train_loss_body, &copy, specs, count, 1, NULL);
    const gantry_tensor_t *got,
        *inputs[] = {train_make(scope, &c->labels), train_make(scope, &c->predictions),
                     train_make(scope, &c->weights)};
    function_fixture_call(scope, function, inputs, count, &got, 1);
    train_loss_name(c, "captured", name);
    train_expect(name, got, &c->expected, train_loss_bound(c));
    gantry_function_release(function);
}

static inline void train_loss_gradient(gantry_scope_t *scope, const train_loss_case_t *c) {
    static const double single = 5e-6, twice = 1e-13;
    char name[128];
    gantry_loss_options_t options = c->options;
    options.sample_weights = train_make(scope, &c->weights);
    const gantry_tensor_t *labels = train_make(scope, &c->labels), *gradient;
    const gantry_source_t source = {.tensor = train_make(scope, &c->predictions)};
    train_loss_name(c, "its gradient", name);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, source.tensor), GANTRY_OK);
    const gantry_tensor_t *loss = gantry_loss(scope, c->loss, labels, source.tensor, &options);
    if (gantry_tape_gradient(tape, loss, NULL, &source, 1, NULL, &gradient) != GANTRY_OK)
        fail_msg("%s: %s", name, gantry_scope_message(scope));
    gantry_tape_end(tape);
    train_expect(name, gradient, &c->gradient,
                 c->predictions.dtype == GANTRY_FLOAT32 ? &single : &twice);
}

/* Every case whose number is a multiple of `each`. */
static inline void train_loss_check(gantry_runtime_t *runtime, const char *device, size_t each,
                                    void (*check)(gantry_scope_t *scope,
                                                  const train_loss_case_t *c)) {
    for (size_t i = 0; i < TRAIN_LOSS_CASES; i += each) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, device);
        assert_non_null(scope);
        check(scope, &train_loss_cases[i]);
        expect_ended_well(scope);
    }
}

#endif
