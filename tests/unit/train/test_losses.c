/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Losses have Keras's values, at once and inside functions, and Keras's gradients; what
 * does not fit is refused with a text that says so. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include "test.h"
#include "train_loss_case.h"
#include "train_fixture.h"

/* ---- values ---- */

TEST_WITH(losses_are_those_of_keras, set_up, tear_down) {
    train_loss_check(fixture.runtime, NULL, 1, train_loss_eager);
}

TEST_WITH(losses_in_functions_are_those_of_keras, set_up, tear_down) {
    train_loss_check(fixture.runtime, NULL, 1, train_loss_captured);
}

/* The rows whose label is not -1: as many as the data says. */
static void masked(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    const gantry_loss_t *loss = user;
    const gantry_tensor_t *is_valid =
        gantry_greater_equal(scope, inputs[0], gantry_scalar_i32(scope, 0));
    const gantry_tensor_t *labels = gantry_boolean_mask(scope, inputs[0], is_valid, 0);
    const gantry_tensor_t *predictions = gantry_boolean_mask(scope, inputs[1], is_valid, 0);
    if (*loss != GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY)
        labels = gantry_one_hot(scope, labels, 2, gantry_scalar_f32(scope, 1),
                                gantry_scalar_f32(scope, 0), -1);
    outputs[0] = gantry_loss(scope, *loss, labels, predictions,
                             &(gantry_loss_options_t){.from_logits = true});
}

TEST_WITH(sizes_that_depend_on_data_are_divided_by, set_up, tear_down) {
    static const float zeros[8],
        expected[] = {0, 0.6931472F, 0.6931472F, 0.6931472F, 0.5F, 0.5F, 0.125F * 2};
    const gantry_input_spec_t specs[] = {SPEC_I32(4), SPEC_F32(4, 2)};
    for (gantry_loss_t loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY; loss <= GANTRY_HUBER;
         ++loss) {
        gantry_function_t *function =
            function_fixture_trace(fixture.runtime, masked, &loss, specs, 2, 1, NULL);
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        const gantry_tensor_t *got,
            *inputs[] = {
                I32(scope, 1, -1, 0, -1),
                gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4, 2), zeros, sizeof zeros)};
        float value;
        function_fixture_call(scope, function, inputs, 2, &got, 1);
        assert_int_equal(gantry_tensor_read(got, &value, sizeof value), GANTRY_OK);
        if (!(fabsf(value - expected[loss]) < 1e-6F))
            fail_msg("%s: %g", gantry_loss_name(loss), (double)value);
        inputs[0] = I32(scope, -1, -1, -1, -1);
        function_fixture_call(scope, function, inputs, 2, &got, 1);
        EXPECT_F32(got, 0);
        expect_ended_well(scope);
        gantry_function_release(function);
    }
}

/* No samples: 0, not NaN. */
TEST_WITH(loss_of_nothing_is_zero, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (gantry_loss_t loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY; gantry_loss_name(loss)[0];
         ++loss) {
        /* Keras's Dice of all places together is 1 - 0 / epsilon then */
        if (loss == GANTRY_OWN_LOSS || loss == GANTRY_DICE) continue;
        const gantry_tensor_t *none = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3));
        const gantry_tensor_t *labels = loss == GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY
                                            ? gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(0))
                                            : none;
        EXPECT_F32(gantry_loss(scope, loss, labels, none, NULL), 0);
        EXPECT_F32(gantry_loss(scope, loss, labels, none,
                               &(gantry_loss_options_t){.reduction = GANTRY_REDUCTION_SUM,
                                                        .from_logits = true}),
                   0);
    }
    const gantry_tensor_t *none = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 3));
    EXPECT_F32(gantry_loss(scope, GANTRY_DICE, none, none, NULL), 1);
    EXPECT_F32(gantry_loss(scope, GANTRY_DICE, none, none,
                           &(gantry_loss_options_t){.axes = {1}, .axis_count = 1}),
               0);
    expect_ended_well(scope);
}

