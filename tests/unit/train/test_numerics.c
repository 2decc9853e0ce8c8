/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: check_numerics names the first op that makes a NaN or an infinity, with its layer,
 * forward or backward, the step, counts, shapes and the ranges of its inputs.
 * Promise: check_numerics names an update of weights that makes a NaN or an infinity, and the op on
 * a replica and on PoCL.
 * Promise: check_numerics and runs_eagerly change no bit of a training, with recurrent layers in
 * loops as well, and an op in a loop is named as any other. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_case.h"
#include "train_heap.h"

#include <gantry_train/train.h>

enum { ROWS = 12, BATCH = 4 };

static gantry_runtime_t *runtime;
static float points[ROWS * 2], targets[ROWS];

static int set_up(void **state) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    (void)state;
    train_heap_reset(-1);
    for (int i = 0; i < ROWS; ++i) {
        points[2 * i] = (float)i / 4 - 1;
        points[2 * i + 1] = 1 - (float)i / 8;
        targets[i] = (float)(i % 3);
    }
    return gantry_runtime_create(&options, &runtime) == GANTRY_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void expect_text(const char *text) {
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" lacks \"%s\"", gantry_last_message(), text);
}

/* ---- scopes ---- */

static const gantry_tensor_t *numbers(gantry_scope_t *scope, float a, float b, float c) {
    const float data[] = {a, b, c};
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3), data, sizeof data);
}

TEST(op_is_named_with_ranges) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_numerics_t *numerics = gantry_check_numerics_begin(scope);
    assert_non_null(gantry_exp(scope, numbers(scope, -1, 0, 2))); /* nothing is wrong */
    assert_null(gantry_log(scope, numbers(scope, -1, 0, 2)));
    assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry_scope_message(scope),
                        "op Log made 1 NaN, 0 +Inf and 1 -Inf among the 3 elements of output 0, "
                        "float32 [3]; its inputs: float32 [3] in [-1, 2]");
    gantry_scope_clear(scope);
    assert_null(gantry_div(scope, numbers(scope, 0, 1, -4), numbers(scope, 0, 0, 2)));
    assert_non_null(strstr(gantry_scope_message(scope), "op "));
    assert_non_null(strstr(gantry_scope_message(scope),
                           "made 1 NaN, 1 +Inf and 0 -Inf among the 3 elements of output 0, "
                           "float32 [3]; its inputs: float32 [3] in [-4, 1], float32 [3] in "
                           "[0, 2]"));
    gantry_scope_clear(scope);
    gantry_check_numerics_end(numerics);
    assert_non_null(gantry_log(scope, numbers(scope, -1, 0, 2)));
    must(gantry_scope_end(scope));
}

TEST(narrow_types_are_checked) {
    static const gantry_dtype_t types[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT64};
    for (size_t i = 0; i < 3; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        gantry_numerics_t *numerics = gantry_check_numerics_begin(scope);
        const gantry_tensor_t *x = gantry_cast(scope, numbers(scope, 0.375f, -300, 2), types[i]);
        const gantry_tensor_t *large = gantry_square(scope, gantry_square(scope, x));
        char text[128];
        (void)snprintf(text, sizeof text, "output 0, %s [3]; its inputs: %s [3] in [",
                       gantry_dtype_name(types[i]), gantry_dtype_name(types[i]));
        if (types[i] == GANTRY_FLOAT16) { /* 300 squared is beyond 65504 */
            assert_null(large);
            assert_non_null(strstr(gantry_scope_message(scope), "op Square made 0 NaN, 1 +Inf"));
            assert_non_null(strstr(gantry_scope_message(scope), "float16 [3] in [-300, 2]"));
            gantry_scope_clear(scope);
        } else {
            assert_non_null(large);
        }
        assert_null(gantry_log(scope, x));
        assert_non_null(strstr(gantry_scope_message(scope), text));
        gantry_check_numerics_end(numerics);
        gantry_scope_clear(scope);
        must(gantry_scope_end(scope));
    }
}

static void log_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gantry_numerics_t *numerics = user ? gantry_check_numerics_begin(scope) : NULL;
    outputs[0] = gantry_log(scope, inputs[0]);
    gantry_check_numerics_end(numerics);
}

