/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Bad input of a training is an error that names the object, its value and what is
 * accepted; weights and files stay whole, and the model can be trained afterwards.
 * Promise: A training refuses data of other sizes than the program gave an input, and components of
 * a batch that nothing takes; a bad call to a trained model changes no weight.
 * Promise: A full disk and ulimit -f end no training by a signal, and the old model or backup
 * stays. */
#define _XOPEN_SOURCE 700

#include <sys/resource.h>
#include <unistd.h>

#include "test.h"
#include "train_case.h"
#include "train_heap.h"

#include <gantry_train/train.h>

enum { ROWS = 24, BATCH = 4, FEATURES = 2, CLASSES = 3, WORDS = 20 };

static gantry_runtime_t *runtime;
static gantry_strategy_t *strategy;
static const char *device;
static float points[ROWS * 3];
static int32_t labels[ROWS * 2], words[ROWS * FEATURES];

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static int set_up(void **state) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    (void)state;
    train_heap_reset(-1);
    device = "/CPU:0";
    for (int i = 0; i < ROWS; ++i) {
        labels[i] = i % CLASSES;
        for (int k = 0; k < FEATURES; ++k) words[i * FEATURES + k] = (i * 3 + k) % WORDS;
        for (int k = 0; k < 3; ++k) points[i * 3 + k] = (float)((i * 5 + k) % 9) / 4 - 1;
    }
    return gantry_runtime_create(&options, &runtime) == GANTRY_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    gantry_strategy_release(strategy);
    strategy = NULL;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* ---- models and data ---- */

static gantry_model_t *make_model(int64_t units, gantry_optimizer_t *optimizer) {
    gantry_model_t *model = gantry_sequential(
        runtime, &(gantry_model_options_t){
                     .seed = 3, .device = strategy ? NULL : device, .strategy = strategy});
    (void)gantry_model_add(model, gantry_dense(units, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, NULL));
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = optimizer,
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY}));
    return model;
}

static gantry_model_t *make_embedding(void) {
    gantry_model_t *model =
        gantry_sequential(runtime, &(gantry_model_options_t){.seed = 3, .device = device});
    (void)gantry_model_add(model, gantry_embedding(WORDS, 2, NULL, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, NULL));
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY}));
    return model;
}

static gantry_dataset_t *make_data(gantry_dtype_t dtype, int64_t features, const void *inputs,
                                   gantry_dtype_t label_dtype, gantry_shape_t label_shape) {
    const gantry_array_t arrays[] = {{dtype, GANTRY_SHAPE(ROWS, features), inputs},
                                     {label_dtype, label_shape, labels}};
    return gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), BATCH, false);
}

static gantry_dataset_t *good_data(void) {
    return make_data(GANTRY_FLOAT32, FEATURES, points, GANTRY_INT32, GANTRY_SHAPE(ROWS));
}

static gantry_dataset_t *word_data(void) {
    return make_data(GANTRY_INT32, FEATURES, words, GANTRY_INT32, GANTRY_SHAPE(ROWS));
}

static void read_weight(gantry_model_t *model, float *out) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const gantry_tensor_t *value =
        gantry_variable_read(scope, gantry_model_variable(model, 0, NULL));
    must(gantry_tensor_read(value, out, gantry_tensor_bytes(value)));
    must(gantry_scope_end(scope));
}

