/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A training has the same bits whatever floating-point mode the program chose.
 * Promise: Callbacks of a training (layers, losses, rates, data sets, custom gradients and those of
 * fit) run in the program's floating-point mode. */
#define _GNU_SOURCE
#include "test.h"
#include "train_fixture.h"

#include <gantry_train/train.h>

#include "fp_modes.h"

enum { MOST_BYTES = 1 << 16, ROWS = 48, WIDTH = 6 };

typedef struct program_t {
    gantry__fp_mode_t mode;
    atomic_int map, filter, source, layer, loss, rate, fit, text, custom, later;
    int rows, sequences; /* made */
    unsigned char bytes[MOST_BYTES];
    size_t count;
} program_t;

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* Also on threads of the library, where a test cannot fail: fails later. */
static void note(program_t *p, atomic_int *count) {
    *count += gantry__fp_equal(gantry__fp_read(), p->mode) ? 1 : -100000;
}

static void keep(program_t *p, const void *bytes, size_t count) {
    assert_true(p->count + count <= MOST_BYTES);
    memcpy(p->bytes + p->count, bytes, count);
    p->count += count;
}

/* ---- data ---- */

/* Numbers that every mode computes alike. */
static gantry_status_t next_row(void *state, gantry_element_t *element, bool *out_end) {
    program_t *p = state;
    note(p, &p->source);
    const int row = ++p->rows % (ROWS + 1);
    *out_end = row == 0;
    if (*out_end) return GANTRY_OK;
    float *x = gantry_element_component(element, 0, GANTRY_FLOAT32, &GANTRY_SHAPE(4, WIDTH));
    float *y = gantry_element_component(element, 1, GANTRY_FLOAT32, &GANTRY_SHAPE(1));
    if (!x || !y) return GANTRY_RESOURCE_EXHAUSTED;
    for (int i = 0; i < 4 * WIDTH; ++i) x[i] = (float)((row * 37 + i * 11) % 64) * 0x1p-5f - 1;
    *y = (float)(row % 3);
    return GANTRY_OK;
}

static gantry_status_t copy_row(void *user, const gantry_array_t *input, size_t input_count,
                                gantry_element_t *output) {
    program_t *p = user;
    note(p, &p->map);
    for (size_t i = 0; i < input_count; ++i) {
        void *out = gantry_element_component(output, i, input[i].dtype, &input[i].shape);
        if (!out) return GANTRY_RESOURCE_EXHAUSTED;
        memcpy(out, input[i].data, (size_t)gantry_shape_elements(&input[i].shape) * sizeof(float));
    }
    return GANTRY_OK;
}

static gantry_status_t keep_all(void *user, const gantry_array_t *components, size_t count,
                                bool *out_keep) {
    program_t *p = user;
    (void)components, (void)count;
    note(p, &p->filter);
    *out_keep = true;
    return GANTRY_OK;
}

/* On threads of the data set's own, or but for map on the caller's. */
static gantry_dataset_t *rows_of(program_t *p, bool is_ahead) {
    gantry_dataset_t *rows = gantry_dataset_from_callback(&(gantry_dataset_source_t){
        .struct_size = sizeof(gantry_dataset_source_t), .next = next_row, .user = p});
    rows = gantry_dataset_map(rows, copy_row, p, 3);
    rows = gantry_dataset_batch(gantry_dataset_filter(rows, keep_all, p), 8, true);
    return is_ahead ? gantry_dataset_prefetch(rows, 2) : rows;
}

static gantry_status_t next_sequence(void *state, gantry_element_t *element, bool *out_end) {
    program_t *p = state;
    note(p, &p->source);
    *out_end = p->sequences == 6;
    if (*out_end) return GANTRY_OK;
    const int64_t length = ++p->sequences % 3 + 1;
    float *x = gantry_element_component(element, 0, GANTRY_FLOAT32, &GANTRY_SHAPE(length));
    if (!x) return GANTRY_RESOURCE_EXHAUSTED;
    memset(x, 0, (size_t)length * sizeof *x);
    return GANTRY_OK;
}