/* A trace has no numbers; of a call the outputs are checked, by the function's name. */
TEST(function_is_checked_by_its_outputs) {
    static int checks = 1;
    const gantry_input_spec_t spec = SPEC_F32(3);
    gantry_function_t *function =
        function_fixture_trace(runtime, log_body, &checks, &spec, 1, 1, NULL);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_numerics_t *numerics = gantry_check_numerics_begin(scope);
    const gantry_tensor_t *x = numbers(scope, 1, -2, 3), *y;
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_scope_message(scope), "op f made 1 NaN"));
    gantry_check_numerics_end(numerics);
    gantry_scope_clear(scope);
    must(gantry_scope_end(scope));
    gantry_function_release(function);
    assert_null(gantry_check_numerics_begin(NULL));
    expect_text("gantry_check_numerics_begin: the scope is NULL; one from gantry_scope_begin is");
}

/* ---- models ---- */

/* A layer that goes wrong in its own way. */
typedef const gantry_tensor_t *(*wrong_fn)(gantry_scope_t *scope, const gantry_tensor_t *x);

static const gantry_tensor_t *call_wrong(const gantry_layer_call_t *call, void *user) {
    wrong_fn wrong;
    memcpy(&wrong, user, sizeof wrong);
    return wrong(call->scope, call->inputs[0]);
}

static const gantry_tensor_t *log_of_negative(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_log(scope, gantry_neg(scope, gantry_square(scope, x)));
}

static const gantry_tensor_t *zero_by_zero(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_tensor_t *zeros = gantry_zeros_like(scope, x);
    return gantry_div(scope, zeros, gantry_mul(scope, zeros, x));
}

/* The square root of 0 has an infinite slope. */
static const gantry_tensor_t *root_of_zero(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_sqrt(scope, gantry_mul(scope, x, gantry_zeros_like(scope, x)));
}

/* Squared errors beyond 65504. */
static const gantry_tensor_t *large_halves(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_tensor_t *half = gantry_cast(scope, x, GANTRY_FLOAT16);
    return gantry_add(scope, gantry_mul(scope, half, gantry_zeros_like(scope, half)),
                      gantry_cast(scope, gantry_scalar_f32(scope, 1000), GANTRY_FLOAT16));
}

typedef struct run_t {
    wrong_fn wrong; /* NULL: nothing is */
    double learning_rate;
    bool checks;
    const char *device;
    const gantry_strategy_t *strategy;
} run_t;

static gantry_model_t *make_model(const run_t *run) {
    static wrong_fn wrong; /* lives as long as the layer */
    const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Wrong", .call = call_wrong};
    gantry_model_t *model = gantry_sequential(
        runtime,
        &(gantry_model_options_t){.seed = 2, .device = run->device, .strategy = run->strategy});
    (void)gantry_model_add(model, gantry_dense(3, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    wrong = run->wrong;
    if (wrong) (void)gantry_model_add(model, gantry_layer_create(&kind, &wrong, "broken"));
    (void)gantry_model_compile(
        model,
        &(gantry_compile_options_t){
            .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = run->learning_rate}),
            .loss = GANTRY_MEAN_SQUARED_ERROR,
            .check_numerics = run->checks});
    return model;
}

static gantry_dataset_t *make_data(void) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 2), points},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1), targets}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
}

static gantry_status_t fit(gantry_model_t *model, const gantry_callback_t *callback) {
    gantry_dataset_t *data = make_data();
    const gantry_callback_t *const callbacks[] = {callback};
    const gantry_status_t status = gantry_model_fit(
        model, data,
        &(gantry_fit_options_t){
            .epochs = 20, .callbacks = callbacks, .callback_count = callback ? 1 : 0});
    gantry_dataset_release(data);
    return status;
}

static void expect_found(const run_t *run, const char *const *texts) {
    gantry_model_t *model = make_model(run);
    const gantry_status_t status = fit(model, NULL);
    if (status != GANTRY_INVALID_ARGUMENT) fail_msg("%d: %s", (int)status, gantry_last_message());
    for (; *texts; ++texts) expect_text(*texts);
    gantry_model_release(model);
}