TEST_WITH(halves_are_losses_too, set_up, tear_down) {
    static const gantry_dtype_t halves[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    for (size_t i = 0; i < 2; ++i) {
        const gantry_tensor_t *half = gantry_cast(scope, F32(scope, 1, 0, 1, 0), halves[i]);
        EXPECT_F32(
            gantry_cast(scope, gantry_loss(scope, GANTRY_DICE, I32(scope, 1, 0, 0, 1), half, NULL),
                        GANTRY_FLOAT32),
            0.5F);
        const gantry_tensor_t *p = gantry_cast(scope, F32(scope, 1, 2, 3, 4), halves[i]);
        const gantry_tensor_t *loss =
            gantry_loss(scope, GANTRY_MEAN_SQUARED_ERROR, I32(scope, 1, 2, 3, 8), p, NULL);
        assert_int_equal(gantry_tensor_dtype(loss), halves[i]);
        EXPECT_F32(gantry_cast(scope, loss, GANTRY_FLOAT32), 4);
    }
    expect_ended_well(scope);
}

/* The scope of the call holds the result alone. */
TEST_WITH(loss_leaves_one_tensor, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3);
    long blocks[40];
    for (int i = 0; i < 40; ++i) { /* the first calls fill caches and the scope's spare objects */
        gantry_tensor_drop(scope, gantry_loss(scope, GANTRY_HUBER, x, x, NULL));
        blocks[i] = fixture.heap.inner.live_blocks;
    }
    assert_int_equal(blocks[20], blocks[39]);
    expect_ended_well(scope);
}

/* ---- gradients ---- */

static const gantry_tensor_t *row(gantry_scope_t *scope, float a, float b, float c) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 3), (float[]){a, b, c}, 12);
}

TEST_WITH(gradients_of_losses_are_those_of_keras, set_up, tear_down) {
    train_loss_check(fixture.runtime, NULL, 1, train_loss_gradient);
}

TEST_WITH(weights_have_gradients_too, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_source_t source = {.tensor = F32(scope, 1, 2)};
    const gantry_tensor_t *p = row(scope, 1, 2, 3), *gradient;
    p = gantry_reshape(scope, gantry_concat(scope, (const gantry_tensor_t *const[]){p, p}, 2, 0),
                       GANTRY_SHAPE(2, 3));
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    assert_int_equal(gantry_tape_watch(tape, source.tensor), GANTRY_OK);
    const gantry_tensor_t *loss =
        gantry_loss(scope, GANTRY_MEAN_SQUARED_ERROR, gantry_zeros_like(scope, p), p,
                    &(gantry_loss_options_t){.sample_weights = source.tensor});
    assert_int_equal(gantry_tape_gradient(tape, loss, NULL, &source, 1, NULL, &gradient),
                     GANTRY_OK);
    EXPECT_F32(gradient, 14.0F / 3 / 2, 14.0F / 3 / 2);
    gantry_tape_end(tape);
    expect_ended_well(scope);
}

/* ---- bad input ---- */

TEST_WITH(labels_out_of_range_are_reported, set_up, tear_down) {
    static const int32_t bad[][2] = {{0, 3}, {-1, 0}};
    for (size_t i = 0; i < 2; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        const gantry_tensor_t *p = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3));
        const gantry_tensor_t *loss = gantry_loss(scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                                  make_i32(scope, 2, bad[i]), p, NULL);
        float value;
        gantry_status_t status =
            loss ? gantry_tensor_read(loss, &value, sizeof value) : gantry_scope_status(scope);
        assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(gantry_last_message(), "Received a label value of"));
        (void)gantry_scope_end(scope);
    }
}

static void expect_refused(gantry_scope_t *scope, gantry_loss_t loss, const gantry_tensor_t *labels,
                           const gantry_tensor_t *predictions, const gantry_loss_options_t *options,
                           const char *text) {
    assert_null(gantry_loss(scope, loss, labels, predictions, options));
    if (!strstr(gantry_last_message(), text)) fail_msg("last message: %s", gantry_last_message());
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
}

