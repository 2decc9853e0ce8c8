/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each batch of a data set is checked once before its step, in a training, a test, a
 * prediction and a measurement, on one device, on two, and in one of several processes.
 * Promise: The same bad batch has the same error in a training, a test, a prediction and a
 * measurement, on one device, on two, and in one of several processes, built or not. */
#define _XOPEN_SOURCE 700

#include "test.h"
#include "train_batch_count.h"
#include "train_case.h"
#include "train_heap.h"

#include <gantry_train/train.h>

enum { ROWS = 4, WORDS = 20, LENGTH = 3, WIDTH = 2, CLASSES = 3, COMPONENTS = 3 };

static gantry_runtime_t *runtime;

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static int set_up(void **state) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    (void)state;
    train_heap_reset(-1);
    (void)train_batch_count();
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return 1;
    return gantry_set_logical_cpu_devices(runtime, 2) == GANTRY_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

/* ---- where a model is trained ---- */

typedef enum place_t { ONE_DEVICE, TWO_DEVICES, ONE_PROCESS, PLACES } place_t;

static gantry_status_t keep_sums(void *user, void *elements, size_t count, gantry_dtype_t dtype,
                                 const char *what) {
    (void)user, (void)elements, (void)count, (void)dtype, (void)what;
    return GANTRY_OK;
}

static gantry_status_t keep_bytes(void *user, void *data, size_t bytes, size_t root,
                                  const char *what) {
    (void)user, (void)data, (void)bytes, (void)root, (void)what;
    return GANTRY_OK;
}

static gantry_strategy_t *strategy_at(place_t place) {
    const char *const names[] = {"/CPU:0", "/CPU:1"};
    const gantry_communicator_t alone = {
        .struct_size = sizeof alone, .size = 1, .all_reduce = keep_sums, .broadcast = keep_bytes};
    if (place == ONE_DEVICE) return NULL;
    return place == TWO_DEVICES ? gantry_mirrored_strategy(runtime, names, 2)
                                : gantry_multi_worker_strategy(runtime, names, 1, &alone);
}

/* Words and numbers, of which a class follows. */
static gantry_model_t *make_model(const gantry_strategy_t *strategy, bool checks_numerics) {
    gantry_model_t *model =
        gantry_functional(runtime, &(gantry_model_options_t){.name = "model",
                                                             .seed = 3,
                                                             .device = strategy ? NULL : "/CPU:0",
                                                             .strategy = strategy});
    int32_t words = gantry_model_input(model, GANTRY_INT32, GANTRY_SHAPE(LENGTH)), both[2];
    both[1] = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(WIDTH));
    words = gantry_model_apply(model, gantry_embedding(WORDS, 2, NULL, "words"), &words, 1);
    both[0] = gantry_model_apply(model, gantry_flatten(NULL), &words, 1);
    both[0] = gantry_model_apply(model, gantry_concatenate_layer(-1, NULL), both, 2);
    (void)gantry_model_apply(model, gantry_dense(CLASSES, GANTRY_SOFTMAX, NULL), both, 1);
    must(gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                           .check_numerics = checks_numerics}));
    return model;
}

/* ---- batches ---- */

/* What is wrong with each batch of a data set. */
typedef struct bad_t {
    const char *text;  /* of the error; NULL: the batch is good */
    bool is_of_labels; /* a prediction has none, and takes the batch */
    bool is_of_numerics;
    int32_t word, label;
    float number;
    int64_t width, label_rows, label_width; /* 0: as it should be; -1: a scalar, no rows */
    int batches;                            /* 0: 1 */
    int made;
} bad_t;

static const bad_t bads[] = {
    {.text = "model model: component 2 of an element is a scalar: the element is no batch",
     .label_rows = -1},
    {.text = "model model: component 2 of a batch has 3 rows; component 0 has 4", .label_rows = 3},
    {.text = "model model: component 1 of a batch has shape [4,5]; [-1,2] is accepted", .width = 5},
    {.text = "model model: component 1 of a batch has shape [4,0]; [-1,2] is accepted",
     .width = -1},
    {.text = "model model: layer words: indices[0,0] = 20 is not in [0, 20)", .word = WORDS},
    {.text = "model model: labels[0]: Received a label value of 3 which is outside the valid "
             "range of [0, 3).",
     .is_of_labels = true,
     .label = CLASSES},
    {.text = "model model: input 1 of the batch: 1 NaN, 0 +Inf and 0 -Inf among 8 elements, "
             "float32 [4,2], the first in row 0; finite numbers are accepted",
     .is_of_numerics = true,
     .number = NAN},
    {.text = "sparse_categorical_crossentropy: labels of shape [4,2] do not fit predictions of "
             "shape [4,3]",
     .is_of_labels = true,
     .label_width = 2},
};

/* Returns memory of zeros. */
static void *component(gantry_element_t *element, size_t index, gantry_dtype_t dtype,
                       gantry_shape_t shape) {
    void *data = gantry_element_component(element, index, dtype, &shape);
    assert_non_null(data);
    memset(data, 0, (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype));
    return data;
}

