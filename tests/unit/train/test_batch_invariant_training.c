/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With batch_invariant, a model predicts the same bits for a sample in batches of 1, 3
 * and 64.
 * Promise: With batch_invariant, the gradient with regard to a row of a function's input has the
 * same bits by itself and in a batch, also where the function chose it and the gradient is a
 * function. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_fixture.h"

#include "batch_case.h"

#include <gantry_train/train.h>

/* ---- predictions ---- */

enum { SAMPLES = 64, ELEMENTS = 12 * 12 * 3 };

static float samples[SAMPLES * ELEMENTS];

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static gantry_model_t *dense_model(gantry_runtime_t *runtime) {
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.seed = 3});
    must(gantry_model_add(model, gantry_flatten(NULL)));
    must(gantry_model_add(model, gantry_dense(300, GANTRY_RELU, NULL)));
    must(gantry_model_add(model, gantry_batch_normalization(NULL)));
    must(gantry_model_add(model, gantry_dense(10, GANTRY_SOFTMAX, NULL)));
    return model;
}

static gantry_model_t *image_model(gantry_runtime_t *runtime) {
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.seed = 5});
    must(gantry_model_add(model, gantry_conv2d_layer(80, 3, GANTRY_RELU, NULL)));
    must(gantry_model_add(model, gantry_max_pool2d_layer(2, NULL)));
    must(gantry_model_add(model, gantry_separable_conv2d_layer(24, 3, GANTRY_RELU, NULL)));
    must(gantry_model_add(model, gantry_conv2d_layer(40, 3, GANTRY_TANH, NULL)));
    must(gantry_model_add(model, gantry_flatten(NULL)));
    must(gantry_model_add(model, gantry_dense(10, GANTRY_SOFTMAX, NULL)));
    return model;
}

static gantry_model_t *sequence_model(gantry_runtime_t *runtime) {
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.seed = 7});
    must(gantry_model_add(model, gantry_reshape_layer(GANTRY_SHAPE(12, 36), NULL)));
    must(gantry_model_add(model, gantry_lstm(70, NULL)));
    must(gantry_model_add(model, gantry_layer_normalization(NULL)));
    must(gantry_model_add(model, gantry_dense(10, GANTRY_SOFTMAX, NULL)));
    return model;
}

static void predict(gantry_model_t *model, int64_t batch, float *out) {
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SHAPE(SAMPLES, 12, 12, 3), samples};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(&array, 1, false), batch, false);
    must(gantry_model_predict(model, data, out, SAMPLES * 10 * sizeof *out, NULL));
    gantry_dataset_release(data);
}

TEST(models_predict_each_sample_with_the_same_bits) {
    static gantry_model_t *(*const make[])(gantry_runtime_t * runtime) = {dense_model, image_model,
                                                                          sequence_model};
    static float whole[SAMPLES * 10], parts[SAMPLES * 10];
    for (int i = 0; i < SAMPLES * ELEMENTS; ++i)
        samples[i] = (float)batch_hash(0, 0, i) / 4294967296.0F - 0.5F;
    runtime_fixture_close(&fixture);
    gantry_runtime_options_t options = runtime_fixture_options(&fixture);
    options.batch_invariant = GANTRY_ON;
    runtime_fixture_open_with(&fixture, &options);
    for (size_t i = 0; i < 3; ++i) {
        gantry_model_t *model = make[i](fixture.runtime);
        predict(model, SAMPLES, whole);
        for (int64_t batch = 1; batch <= 3; batch += 2) {
            predict(model, batch, parts);
            assert_memory_equal(whole, parts, sizeof whole);
        }
        gantry_model_release(model);
    }
}

/* ---- gradients ---- */

static void dense_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *x = gantry_matmul(scope, inputs[0], inputs[1], NULL);
    (void)user;
    x = gantry_tanh(scope, gantry_bias_add(scope, x, inputs[2]));
    x = gantry_layer_norm(scope, x, inputs[2], inputs[2], -1, 1e-3);
    outputs[0] = gantry_log_softmax(scope, gantry_matmul(scope, x, inputs[3], NULL));
}