/* A functional model's input is what the program said; of a batch no component is left over. */
TEST(what_a_program_gave_is_checked) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS), points},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS), points}};
    gantry_dataset_t *four =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 4, false), BATCH, false);
    gantry_model_t *model = gantry_functional(runtime, NULL),
                   *chain = make_model(4, gantry_sgd(NULL));
    double loss;
    int32_t x = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1));
    x = gantry_model_apply(model, gantry_global_avg_pool(NULL), &x, 1);
    (void)gantry_model_apply(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, NULL), &x, 1);
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY}));
    const gantry_array_t images[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1, 3, 1), points},
                                     arrays[1]};
    gantry_dataset_t *of_images =
        gantry_dataset_batch(gantry_dataset_from_arrays(images, 2, false), BATCH, false);
    expect_refusal(gantry_model_fit(model, of_images, NULL), GANTRY_INVALID_ARGUMENT,
                   "component 0 of a batch has shape [4,1,3,1]; [-1,2,2,1] is accepted");
    must(gantry_model_build(chain, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    expect_refusal(gantry_model_fit(chain, of_images, NULL), GANTRY_INVALID_ARGUMENT,
                   "component 0 of a batch has shape [4,1,3,1];");
    expect_refusal(gantry_model_fit(chain, four, NULL), GANTRY_INVALID_ARGUMENT,
                   "a batch has 4 components; at most 3 are accepted: inputs, labels, weights");
    expect_refusal(gantry_model_evaluate(chain, four, &loss, 1), GANTRY_INVALID_ARGUMENT,
                   "a batch has 4 components; at most 3");
    must(gantry_model_predict(chain, four, NULL, 0, NULL));
    gantry_dataset_release(four);
    gantry_dataset_release(of_images);
    gantry_model_release(model);
    gantry_model_release(chain);
}

/* A call that fails leaves a trained model as it was. */
TEST(a_trained_model_outlives_bad_calls) {
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    float before[FEATURES * 4], after[FEATURES * 4];
    double losses[2];
    must(gantry_model_fit(model, data, NULL));
    must(gantry_model_evaluate(model, data, &losses[0], 1));
    read_weight(model, before);
    expect_refusal(
        gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                                .loss = (gantry_loss_t)77}),
        GANTRY_INVALID_ARGUMENT, "77");
    expect_refusal(gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = NULL}),
                   GANTRY_INVALID_ARGUMENT, "the optimizer is NULL");
    expect_refusal(gantry_model_add(model, gantry_flatten(NULL)), GANTRY_FAILED_PRECONDITION,
                   "gantry_model_add");
    expect_refusal(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(9)),
                   GANTRY_FAILED_PRECONDITION, "built");
    must(gantry_model_evaluate(model, data, &losses[1], 1));
    read_weight(model, after);
    assert_memory_equal(before, after, sizeof before);
    assert_true(losses[0] == losses[1]);
    must(gantry_model_fit(model, data, NULL));
    gantry_dataset_release(data);
    gantry_model_release(model);
}

/* The thread's last failure may be the constructor's, or an older one. */
TEST(a_null_layer_is_named) {
    gantry_model_t *model = gantry_sequential(runtime, NULL);
    (void)gantry_fail(GANTRY_INTERNAL, "an older failure");
    expect_refusal(
        gantry_model_add(model, NULL), GANTRY_INVALID_ARGUMENT,
        "gantry_model_add: the layer is NULL; one is accepted; the last failure of this thread: an older failure");
    gantry_model_release(model);
}

/* ---- data ---- */

/* A first batch that is refused changes no weight, and a training afterwards is as ever. */
static void refuse_and_go_on(gantry_model_t *model, gantry_dataset_t *data, int32_t *place,
                             int32_t bad, const char *text) {
    float before[WORDS * 2], after[WORDS * 2];
    double loss;
    const int32_t good = *place;
    must(gantry_model_fit(model, data, NULL));
    read_weight(model, before);
    *place = bad;
    expect_refusal(gantry_model_fit(model, data, NULL), GANTRY_INVALID_ARGUMENT, text);
    expect_refusal(gantry_model_evaluate(model, data, &loss, 1), GANTRY_INVALID_ARGUMENT, text);
    *place = good;
    read_weight(model, after);
    assert_memory_equal(before, after, sizeof(float) * FEATURES * 4);
    must(gantry_model_fit(model, data, NULL));
    must(gantry_model_evaluate(model, data, &loss, 1));
    assert_true(isfinite(loss));
}

static void refuse_numbers(void) {
    gantry_dataset_t *data = good_data(), *few = word_data();
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    refuse_and_go_on(model, data, &labels[2], 7,
                     "model sequential: labels[2]: Received a label value of 7 which is outside "
                     "the valid range of [0, 3).");
    refuse_and_go_on(model, data, &labels[0], -1,
                     "labels[0]: Received a label value of -1 which is outside the valid range");
    gantry_model_release(model);
    if (!strategy) {
        model = make_embedding();
        refuse_and_go_on(model, few, &words[3], WORDS,
                         "model sequential: layer embedding: indices[1,1] = 20 is not in [0, 20)");
        gantry_model_release(model);
    }
    gantry_dataset_release(data);
    gantry_dataset_release(few);
}

TEST(numbers_out_of_range_are_refused) { refuse_numbers(); }

TEST(numbers_out_of_range_are_refused_by_replicas) {
    must(gantry_set_logical_cpu_devices(runtime, 2));
    strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    assert_non_null(strategy);
    refuse_numbers();
}