static gantry_status_t make_batch(void *state, gantry_element_t *element, bool *out_end) {
    bad_t *bad = state;
    const int64_t width = bad->width < 0 ? 0 : bad->width ? bad->width : WIDTH;
    const int64_t rows = bad->label_rows ? bad->label_rows : ROWS;
    const gantry_shape_t labels = rows < 0           ? GANTRY_SCALAR
                                  : bad->label_width ? GANTRY_SHAPE(rows, bad->label_width)
                                                     : GANTRY_SHAPE(rows);
    if ((*out_end = bad->made++ == (bad->batches ? bad->batches : 1))) return GANTRY_OK;
    *(int32_t *)component(element, 0, GANTRY_INT32, GANTRY_SHAPE(ROWS, LENGTH)) = bad->word;
    float *numbers = component(element, 1, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, width));
    if (width > 0) numbers[0] = bad->number;
    *(int32_t *)component(element, 2, GANTRY_INT32, labels) = bad->label;
    return GANTRY_OK;
}

static gantry_status_t begin_batches(void *user, void **out_state) {
    ((bad_t *)user)->made = 0;
    *out_state = user;
    return GANTRY_OK;
}

static gantry_dataset_t *data_of(bad_t *bad) {
    return gantry_dataset_from_callback(
        &(gantry_dataset_source_t){.struct_size = sizeof(gantry_dataset_source_t),
                                   .begin = begin_batches,
                                   .next = make_batch,
                                   .user = bad});
}

/* ---- calls ---- */

typedef gantry_status_t (*call_fn)(gantry_model_t *model, gantry_dataset_t *data);

static gantry_status_t train(gantry_model_t *model, gantry_dataset_t *data) {
    return gantry_model_fit(model, data, NULL);
}

static gantry_status_t test(gantry_model_t *model, gantry_dataset_t *data) {
    double loss;
    return gantry_model_evaluate(model, data, &loss, 1);
}

static gantry_status_t predict(gantry_model_t *model, gantry_dataset_t *data) {
    size_t needed;
    return gantry_model_predict(model, data, NULL, 0, &needed);
}

static gantry_status_t measure(gantry_model_t *model, gantry_dataset_t *data) {
    return gantry_model_measure_replicas(model, data, NULL, 0);
}

enum { CALLS = 4 };
static const call_fn calls[CALLS] = {train, test, predict, measure};

/* ---- tests ---- */

TEST(each_batch_is_checked_once) {
    for (int place = 0; place < PLACES; ++place) {
        bad_t good = {.batches = 3};
        gantry_strategy_t *strategy = strategy_at(place);
        gantry_model_t *model = make_model(strategy, false);
        gantry_dataset_t *data = data_of(&good);
        for (int i = 0; i < CALLS; ++i) {
            const int wanted = calls[i] == measure ? 1 : good.batches;
            must(calls[i](model, data));
            assert_int_equal(train_batch_count(), wanted);
        }
        gantry_dataset_release(data);
        gantry_model_release(model);
        gantry_strategy_release(strategy);
    }
}

/* A training in one process that checks numerics also names the step; a trace names its function,
 * which is that of the call. */
static void expect_error(gantry_model_t *model, call_fn call, const bad_t *bad) {
    static const char step[] = "epoch 1, step 1: ", function[] = "function ";
    bad_t copy = *bad;
    gantry_dataset_t *data = data_of(&copy);
    assert_int_equal(call(model, data), GANTRY_INVALID_ARGUMENT);
    const char *text = gantry_last_message();
    if (call == train && strncmp(text, step, strlen(step)) == 0) text += strlen(step);
    if (strncmp(text, function, strlen(function)) == 0) text = strchr(text, ':') + 2;
    if (strncmp(text, bad->text, strlen(bad->text)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", text, bad->text);
    gantry_dataset_release(data);
}

static void expect_errors(place_t place, const bad_t *bad, bool is_built) {
    for (int i = 0; i < CALLS; ++i) {
        bad_t good = {.batches = 1};
        if (bad->is_of_labels && calls[i] == predict) continue;
        gantry_strategy_t *strategy = strategy_at(place);
        gantry_model_t *model = make_model(strategy, bad->is_of_numerics);
        gantry_dataset_t *data = data_of(&good);
        if (is_built) must(train(model, data));
        if (is_built && calls[i] != measure) must(calls[i](model, data));
        expect_error(model, calls[i], bad);
        must(train(model, data));
        gantry_dataset_release(data);
        gantry_model_release(model);
        gantry_strategy_release(strategy);
    }
}

TEST(bad_batch_has_one_error_everywhere) {
    for (size_t b = 0; b < sizeof bads / sizeof bads[0]; ++b) {
        for (int place = 0; place < PLACES; ++place) {
            expect_errors(place, &bads[b], true);
            expect_errors(place, &bads[b], false);
        }
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