/* The padding value is rounded to the type on the data set's thread. */
static void run_padding(program_t *p) {
    gantry_dataset_t *rows = gantry_dataset_from_callback(&(gantry_dataset_source_t){
        .struct_size = sizeof(gantry_dataset_source_t), .next = next_sequence, .user = p});
    rows = gantry_dataset_prefetch(
        gantry_dataset_padded_batch(
            rows, 3, &(gantry_padded_batch_options_t){.values = (const double[]){0.1}, .count = 1}),
        1);
    const gantry_array_t *components;
    gantry_dataset_iterator_t *iterator;
    size_t count;
    bool ends = false;
    p->sequences = 0;
    must(gantry_dataset_iterator_create(rows, &iterator));
    while (must(gantry_dataset_iterator_next(iterator, &components, &count, &ends)), !ends)
        keep(p, components->data, 9 * sizeof(float));
    gantry_dataset_iterator_release(iterator);
    gantry_dataset_release(rows);
}

/* ---- the model ---- */

static void squaring(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    program_t *p = user;
    note(p, &p->custom);
    outputs[0] = gantry_square(scope, inputs[0]);
}

static void back(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t *const *outputs, const gantry_tensor_t *const *dy,
                 const gantry_tensor_t **dx, void *user) {
    program_t *p = user;
    (void)outputs;
    note(p, &p->custom);
    dx[0] = gantry_mul(scope, dy[0], gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, 2.1f)));
}

static const gantry_tensor_t *layer_call(const gantry_layer_call_t *call, void *user) {
    program_t *p = user;
    const gantry_tensor_t *output;
    note(p, &p->layer);
    return gantry_custom_gradient(call->scope, squaring, back, p, call->inputs, 1, &output, 1) ==
                   GANTRY_OK
               ? output
               : NULL;
}

static const gantry_tensor_t *loss_of(gantry_scope_t *scope, const gantry_tensor_t *labels,
                                      const gantry_tensor_t *predictions, void *user) {
    program_t *p = user;
    note(p, &p->loss);
    return gantry_mean(scope, gantry_squared_difference(scope, labels, predictions), NULL);
}

static const gantry_tensor_t *rate_of(gantry_scope_t *scope, const gantry_tensor_t *step,
                                      gantry_dtype_t dtype, void *user) {
    program_t *p = user;
    (void)step;
    note(p, &p->rate);
    const gantry_tensor_t *rate = gantry_scalar_f32(scope, 0.0125f);
    return dtype == GANTRY_FLOAT32 ? rate : gantry_cast(scope, rate, dtype);
}

static gantry_status_t on_begin(gantry_model_t *model, void *user) {
    program_t *p = user;
    (void)model;
    note(p, &p->fit);
    return GANTRY_OK;
}

static gantry_status_t on_epoch(gantry_model_t *model, int64_t epoch, void *user) {
    (void)epoch;
    return on_begin(model, user);
}

/* Loss and metrics are results, too. */
static gantry_status_t on_epoch_end(gantry_model_t *model, int64_t epoch, const gantry_logs_t *logs,
                                    bool *stop, void *user) {
    program_t *p = user;
    (void)stop;
    keep(p, logs->values, logs->count * sizeof *logs->values);
    return on_epoch(model, epoch, p);
}

static gantry_status_t on_step_end(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    (void)stop;
    return on_epoch(model, step, user);
}

static void on_text(const char *text, void *user) {
    program_t *p = user;
    (void)text;
    note(p, &p->text);
}

static double lower(int64_t epoch, double rate, void *user) {
    program_t *p = user;
    (void)epoch;
    note(p, &p->later);
    return rate;
}

static gantry_model_t *model_of(program_t *p) {
    static const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Own", .call = layer_call};
    const gantry_regularizer_t rule = {
        .struct_size = sizeof rule, .l2 = 0.013, .orthogonal = 0.017};
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    gantry_layer_t *dense = gantry_dense(5, GANTRY_TANH, NULL);
    must(gantry_layer_set_regularizer(dense, "kernel", &rule));
    must(gantry_model_add(model, gantry_layer_normalization(NULL)));
    must(gantry_model_add(model, gantry_lstm(3, NULL)));
    must(gantry_model_add(model, dense));
    must(gantry_model_add(model, gantry_dropout_layer(0.3, NULL)));
    must(gantry_model_add(model, gantry_layer_create(&kind, p, NULL)));
    must(gantry_model_add(model, gantry_leaky_relu_layer(0.1, NULL)));
    must(gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL)));
    return model;
}