TEST(numbers_out_of_range_are_refused_on_pocl) {
    gantry_runtime_t *cpu = runtime;
    runtime = train_open_gpu();
    device = "/GPU:0";
    refuse_numbers();
    gantry_runtime_release(runtime);
    runtime = cpu;
}

TEST(empty_data_are_refused) {
    gantry_dataset_t *data = good_data(), *none = gantry_dataset_take(good_data(), 0);
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    float outputs[1];
    double loss;
    expect_refusal(gantry_model_fit(model, none, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_model_fit: the data set is empty; one with batches is accepted");
    expect_refusal(gantry_model_fit(model, data, &(gantry_fit_options_t){.validation = none}),
                   GANTRY_INVALID_ARGUMENT,
                   "gantry_model_evaluate: the data set is empty; one with batches is accepted");
    expect_refusal(gantry_model_evaluate(model, none, &loss, 1), GANTRY_INVALID_ARGUMENT,
                   "gantry_model_evaluate: the data set is empty");
    expect_refusal(gantry_model_predict(model, none, outputs, sizeof outputs, NULL),
                   GANTRY_INVALID_ARGUMENT, "gantry_model_predict: the data set is empty");
    expect_refusal(gantry_model_fit(model, NULL, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_model_fit: the data set is NULL; one is accepted");
    expect_refusal(gantry_model_evaluate(model, NULL, &loss, 1), GANTRY_INVALID_ARGUMENT,
                   "gantry_model_evaluate: the data set is NULL; one is accepted");
    expect_refusal(gantry_model_predict(model, NULL, outputs, sizeof outputs, NULL),
                   GANTRY_INVALID_ARGUMENT, "gantry_model_predict: the data set is NULL");
    gantry_model_release(model);
    gantry_dataset_release(none);
    gantry_dataset_release(data);
}

typedef struct shape_case_t {
    gantry_dtype_t dtype;
    int64_t features;
    gantry_dtype_t label_dtype;
    int64_t label_columns; /* 0: a vector */
    bool is_trained;       /* before, with good data */
    const char *text;
} shape_case_t;

TEST(wrong_shapes_and_types_are_refused) {
    static const shape_case_t cases[] = {
        {GANTRY_FLOAT32, 3, GANTRY_INT32, 0, true,
         "model sequential: input 0 of the batch has shape [4,3]; [-1,2] is accepted, as of the first "
         "batch"},
        {GANTRY_COMPLEX64, 2, GANTRY_INT32, 0, true, "layer dense: "},
        {GANTRY_FLOAT32, 2, GANTRY_INT32, 2, true,
         "sparse_categorical_crossentropy: labels of shape [4,2] do not fit"},
        {GANTRY_FLOAT32, 2, GANTRY_COMPLEX64, 0, true,
         "sparse_categorical_crossentropy: labels are complex64; real numbers and bool are accepted"},
        {GANTRY_INT32, 2, GANTRY_INT32, 0, false,
         "float32 tensor (the first batch has int32; after gantry_model_build for float32, batches are converted)"},
        {GANTRY_FLOAT32, 2, GANTRY_INT32, 2, false,
         "sparse_categorical_crossentropy: labels of shape [4,2] do not fit predictions of shape "
         "[4,3]; the shape without the classes, or with 1 in their place, is accepted"}};
    gantry_dataset_t *good = good_data();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const shape_case_t *c = &cases[i];
        gantry_shape_t shape = GANTRY_SHAPE(ROWS);
        if (c->label_columns > 0) shape = GANTRY_SHAPE(ROWS, c->label_columns);
        gantry_model_t *model = make_model(4, gantry_adam(NULL));
        gantry_dataset_t *bad = make_data(c->dtype, c->features, points, c->label_dtype, shape);
        if (c->is_trained) must(gantry_model_fit(model, good, NULL));
        expect_refusal(gantry_model_fit(model, bad, NULL), GANTRY_INVALID_ARGUMENT, c->text);
        if (c->is_trained || c->label_columns > 0) must(gantry_model_fit(model, good, NULL));
        gantry_dataset_release(bad);
        gantry_model_release(model);
    }
    gantry_dataset_release(good);
}

TEST(element_that_is_no_batch_is_told) {
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    gantry_dataset_t *rows = gantry_dataset_from_arrays(arrays, 2, false), *good = good_data();
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    must(gantry_model_fit(model, good, NULL));
    expect_refusal(gantry_model_fit(model, rows, NULL), GANTRY_INVALID_ARGUMENT,
                   "component 1 of an element is a scalar: the element is no batch; "
                   "gantry_dataset_batch makes batches");
    gantry_model_release(model);
    gantry_dataset_release(good);
    gantry_dataset_release(rows);
}

static gantry_status_t fail_at_9(void *user, const gantry_array_t *input, size_t input_count,
                                 gantry_element_t *output) {
    (void)user;
    if (((const int32_t *)input[1].data)[0] == 9)
        return gantry_element_fail(output, GANTRY_DATA_LOSS, "row 9 is damaged");
    for (size_t i = 0; i < input_count; ++i) {
        const gantry_array_t *x = &input[i];
        void *out = gantry_element_component(output, i, x->dtype, &x->shape);
        if (!out) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(out, x->data,
               (size_t)gantry_shape_elements(&x->shape) * gantry_dtype_size(x->dtype));
    }
    return GANTRY_OK;
}

/* The element is 13th; the batches in front of it are trained. */
TEST(map_that_fails_on_a_thread_ends_the_training) {
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    gantry_dataset_t *good = good_data();
    labels[13] = 9;
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(ROWS), labels}};
    gantry_dataset_t *data = gantry_dataset_from_arrays(arrays, 2, true);
    labels[13] = 1;
    data = gantry_dataset_map(data, fail_at_9, NULL, 4);
    data = gantry_dataset_prefetch(gantry_dataset_batch(data, BATCH, false), 2);
    expect_refusal(
        gantry_model_fit(model, data, NULL), GANTRY_DATA_LOSS,
        "gantry_dataset_map: the function failed for element 13 with DataLoss: row 9 is damaged");
    must(gantry_model_fit(model, good, NULL));
    gantry_dataset_release(data);
    gantry_dataset_release(good);
    gantry_model_release(model);
}

/* ---- callbacks ---- */

static const char *failing; /* the function that fails */

static gantry_status_t fail_as(const char *name) {
    return strcmp(name, failing) == 0 ? gantry_fail(GANTRY_ABORTED, name) : GANTRY_OK;
}

static gantry_status_t begin_epoch(gantry_model_t *model, int64_t epoch, void *user) {
    (void)model, (void)epoch, (void)user;
    return fail_as("epoch_begin");
}

static gantry_status_t end_epoch(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                 bool *stop, void *user) {
    (void)model, (void)epoch, (void)logs, (void)stop, (void)user;
    return fail_as("epoch_end");
}

static gantry_status_t end_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)stop, (void)user;
    if (step == 2 && strcmp(failing, "none, but it stops") == 0) gantry_model_stop(model);
    return fail_as("step_end");
}