static void find_layers(run_t run) {
    run.wrong = log_of_negative;
    expect_found(&run, (const char *[]){"epoch 1, step 1: ", "layer broken: ", "forward: op Log ",
                                        " NaN, 0 +Inf and 0 -Inf among the ", "float32 [",
                                        "; its inputs: float32 [", "] in [-", NULL});
    run.wrong = zero_by_zero;
    expect_found(&run, (const char *[]){"epoch 1, step 1: ", "layer broken: ", "forward: op ",
                                        " NaN, ", "in [0, 0]", NULL});
    run.wrong = root_of_zero;
    expect_found(&run, (const char *[]){"epoch 1, step 1: ", "the gradient of op Sqrt: ",
                                        "backward, layer broken: op ", "Inf among", NULL});
}

static void find_all(const char *device) {
    run_t run = {.learning_rate = 0.01, .checks = true, .device = device};
    find_layers(run);
    run.wrong = log_of_negative;
    expect_found(&run, (const char *[]){"made 4 NaN, 0 +Inf and 0 -Inf among the 4 elements of "
                                        "output 0, float32 [4,1]; its inputs: float32 [4,1] in [-",
                                        NULL});
    run.wrong = large_halves;
    expect_found(&run, (const char *[]){
                           "epoch 1, step 1: ", "the loss: op SquaredDifference made 0 NaN, 4 +Inf",
                           "float16 [4,1]", NULL});
    run.wrong = NULL;
    run.learning_rate = 1e30;
    expect_found(&run, (const char *[]){"epoch 1, step ", " made ", "Inf", NULL});
    run.learning_rate = 3e38;
    points[0] = 1e4f;
    expect_found(&run, (const char *[]){"epoch 1, step 1: ", "the update of ", "dense",
                                        " more variables: op ", "Inf among the ", NULL});
}

/* Without a gradient, all optimizers divide by their epsilon alone, and clips scale zeros. */
TEST(sound_updates_raise_no_alarm) {
    const gantry_adam_options_t clipped = {.global_clipnorm = 1}, wide = {.amsgrad = true};
    const gantry_sgd_options_t moved = {.momentum = 0.9, .clipnorm = 1};
    const gantry_rmsprop_options_t centered = {.centered = true, .clipvalue = 1};
    gantry_optimizer_t *optimizers[] = {
        gantry_sgd(&moved), gantry_adam(&clipped),     gantry_adam(&wide),   gantry_adamw(NULL),
        gantry_nadam(NULL), gantry_rmsprop(&centered), gantry_adagrad(NULL), gantry_adamax(NULL),
        gantry_lion(NULL),  gantry_adadelta(NULL),     gantry_ftrl(NULL)};
    memset(points, 0, sizeof points);
    memset(targets, 0, sizeof targets);
    for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; ++i) {
        gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.seed = 2});
        (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
        must(gantry_model_compile(model,
                                  &(gantry_compile_options_t){.optimizer = optimizers[i],
                                                              .loss = GANTRY_MEAN_SQUARED_ERROR,
                                                              .check_numerics = true}));
        must(fit(model, NULL));
        gantry_model_release(model);
    }
}

TEST(wrong_op_of_a_training_is_named) { find_all("/CPU:0"); }

TEST(wrong_op_of_a_replica_is_named) {
    must(gantry_set_logical_cpu_devices(runtime, 2));
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    if (!strategy) fail_msg("%s", gantry_last_message());
    find_layers((run_t){.learning_rate = 0.01, .checks = true, .strategy = strategy});
    gantry_strategy_release(strategy);
}

TEST(wrong_op_on_pocl_is_named) {
    gantry_runtime_t *cpu = runtime;
    runtime = train_open_gpu();
    find_all("/GPU:0");
    gantry_runtime_release(runtime);
    runtime = cpu;
}

TEST(wrong_data_are_named) {
    const run_t run = {.learning_rate = 0.01, .checks = true};
    points[2 * 6 + 1] = NAN;
    expect_found(&run, (const char *[]){"epoch 1, step 2: model sequential: input 0 of the batch: "
                                        "1 NaN, 0 +Inf and 0 -Inf among 8 elements, float32 [4,2], "
                                        "the first in row 2; finite numbers are accepted",
                                        NULL});
    points[2 * 6 + 1] = 0;
    targets[9] = -INFINITY;
    expect_found(&run,
                 (const char *[]){"epoch 1, step 3: model sequential: the labels of the batch",
                                  "1 -Inf among 4 elements", "in row 1;", NULL});
}