static void image_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const gantry_window_options_t halves = {.strides = {2, 2}};
    (void)user;
    outputs[0] = gantry_avg_pool2d(
        scope, gantry_relu(scope, gantry_conv2d(scope, inputs[0], inputs[1], NULL)), 3, 3, &halves);
}

/* A call of the body, or of its function, whose first output is the gradient with regard to x. */
typedef struct gradient_case_t {
    batch_case_t inner;
    gantry_choice_t of_function; /* GANTRY_OFF: the body is run by itself */
} gradient_case_t;

static void differentiate(gantry_scope_t *scope, const gantry_tensor_t *const *inputs, size_t count,
                          const gradient_case_t *c, const gantry_tensor_t **out) {
    const gantry_tensor_t *y;
    gantry_input_spec_t specs[8];
    gantry_function_t *function = NULL;
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .batch_invariant = c->of_function};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    must(gantry_tape_watch(tape, inputs[0]));
    for (size_t i = 0; i < count; ++i)
        specs[i] = (gantry_input_spec_t){NULL, GANTRY_FLOAT32, *gantry_tensor_shape(inputs[i])};
    if (c->of_function == GANTRY_OFF) {
        c->inner.body(scope, inputs, &y, NULL);
    } else {
        must(gantry_function_trace(gantry_scope_runtime(scope), "f", c->inner.body, NULL, specs,
                                   count, 1, &options, &function));
        must(gantry_function_call(scope, function, inputs, count, &y, 1));
    }
    const gantry_source_t source = {.tensor = inputs[0]};
    must(gantry_tape_gradient(tape, y, y, &source, 1, NULL, out));
    gantry_tape_end(tape);
    gantry_function_release(function);
}

static void run_gradient(const gradient_case_t *c, int64_t batch, int64_t first,
                         batch_result_t *out) {
    const gantry_tensor_t *inputs[8], *gradient;
    /* the function's own choice must reach its gradient */
    const batch_caller_t caller = {fixture.runtime, "CPU:0",
                                   c->of_function == GANTRY_ON ? GANTRY_OFF : GANTRY_ON};
    gantry_scope_t *scope = batch_scope(&caller);
    const size_t count = batch_inputs(scope, &c->inner, GANTRY_FLOAT32, batch, first, inputs);
    differentiate(scope, inputs, count, c, &gradient);
    const size_t bytes = (size_t)gantry_tensor_elements(gradient) * sizeof(float);
    *out = (batch_result_t){.count = 1,
                            .shapes = {*gantry_tensor_shape(gradient)},
                            .sizes = {sizeof(float)},
                            .data = {malloc(bytes)}};
    assert_non_null(out->data[0]);
    must(gantry_tensor_read(gradient, out->data[0], bytes));
    must(gantry_scope_end(scope));
}

TEST(gradients_of_rows_have_the_same_bits) {
    static const gantry_choice_t choices[] = {GANTRY_OFF, GANTRY_DEFAULT, GANTRY_ON};
    static const batch_case_t cases[] = {
        {"dense", BATCH_F32, "B,300 300,140 140 140,10", "", "0", dense_body},
        {"image", BATCH_F32, "B,5,5,80 3,3,80,40", "", "0", image_body}};
    for (size_t i = 0; i < 6; ++i) {
        const gradient_case_t c = {cases[i / 3], choices[i % 3]};
        for (int64_t batch = 2; batch <= 70; batch += 17) {
            batch_result_t all, alone;
            run_gradient(&c, batch, 0, &all);
            run_gradient(&c, 1, batch - 1, &alone);
            if (!batch_is_row(&c.inner, &all, &alone, 0, batch - 1))
                fail_msg("%s, choice %d: another gradient in a batch of %d", c.inner.op,
                         (int)c.of_function, (int)batch);
            batch_free(&all);
            batch_free(&alone);
        }
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