static void keep_variables(program_t *p, gantry_model_t *model) {
    float values[512];
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        must(gantry_tensor_read(value, values, gantry_tensor_bytes(value)));
        keep(p, values, gantry_tensor_bytes(value));
        must(gantry_scope_end(scope));
    }
}

static void compile(program_t *p, gantry_model_t *model, bool has_schedule) {
    gantry_schedule_t *schedule = gantry_schedule_create(rate_of, p);
    gantry_metric_t *metric = gantry_root_mean_squared_error(NULL);
    must(gantry_model_compile(
        model,
        &(gantry_compile_options_t){
            .struct_size = sizeof(gantry_compile_options_t),
            .optimizer =
                gantry_adam(&(gantry_adam_options_t){.struct_size = sizeof(gantry_adam_options_t),
                                                     .learning_rate = has_schedule ? 0 : 0.0123,
                                                     .schedule = has_schedule ? schedule : NULL}),
            .loss = GANTRY_OWN_LOSS,
            .loss_options =
                &(gantry_loss_options_t){
                    .struct_size = sizeof(gantry_loss_options_t), .function = loss_of, .user = p},
            .metrics = &metric,
            .metric_count = 1}));
    gantry_schedule_release(schedule);
}

static void fit(program_t *p, gantry_model_t *model, bool has_schedule) {
    const gantry_callback_t own = {.struct_size = sizeof own,
                                   .user = p,
                                   .epoch_begin = on_epoch,
                                   .epoch_end = on_epoch_end,
                                   .step_end = on_step_end,
                                   .train_begin = on_begin,
                                   .train_end = on_begin,
                                   .test_begin = on_begin,
                                   .test_end = on_begin};
    gantry_callback_t *rates = gantry_learning_rate_scheduler(lower, p);
    gantry_callback_t *plateau =
        gantry_reduce_lr_on_plateau(&(gantry_reduce_lr_on_plateau_options_t){
            .struct_size = sizeof(gantry_reduce_lr_on_plateau_options_t),
            .monitor = "loss",
            .factor = 0.3,
            .patience = 1,
            .min_delta = 1e3});
    const gantry_callback_t *callbacks[] = {&own, rates, plateau};
    gantry_dataset_t *rows = rows_of(p, has_schedule);
    must(gantry_model_fit(model, rows,
                          &(gantry_fit_options_t){.struct_size = sizeof(gantry_fit_options_t),
                                                  .epochs = 3,
                                                  .validation = rows,
                                                  .callbacks = callbacks,
                                                  .callback_count = has_schedule ? 1 : 3,
                                                  .write = on_text,
                                                  .write_user = p}));
    gantry_callback_release(rates);
    gantry_callback_release(plateau);
    gantry_dataset_release(rows);
}

/* By the rate of a schedule, then by rates that callbacks lower. */
static void run_program(program_t *p) {
    gantry_set_seed(fixture.runtime, 7);
    p->count = 0;
    run_padding(p);
    for (int i = 0; i < 2; ++i) {
        gantry_model_t *model = model_of(p);
        compile(p, model, i == 0);
        fit(p, model, i == 0);
        keep_variables(p, model);
        gantry_model_release(model);
    }
}

/* ---- tests ---- */

TEST(training_has_the_same_bits_and_callbacks_in_any_mode) {
    static program_t usual, got;
    usual.mode = gantry__fp_read();
    run_program(&usual);
    for (size_t m = 0; m < FP_MODES; ++m) {
        memset(&got, 0, sizeof got);
        const gantry__fp_mode_t before = fp_mode_set(&fp_modes[m]);
        got.mode = gantry__fp_read();
        run_program(&got);
        const gantry__fp_mode_t after = gantry__fp_read();
        gantry__fp_write(before);
        assert_same_mode(after, got.mode);
        if (got.count != usual.count || memcmp(got.bytes, usual.bytes, got.count) != 0)
            fail_msg("%s: other bits", fp_modes[m].name);
        assert_true(got.map > 0 && got.filter > 0 && got.source > 0);
        assert_true(got.layer > 0 && got.loss > 0 && got.rate > 0 && got.custom > 1);
        assert_true(got.fit > 0 && got.text > 0 && got.later > 0);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