static gantry_status_t get_state(char *out, size_t bytes, void *user) {
    (void)user;
    (void)snprintf(out, bytes, "state");
    return fail_as("get_state");
}

static gantry_status_t set_state(const char *text, void *user) {
    (void)user;
    assert_string_equal(text, "state");
    return fail_as("set_state");
}

static gantry_status_t fit_called(gantry_model_t *model, gantry_dataset_t *data,
                                  const char *backup) {
    const gantry_callback_t callback = {.struct_size = sizeof callback,
                                        .epoch_begin = begin_epoch,
                                        .epoch_end = end_epoch,
                                        .step_end = end_step,
                                        .get_state = get_state,
                                        .set_state = set_state};
    const gantry_callback_t *const callbacks[] = {&callback};
    return gantry_model_fit(
        model, data,
        &(gantry_fit_options_t){
            .epochs = 2, .callbacks = callbacks, .callback_count = 1, .backup = backup});
}

static gantry_status_t silent_train(gantry_model_t *model, void *user) {
    (void)model, (void)user;
    return GANTRY_ABORTED;
}

static gantry_status_t silent_begin(gantry_model_t *model, int64_t epoch, void *user) {
    (void)epoch;
    return silent_train(model, user);
}

static gantry_status_t silent_end(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                  bool *stop, void *user) {
    (void)epoch, (void)logs, (void)stop;
    return silent_train(model, user);
}

static gantry_status_t silent_step(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)step, (void)stop;
    return silent_train(model, user);
}

static gantry_status_t silent_get(char *out, size_t bytes, void *user) {
    (void)out, (void)bytes, (void)user;
    return GANTRY_ABORTED;
}

static gantry_status_t silent_set(const char *text, void *user) {
    (void)text, (void)user;
    return GANTRY_OK;
}