TEST_WITH(shapes_that_do_not_fit_are_refused, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *p = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3));
    const gantry_tensor_t *vector = F32(scope, 1, 2), *long_vector = F32(scope, 1, 2, 3);
    const gantry_tensor_t *turned = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2));
    const gantry_tensor_t *scalar = gantry_scalar_f32(scope, 1);
    for (gantry_loss_t loss = GANTRY_CATEGORICAL_CROSSENTROPY; gantry_loss_name(loss)[0]; ++loss) {
        if (loss == GANTRY_OWN_LOSS) continue;
        char text[160];
        (void)snprintf(
            text, sizeof text,
            "%s: labels of shape [2] do not fit predictions of shape [2,3]; that shape is accepted",
            gantry_loss_name(loss));
        expect_refused(scope, loss, vector, p, NULL, text);
        expect_refused(scope, loss, turned, p, NULL, "labels of shape [3,2]");
        expect_refused(scope, loss, scalar, p, NULL, "labels of shape []");
        expect_refused(scope, loss, scalar, scalar, NULL, "predictions are a scalar");
    }
    const gantry_loss_t sparse = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY;
    expect_refused(scope, sparse, long_vector, p, NULL,
                   "sparse_categorical_crossentropy: labels of shape [3] do not fit predictions of "
                   "shape [2,3]; the shape without the classes, or with 1 in their place, is "
                   "accepted");
    expect_refused(scope, sparse, turned, p, NULL, "labels of shape [3,2]");
    expect_refused(scope, sparse, scalar, p, NULL, "labels of shape []");
    expect_refused(scope, GANTRY_HUBER, p, p,
                   &(gantry_loss_options_t){.sample_weights = long_vector},
                   "huber: sample_weights of shape [3] do not fit losses of shape [2]; a shape "
                   "that broadcasts is accepted");
    expect_ended_well(scope);
}

TEST_WITH(bad_arguments_are_refused, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *p = F32(scope, 0.5F, 0.5F), *ints = I32(scope, 0, 1);
    const gantry_loss_t mse = GANTRY_MEAN_SQUARED_ERROR, sparse = 1;
    expect_refused(scope, 0, p, p, NULL, "gantry_loss: 0 is no loss");
    expect_refused(scope, 99, p, p, NULL, "gantry_loss: 99 is no loss; GANTRY_SPARSE_");
    expect_refused(scope, GANTRY_OWN_LOSS, p, p, NULL, "loss: function is NULL");
    expect_refused(scope, (gantry_loss_t)-1, p, p, NULL, "-1 is no loss");
    expect_refused(scope, mse, NULL, p, NULL, "mean_squared_error: the labels are NULL");
    expect_refused(scope, mse, p, NULL, NULL, "mean_squared_error: the predictions are NULL");
    expect_refused(scope, mse, p, ints, NULL,
                   "predictions are int32; float16, bfloat16, float32 and float64 are accepted");
    expect_refused(scope, mse, p, p, &(gantry_loss_options_t){.struct_size = 3},
                   "gantry_loss: options: struct_size is 3");
    expect_refused(scope, mse, p, p, &(gantry_loss_options_t){.struct_size = 4096},
                   "struct_size is 4096");
    expect_refused(scope, mse, p, p, &(gantry_loss_options_t){.reduction = 4},
                   "mean_squared_error: 4 is no reduction");
    expect_refused(scope, GANTRY_BINARY_CROSSENTROPY, p, p,
                   &(gantry_loss_options_t){.label_smoothing = 1.5},
                   "binary_crossentropy: label_smoothing is 1.5; 0 to 1 is accepted");
    expect_refused(scope, GANTRY_CATEGORICAL_CROSSENTROPY, p, p,
                   &(gantry_loss_options_t){.label_smoothing = (double)NAN}, "label_smoothing is");
    expect_refused(scope, sparse, ints, p, &(gantry_loss_options_t){.label_smoothing = 0.1},
                   "label_smoothing is 0.1; 0 is accepted");
    expect_refused(scope, GANTRY_HUBER, p, p, &(gantry_loss_options_t){.delta = -1},
                   "huber: delta is -1");
    expect_refused(scope, GANTRY_BINARY_FOCAL_CROSSENTROPY, p, p,
                   &(gantry_loss_options_t){.gamma = -1},
                   "binary_focal_crossentropy: gamma is -1; a number above 0, or 0 for 2, is");
    expect_refused(scope, GANTRY_CATEGORICAL_FOCAL_CROSSENTROPY, p, p,
                   &(gantry_loss_options_t){.alpha = 1.5},
                   "categorical_focal_crossentropy: alpha is 1.5; a number above 0, up to 1,");
    expect_refused(scope, GANTRY_DICE, p, p, &(gantry_loss_options_t){.axis_count = 9},
                   "dice: axis_count is 9; 0 to 8 is accepted");
    expect_refused(scope, mse, p, p, &(gantry_loss_options_t){.axis_count = 1},
                   "mean_squared_error: axis_count is 1; 0 is accepted");
    expect_refused(scope, GANTRY_DICE, p, p, &(gantry_loss_options_t){.axes = {1}, .axis_count = 1},
                   "dice: axis 1 of predictions of shape [2]; -1 to 0 are accepted");
    expect_refused(scope, GANTRY_DICE, p, p,
                   &(gantry_loss_options_t){.axes = {0, -2}, .axis_count = 2},
                   "dice: axis -2 of predictions of shape [2]; -1 to 0 are accepted");
    assert_null(gantry_loss(NULL, mse, p, p, NULL));
    assert_non_null(strstr(gantry_last_message(), "gantry_loss: the scope is NULL"));
    expect_ended_well(scope);
}

