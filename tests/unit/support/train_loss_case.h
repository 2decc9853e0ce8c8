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
    golden_tensor_t labels, predictions, weights, expected;
    golden_tensor_t gradient; /* of the sum of expected, with regard to predictions */
} train_loss_case_t;

static inline gantry_loss_t train_loss_named(const char *name) {
    gantry_loss_t loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY;
    while (loss < GANTRY_DICE && strcmp(gantry_loss_name(loss), name) != 0) ++loss;
    assert_string_equal(gantry_loss_name(loss), name);
    return loss;
}

static inline train_loss_case_t train_loss_read(const golden_case_t *item) {
    static const char *const reductions[] = {"sum_over_batch_size", "sum", "none",
                                             "mean_with_sample_weight", NULL};
    assert_int_equal(item->input_count, 3);
    assert_int_equal(item->output_count, 2);
    train_loss_case_t c = {
        .name = item->name,
        .loss = train_loss_named(item->op),
        .options = {.struct_size = sizeof(gantry_loss_options_t),
                    .from_logits = train_attr(item, "from_logits") != 0,
                    .label_smoothing = train_attr(item, "label_smoothing"),
                    .delta = train_attr(item, "delta"),
                    .gamma = train_attr(item, "gamma"),
                    .alpha = train_attr(item, "alpha"),
                    .balances_classes = train_attr(item, "balances_classes") != 0,
                    .reduction =
                        (gantry_reduction_t)train_attr_choice(item, "reduction", reductions)},
        .labels = item->inputs[0],
        .predictions = item->inputs[1],
        .weights = item->inputs[2],
        .expected = item->outputs[0],
        .gradient = item->outputs[1]};
    for (char name[] = "axis_0"; golden_find_attr(item, name); ++name[5]) /* 100 more than each */
        c.options.axes[c.options.axis_count++] = (int32_t)train_attr(item, name) - 100;
    return c;
}

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
    options.sample_weights = c->weights.data ? inputs[2] : NULL;
    outputs[0] = gantry_loss(scope, c->loss, inputs[0], inputs[1], &options);
}

static inline void train_loss_captured(gantry_scope_t *scope, const train_loss_case_t *c) {
    char name[128];
    train_loss_case_t copy = *c;
    const size_t count = c->weights.data ? 3 : 2;
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
    golden_file_t file;
    golden_file_open("keras/losses.json", &file);
    for (size_t i = 0; i < file.case_count; i += each) {
        const train_loss_case_t c = train_loss_read(&file.cases[i]);
        gantry_scope_t *scope = gantry_scope_begin(runtime, device);
        assert_non_null(scope);
        check(scope, &c);
        expect_ended_well(scope);
    }
    golden_free(&file);
}

#endif