/* The text of an earlier failure does not stand for it. */
TEST(callback_that_fails_without_a_text_is_named) {
    static const struct {
        const char *name;
        gantry_callback_t callback;
    } cases[] = {{"train_begin", {.train_begin = silent_train}},
                 {"epoch_begin", {.epoch_begin = silent_begin}},
                 {"step_end", {.step_end = silent_step}},
                 {"get_state", {.get_state = silent_get, .set_state = silent_set}},
                 {"test_begin", {.test_begin = silent_train}},
                 {"test_end", {.test_end = silent_train}},
                 {"test_begin", {.test_begin = silent_train, .test_end = silent_train}},
                 {"epoch_end", {.epoch_end = silent_end}},
                 {"train_end", {.train_end = silent_train}}};
    char path[] = "/tmp/gantry_fit_XXXXXX", text[256];
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    (void)close(mkstemp(path));
    (void)unlink(path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_callback_t callback = cases[i].callback;
        callback.struct_size = sizeof callback;
        const gantry_callback_t *const list[] = {&callback};
        (void)gantry_fail(GANTRY_INTERNAL, "an earlier failure");
        (void)snprintf(text, sizeof text,
                       "gantry_model_fit: %s of callback 0 failed with Aborted: it left no text by "
                       "gantry_fail",
                       cases[i].name);
        expect_refusal(gantry_model_fit(model, data,
                                        &(gantry_fit_options_t){.epochs = 2,
                                                                .validation = data,
                                                                .callbacks = list,
                                                                .callback_count = 1,
                                                                .backup = path}),
                       GANTRY_ABORTED, text);
        (void)unlink(path);
    }
    gantry_dataset_release(data);
    gantry_model_release(model);
}

/* A watched value that the training does not have: the text lists those that it has. */
TEST(watched_value_that_is_missing_is_told) {
    gantry_callback_t *stopping = gantry_early_stopping(NULL);
    const gantry_callback_t *const list[] = {stopping};
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    expect_refusal(
        gantry_model_fit(model, data,
                         &(gantry_fit_options_t){.callbacks = list, .callback_count = 1}),
        GANTRY_INVALID_ARGUMENT,
        "a callback watches val_loss; the training has no value of this name; it has loss, and no "
        "validation in gantry_fit_options_t");
    gantry_callback_release(stopping);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

TEST(failing_callback_ends_the_training_with_its_error) {
    static const char *const names[] = {"epoch_begin", "epoch_end", "step_end", "get_state"};
    char path[] = "/tmp/gantry_fit_XXXXXX";
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    (void)close(mkstemp(path));
    (void)unlink(path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        failing = names[i];
        expect_refusal(fit_called(model, data, path), GANTRY_ABORTED, names[i]);
        failing = "none";
        must(fit_called(model, data, path));
    }
    failing = "none, but it stops";
    assert_int_equal(fit_called(model, data, path), GANTRY_CANCELLED);
    failing = "set_state";
    expect_refusal(fit_called(model, data, path), GANTRY_ABORTED, "set_state");
    failing = "none"; /* the backup is as it was */
    must(fit_called(model, data, path));
    assert_int_not_equal(access(path, F_OK), 0);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

static gantry_status_t compile_again(gantry_model_t *model) {
    return gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY});
}

static gantry_status_t compile_inside(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)step, (void)stop, (void)user;
    expect_refusal(compile_again(model), GANTRY_FAILED_PRECONDITION, "is in gantry_model_fit");
    return GANTRY_OK;
}