/* Layers of all kinds: pools, masks of attention and clipped losses make no infinity on the way. */
static void train_sound(bool attends) {
    enum { LENGTH = 10, CLASSES = 3 };
    int32_t words[ROWS * LENGTH], classes[ROWS];
    const gantry_attention_options_t causal = {.causal = true, .dropout = 0.2};
    const gantry_pool_options_t same = {.same_padding = true};
    gantry_metric_t *metrics[] = {gantry_sparse_categorical_accuracy(NULL)};
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.seed = 4});
    for (int i = 0; i < ROWS * LENGTH; ++i) words[i] = i * 7 % 20;
    for (int i = 0; i < ROWS; ++i) classes[i] = i % CLASSES;
    (void)gantry_model_add(model, gantry_embedding(20, 6, NULL, NULL));
    if (attends) {
        (void)gantry_model_add(model, gantry_multi_head_attention(2, 3, &causal));
        (void)gantry_model_add(model, gantry_layer_normalization(NULL));
        (void)gantry_model_add(model, gantry_lstm(4, NULL));
    } else {
        (void)gantry_model_add(model, gantry_conv1d_layer(5, 3, GANTRY_RELU, NULL));
        (void)gantry_model_add(model, gantry_max_pool1d_layer(3, &same));
        (void)gantry_model_add(model, gantry_batch_normalization(NULL));
        (void)gantry_model_add(model, gantry_dropout_layer(0.5, NULL));
        (void)gantry_model_add(model, gantry_flatten(NULL));
    }
    (void)gantry_model_add(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_nadam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                           .metrics = metrics,
                                           .metric_count = 1,
                                           .check_numerics = true});
    const gantry_array_t arrays[] = {{GANTRY_INT32, GANTRY_SHAPE(ROWS, LENGTH), words},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), classes}};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 5, false);
    must(gantry_model_fit(model, data, &(gantry_fit_options_t){.epochs = 2, .validation = data}));
    gantry_dataset_release(data);
    gantry_model_release(model);
}

TEST(sound_layers_raise_no_alarm) {
    train_sound(false);
    train_sound(true);
}

/* The check changes nothing but time. */
TEST(checked_training_has_the_same_bits) {
    float wanted[8], got[8];
    run_t run = {.learning_rate = 0.05};
    gantry_model_t *models[2];
    for (int i = 0; i < 2; ++i) {
        run.checks = i == 1;
        models[i] = make_model(&run);
        must(fit(models[i], NULL));
    }
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    for (size_t v = 0; v < 4; ++v) {
        const gantry_tensor_t *a =
            gantry_variable_read(scope, gantry_model_variable(models[0], v, NULL));
        const gantry_tensor_t *b =
            gantry_variable_read(scope, gantry_model_variable(models[1], v, NULL));
        must(gantry_tensor_read(a, wanted, gantry_tensor_bytes(a)));
        must(gantry_tensor_read(b, got, gantry_tensor_bytes(b)));
        assert_memory_equal(wanted, got, gantry_tensor_bytes(a));
    }
    must(gantry_scope_end(scope));
    for (int i = 0; i < 2; ++i) gantry_model_release(models[i]);
}

/* ---- recurrent layers ---- */

enum { STEPS = 21, FEATURES = 2, MOST_WEIGHTS = 512, RECURRENT = 6 };

typedef struct recurrent_run_t {
    int kind; /* below RECURRENT */
    gantry_choice_t unroll;
    bool is_eager, checks;
    const gantry_activation_t *activation;
} recurrent_run_t;

static gantry_layer_t *make_recurrent(const recurrent_run_t *run) {
    const gantry_recurrent_options_t options = {.struct_size = sizeof options,
                                                .activation = run->activation,
                                                .unroll = run->unroll,
                                                .go_backwards = run->kind == 3,
                                                .reset_before = run->kind == 4,
                                                .dropout = run->kind == 2 ? 0.25 : 0,
                                                .recurrent_dropout = run->kind == 2 ? 0.25 : 0};
    switch (run->kind) {
        case 0: return gantry_simple_rnn(3, &options);
        case 1:
        case 4: return gantry_gru(3, &options);
        case 5: return gantry_bidirectional(gantry_lstm(3, &options), GANTRY_MERGE_CONCAT, NULL);
        default: return gantry_lstm(3, &options);
    }
}