TEST_WITH(failed_scope_computes_no_loss, set_up, tear_down) {
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *p = F32(scope, 1);
    (void)gantry_scope_fail(scope, GANTRY_ABORTED, "first");
    assert_null(gantry_loss(scope, GANTRY_MEAN_SQUARED_ERROR, p, p, NULL));
    assert_string_equal(gantry_scope_message(scope), "first");
    assert_int_equal(gantry_scope_end(scope), GANTRY_ABORTED);
}

TEST_WITH(losses_have_names, set_up, tear_down) {
    assert_string_equal(gantry_loss_name(GANTRY_HUBER), "huber");
    assert_string_equal(gantry_loss_name(GANTRY_KL_DIVERGENCE), "kl_divergence");
    assert_string_equal(gantry_loss_name(GANTRY_CATEGORICAL_FOCAL_CROSSENTROPY),
                        "categorical_focal_crossentropy");
    assert_string_equal(gantry_loss_name(GANTRY_DICE), "dice");
    assert_string_equal(gantry_loss_name(0), "");
    assert_string_equal(gantry_loss_name((gantry_loss_t)-5), "");
}

/* ---- memory runs out ---- */

static gantry_status_t all_losses(gantry_scope_t *scope) {
    const gantry_tensor_t *p = row(scope, 0.25F, 0.5F, 0.25F), *weights = F32(scope, 2);
    for (gantry_loss_t loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY; gantry_loss_name(loss)[0];
         ++loss) {
        if (loss == GANTRY_OWN_LOSS) continue;
        const gantry_tensor_t *labels =
            loss == GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY ? I32(scope, 1) : p;
        for (int k = 0; k < 2; ++k)
            (void)gantry_loss(
                scope, loss, labels, p,
                &(gantry_loss_options_t){.from_logits = k, .sample_weights = weights});
    }
    return gantry_scope_status(scope);
}

TEST_WITH(losses_without_memory_leak_nothing, runtime_fixture_set_up, NULL) {
    runtime_fixture_starve_each(0, NULL, all_losses);
}

int main(void) { return test_main(); }