TEST(a_callback_must_not_compile) {
    const gantry_callback_t inside = {.struct_size = sizeof inside, .step_end = compile_inside};
    const gantry_callback_t *const list[] = {&inside};
    gantry_model_t *model = make_model(4, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    must(gantry_model_fit(model, data,
                          &(gantry_fit_options_t){.callbacks = list, .callback_count = 1}));
    must(compile_again(model));
    must(gantry_model_fit(model, data, NULL));
    gantry_dataset_release(data);
    gantry_model_release(model);
}

/* ---- files ---- */

TEST(other_models_files_are_refused) {
    char path[] = "/tmp/gantry_fit_XXXXXX", text[256];
    float before[FEATURES * 4], after[FEATURES * 4];
    gantry_model_t *model = make_model(4, gantry_adam(NULL)),
                   *wide = make_model(5, gantry_adam(NULL)), *sgd = make_model(4, gantry_sgd(NULL));
    gantry_dataset_t *data = good_data();
    (void)close(mkstemp(path));
    must(gantry_model_fit(model, data, NULL));
    must(gantry_model_save(model, path));
    must(gantry_model_build(wide, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    must(gantry_model_build(sgd, GANTRY_FLOAT32, GANTRY_SHAPE(FEATURES)));
    (void)snprintf(text, sizeof text,
                   "tensor 'dense/kernel' of the checkpoint '%s' is float32 [2,4]; float32 [2,5] "
                   "is accepted here",
                   path);
    expect_refusal(gantry_model_load(wide, path), GANTRY_INVALID_ARGUMENT, text);
    (void)snprintf(text, sizeof text,
                   "%s has the state of optimizer adam; model sequential accepts that of sgd, and "
                   "without gantry_model_compile only the weights",
                   path);
    read_weight(sgd, before);
    expect_refusal(gantry_model_load(sgd, path), GANTRY_INVALID_ARGUMENT, text);
    read_weight(sgd, after);
    assert_memory_equal(before, after, sizeof before);
    expect_refusal(
        gantry_model_fit(sgd, data, &(gantry_fit_options_t){.epochs = 2, .backup = path}),
        GANTRY_INVALID_ARGUMENT, "is no backup of a training: its text \"epoch\" is missing");
    (void)unlink(path);
    assert_int_equal(gantry_model_load(model, path), GANTRY_NOT_FOUND);
    assert_non_null(strstr(gantry_last_message(), path));
    gantry_dataset_release(data);
    gantry_model_release(sgd);
    gantry_model_release(wide);
    gantry_model_release(model);
}

/* The limit of this process's files stands for a full disk. */
static void fill_disk(rlim_t bytes, struct rlimit *before) {
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, before->rlim_max}), 0);
}

static void free_disk(const struct rlimit *before) {
    assert_int_equal(setrlimit(RLIMIT_FSIZE, before), 0);
}

static size_t read_all(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t bytes = fread(out, 1, room, file);
    (void)fclose(file);
    return bytes;
}

/* The callback and the call of the program: each is ResourceExhausted, names the file,
 * and leaves the old one whole. */
TEST(full_disk_leaves_the_old_file) {
    static char before[1 << 16], after[1 << 16];
    char path[] = "/tmp/gantry_fit_XXXXXX";
    struct rlimit limit;
    gantry_model_t *model = make_model(64, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    (void)close(mkstemp(path));
    gantry_callback_t *saving = gantry_model_checkpoint(path, NULL);
    const gantry_callback_t *const callbacks[] = {saving};
    const gantry_fit_options_t with_callback = {.callbacks = callbacks, .callback_count = 1};
    must(gantry_model_fit(model, data, &with_callback));
    const size_t bytes = read_all(path, before, sizeof before);
    assert_true(bytes > 1000);
    fill_disk(1000, &limit);
    const gantry_status_t statuses[] = {gantry_model_save(model, path),
                                        gantry_model_fit(model, data, &with_callback)};
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    free_disk(&limit);
    for (size_t i = 0; i < 2; ++i) assert_int_equal(statuses[i], GANTRY_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(text, path));
    assert_int_equal(read_all(path, after, sizeof after), bytes);
    assert_memory_equal(before, after, bytes);
    must(gantry_model_fit(model, data, &with_callback));
    (void)unlink(path);
    gantry_callback_release(saving);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

TEST(full_disk_leaves_the_old_backup) {
    static char before[1 << 16], after[1 << 16];
    char path[] = "/tmp/gantry_fit_XXXXXX";
    struct rlimit limit;
    gantry_model_t *model = make_model(64, gantry_adam(NULL));
    gantry_dataset_t *data = good_data();
    (void)close(mkstemp(path));
    (void)unlink(path);
    const gantry_fit_options_t often = {.epochs = 3, .backup = path, .backup_steps = 1};
    failing = "none, but it stops";
    assert_int_equal(fit_called(model, data, path), GANTRY_CANCELLED);
    const size_t bytes = read_all(path, before, sizeof before);
    assert_true(bytes > 1000);
    fill_disk(1000, &limit);
    const gantry_status_t status = gantry_model_fit(model, data, &often);
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    free_disk(&limit);
    assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(text, path));
    assert_int_equal(read_all(path, after, sizeof after), bytes);
    assert_memory_equal(before, after, bytes);
    must(gantry_model_fit(model, data, &often)); /* it goes on */
    gantry_dataset_release(data);
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