static gantry_status_t train_recurrent(const recurrent_run_t *run, float *out, size_t *out_count) {
    static float sequences[ROWS * STEPS * FEATURES];
    for (int i = 0; i < ROWS * STEPS * FEATURES; ++i)
        sequences[i] = (float)(i * 7919 % 1000) / 400 - 1.2f;
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.seed = 9});
    must(gantry_model_add(model, make_recurrent(run)));
    must(gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL)));
    must(gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                 .loss = GANTRY_MEAN_SQUARED_ERROR,
                                                                 .runs_eagerly = run->is_eager,
                                                                 .check_numerics = run->checks}));
    const gantry_array_t arrays[] = {
        {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, STEPS, FEATURES), sequences},
        {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1), targets}};
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
    const gantry_status_t status =
        gantry_model_fit(model, data, &(gantry_fit_options_t){.epochs = 2});
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    *out_count = 0;
    for (size_t v = 0; v < gantry_model_variable_count(model); ++v) {
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, v, NULL));
        const size_t count = (size_t)gantry_tensor_elements(value);
        assert_true(*out_count + count <= MOST_WEIGHTS);
        if (gantry_tensor_dtype(value) != GANTRY_FLOAT32) continue; /* of a generator */
        must(gantry_tensor_read(value, out + *out_count, count * sizeof *out));
        *out_count += count;
    }
    if (status == GANTRY_OK)
        must(gantry_scope_end(scope));
    else
        (void)gantry_scope_end(scope);
    gantry_dataset_release(data);
    gantry_model_release(model);
    return status;
}

TEST(recurrent_layers_have_the_same_bits) {
    static const gantry_choice_t choices[] = {GANTRY_DEFAULT, GANTRY_OFF, GANTRY_ON};
    float wanted[MOST_WEIGHTS], got[MOST_WEIGHTS];
    size_t count, same;
    for (int i = 0; i < RECURRENT * 3; ++i) {
        recurrent_run_t run = {.kind = i / 3, .unroll = choices[i % 3]};
        must(train_recurrent(&run, wanted, &count));
        for (int how = 0; how < 2; ++how) {
            run.is_eager = how == 0;
            run.checks = how == 1;
            must(train_recurrent(&run, got, &same));
            assert_int_equal(same, count);
            if (memcmp(wanted, got, count * sizeof *got) != 0)
                fail_msg("layer %d, unroll %d: %s changes bits", run.kind, (int)run.unroll,
                         run.checks ? "check_numerics" : "runs_eagerly");
        }
    }
}

TEST(op_in_a_loop_is_named) {
    static const gantry_choice_t choices[] = {GANTRY_OFF, GANTRY_ON};
    const gantry_activation_t grows = GANTRY_EXPONENTIAL;
    float weights[MOST_WEIGHTS];
    size_t count;
    for (int i = 0; i < 2; ++i) {
        const recurrent_run_t run = {
            .kind = 0, .unroll = choices[i], .checks = true, .activation = &grows};
        assert_int_equal(train_recurrent(&run, weights, &count), GANTRY_INVALID_ARGUMENT);
        expect_text("epoch 1, step 1: ");
        expect_text("layer simple_rnn: ");
        expect_text("op Exp made 0 NaN, ");
    }
}

TEST(loss_that_is_no_number_ends_the_training) {
    const run_t wrong = {.learning_rate = 1e30}, right = {.learning_rate = 0.01};
    gantry_callback_t *callback = gantry_terminate_on_nan();
    gantry_model_t *model = make_model(&right);
    assert_non_null(callback);
    must(fit(model, callback));
    gantry_model_release(model);
    model = make_model(&wrong);
    assert_int_equal(fit(model, callback), GANTRY_INVALID_ARGUMENT);
    expect_text("gantry_terminate_on_nan: the loss of model sequential is ");
    expect_text(" after epoch 1, step 2; a finite one is accepted");
    gantry_model_release(model);
    gantry_callback_release(callback);
}

TEST(failing_allocations_leak_nothing) {
    const run_t run = {.wrong = root_of_zero, .learning_rate = 0.01, .checks = true};
    long count = 0;
    for (long i = -1; i < count; i += 13) {
        train_heap_reset(i);
        gantry_model_t *model = make_model(&run);
        const gantry_status_t status = fit(model, NULL);
        assert_true(status == GANTRY_INVALID_ARGUMENT || status == GANTRY_RESOURCE_EXHAUSTED);
        gantry_model_release(model);
        if (i < 0) count = train_heap_count();
        if (train_heap_live() != 0) fail_msg("allocation %ld of %ld leaks", i, count);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
