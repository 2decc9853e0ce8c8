/* SPDX-License-Identifier: Apache-2.0 */
/* The data and the models of make_program_cases.py, for train_programs.h. Header only. */
#ifndef TESTS_TRAIN_PROGRAM_MODELS_H
#define TESTS_TRAIN_PROGRAM_MODELS_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <gantry_train/train.h>

enum {
    PROGRAM_ROWS = 20,
    PROGRAM_TESTED = 7,
    PROGRAM_FEATURES = 3,
    PROGRAM_BATCH = 6,
    PROGRAM_WORDS = 9,
    PROGRAM_LENGTH = 6,
    PROGRAM_TIMES = 5,
    PROGRAM_NUMBERS = 256
};

typedef struct program_t {
    /* given */
    gantry_runtime_t *runtime;
    const gantry_strategy_t *strategy; /* or: */
    const char *device;
    const char *backup; /* with stop_after; else NULL */
    long stop_after;    /* steps after which a training is interrupted; 0: none */
    /* of the program */
    gantry_array_t arrays[5];
    size_t array_count;
    gantry_fit_options_t fit;
    bool is_validated;
    gantry_callback_t *callbacks[2];
    double x[PROGRAM_ROWS * PROGRAM_FEATURES], z[PROGRAM_ROWS * 2], images[PROGRAM_ROWS * 32],
        sequences[PROGRAM_ROWS * PROGRAM_TIMES * 2],
        other_sequences[PROGRAM_ROWS * PROGRAM_TIMES * 2], other_x[PROGRAM_ROWS * PROGRAM_FEATURES],
        pair[PROGRAM_ROWS * 2], signs[PROGRAM_ROWS * 2], sizes[PROGRAM_ROWS * 2],
        flag[PROGRAM_ROWS], hot[PROGRAM_ROWS * 3], weights[PROGRAM_ROWS];
    int32_t ids[PROGRAM_ROWS * PROGRAM_LENGTH], classes[PROGRAM_ROWS];
    /* what it gives */
    double numbers[PROGRAM_NUMBERS];
    size_t count;
    char text[1024]; /* of a failure */
} program_t;

static inline bool program_fail(program_t *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(p->text, sizeof p->text, format, arguments);
    va_end(arguments);
    return false;
}

static inline bool program_must(program_t *p, gantry_status_t status) {
    return status == GANTRY_OK || program_fail(p, "%s", gantry_last_message());
}

static inline void program_give(program_t *p, const double *values, size_t count) {
    for (size_t i = 0; i < count && p->count < PROGRAM_NUMBERS; ++i)
        p->numbers[p->count++] = values[i];
}

/* ---- data: the numbers of make_program_cases.py ---- */

static inline void program_fill(double *out, int count, int factor) {
    for (int i = 0; i < count; ++i) out[i] = (double)(i * factor % 64 - 32) / 32;
}

/* The rows in the other order. */
static inline void program_reverse(double *out, const double *in, int width) {
    for (int row = 0; row < PROGRAM_ROWS; ++row)
        memcpy(out + row * width, in + (PROGRAM_ROWS - 1 - row) * width,
               (size_t)width * sizeof *out);
}

static inline void program_make_rows(program_t *p, int row) {
    const int step = 2 + row % 4, word = 3 + row % 4, width = PROGRAM_TIMES * 2;
    for (int i = step * 2; i < width; ++i) p->sequences[row * width + i] = 0;
    for (int k = 0, i = row * PROGRAM_LENGTH; k < PROGRAM_LENGTH; ++k, ++i)
        p->ids[i] = k < word ? (i * 11 + i / 5) % PROGRAM_WORDS : 0;
    p->classes[row] = (row * 5 + row / 3) % 3;
    for (int k = 0; k < 3; ++k) p->hot[row * 3 + k] = p->classes[row] == k;
    p->flag[row] = row * 7 % 3 == 0;
    p->weights[row] = (double)(row % 4 + 1) / 2;
}

static inline void program_make_data(program_t *p) {
    program_fill(p->x, PROGRAM_ROWS * PROGRAM_FEATURES, 37);
    program_fill(p->z, PROGRAM_ROWS * 2, 23);
    program_fill(p->sequences, PROGRAM_ROWS * PROGRAM_TIMES * 2, 41);
    program_fill(p->images, PROGRAM_ROWS * 32, 29);
    program_fill(p->pair, PROGRAM_ROWS * 2, 19);
    for (int row = 0; row < PROGRAM_ROWS; ++row) program_make_rows(p, row);
    for (int i = 0; i < PROGRAM_ROWS * 2; ++i) {
        p->signs[i] = p->pair[i] + 0.01 > 0 ? 1 : -1;
        p->sizes[i] = fabs(p->pair[i]);
    }
    program_reverse(p->other_x, p->x, PROGRAM_FEATURES);
    program_reverse(p->other_sequences, p->sequences, PROGRAM_TIMES * 2);
}

#define PROGRAM_ARRAY(values, ...)                                          \
    (gantry_array_t) {                                                      \
        sizeof *(values) == sizeof(double) ? GANTRY_FLOAT64 : GANTRY_INT32, \
            GANTRY_SHAPE(PROGRAM_ROWS, __VA_ARGS__), (values)               \
    }
#define PROGRAM_LIST(values)                                                \
    (gantry_array_t) {                                                      \
        sizeof *(values) == sizeof(double) ? GANTRY_FLOAT64 : GANTRY_INT32, \
            GANTRY_SHAPE(PROGRAM_ROWS), (values)                            \
    }

static inline void program_add(program_t *p, gantry_array_t array) {
    p->arrays[p->array_count++] = array;
}

static inline gantry_dataset_t *program_batches(const program_t *p, int64_t rows) {
    gantry_dataset_t *all = gantry_dataset_from_arrays(p->arrays, p->array_count, false);
    return gantry_dataset_batch(rows ? gantry_dataset_take(all, rows) : all, PROGRAM_BATCH, false);
}

/* ---- models ---- */

static inline gantry_model_options_t program_options(const program_t *p) {
    return (gantry_model_options_t){
        .dtype = GANTRY_FLOAT64, .seed = 7, .strategy = p->strategy, .device = p->device};
}

static inline gantry_model_t *program_chain(program_t *p, gantry_layer_t *const *layers,
                                            size_t count) {
    const gantry_model_options_t options = program_options(p);
    gantry_model_t *model = gantry_sequential(p->runtime, &options);
    for (size_t i = 0; i < count; ++i) (void)gantry_model_add(model, layers[i]);
    return model;
}

#define PROGRAM_CHAIN(p, ...)                                \
    program_chain(p, (gantry_layer_t *const[]){__VA_ARGS__}, \
                  sizeof((gantry_layer_t *const[]){__VA_ARGS__}) / sizeof(gantry_layer_t *))

static inline gantry_layer_t *program_with_activity(gantry_layer_t *layer, double l1, double l2) {
    (void)gantry_layer_set_activity_regularizer(layer, &(gantry_regularizer_t){.l1 = l1, .l2 = l2});
    return layer;
}

static inline int32_t program_apply(gantry_model_t *model, gantry_layer_t *layer, int32_t value) {
    return gantry_model_apply(model, layer, &value, 1);
}

static inline int32_t program_join(gantry_model_t *model, gantry_layer_t *layer, int32_t a,
                                   int32_t b) {
    return gantry_model_apply(model, layer, (int32_t[]){a, b}, 2);
}

/* With one loss; metrics may be NULL, which ends the list. */
static inline void program_compile(gantry_model_t *model, gantry_optimizer_t *optimizer,
                                   gantry_loss_t loss, const gantry_loss_options_t *options,
                                   gantry_metric_t *const *metrics, size_t count) {
    (void)gantry_model_compile(model, &(gantry_compile_options_t){.optimizer = optimizer,
                                                                  .loss = loss,
                                                                  .loss_options = options,
                                                                  .metrics = metrics,
                                                                  .metric_count = count});
}

static const gantry_metric_options_t program_wide = {.dtype = GANTRY_FLOAT64};

/* ---- the programs ---- */

static inline gantry_model_t *program_accumulated(program_t *p) {
    gantry_model_t *model =
        PROGRAM_CHAIN(p, gantry_dense(5, GANTRY_TANH, NULL), gantry_dense(3, GANTRY_SOFTMAX, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_LIST(p->classes));
    p->is_validated = true;
    program_compile(model,
                    gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5,
                                                       .momentum = 0.5,
                                                       .gradient_accumulation_steps = 3,
                                                       .use_ema = true,
                                                       .ema_momentum = 0.75}),
                    GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, NULL,
                    (gantry_metric_t *[]){gantry_sparse_categorical_accuracy(&program_wide)}, 1);
    return model;
}

static inline gantry_model_t *program_averaged(program_t *p) {
    gantry_model_t *model =
        PROGRAM_CHAIN(p, gantry_dense(5, GANTRY_TANH, NULL), gantry_dense(3, GANTRY_SOFTMAX, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_LIST(p->classes));
    program_compile(model,
                    gantry_adamw(&(gantry_adamw_options_t){.learning_rate = 0.0625,
                                                           .weight_decay = 0.125,
                                                           .clipnorm = 0.5,
                                                           .gradient_accumulation_steps = 2,
                                                           .use_ema = true,
                                                           .ema_momentum = 0.5,
                                                           .ema_overwrite_frequency = 2}),
                    GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, NULL,
                    (gantry_metric_t *[]){gantry_sparse_categorical_accuracy(&program_wide)}, 1);
    return model;
}

static inline gantry_model_t *program_activities(program_t *p) {
    const gantry_regularizer_t rows = {.orthogonal = 0.5},
                               columns = {.orthogonal = 0.25, .orthogonal_columns = true};
    gantry_layer_t *first = gantry_dense(4, GANTRY_RELU,
                                         &(gantry_kernel_options_t){.kernel_regularizer = &rows}),
                   *last = gantry_dense(2, GANTRY_SIGMOID,
                                        &(gantry_kernel_options_t){.kernel_regularizer = &columns});
    gantry_model_t *model = PROGRAM_CHAIN(p, program_with_activity(first, 0.25, 0.125),
                                          gantry_activity_regularization(0.0625, 0.03125, NULL),
                                          program_with_activity(last, 0, 0.5));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->pair, 2));
    program_add(p, PROGRAM_LIST(p->weights));
    program_compile(
        model, gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.25}),
        GANTRY_MEAN_SQUARED_ERROR, NULL,
        (gantry_metric_t *[]){gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, &program_wide)},
        1);
    return model;
}

static inline gantry_model_t *program_recurrent(program_t *p) {
    gantry_layer_t *lstm = program_with_activity(
                       gantry_lstm(3, &(gantry_recurrent_options_t){.return_sequences = true}), 0,
                       0.125),
                   *gru = gantry_gru(2, NULL);
    (void)gantry_layer_set_regularizer(lstm, "kernel", &(gantry_regularizer_t){.orthogonal = 0.25});
    (void)gantry_layer_set_regularizer(gru, "kernel", &(gantry_regularizer_t){.l2 = 0.125});
    (void)gantry_layer_set_constraint(gru, "bias", &(gantry_constraint_t){.kind = GANTRY_NON_NEG});
    gantry_model_t *model = PROGRAM_CHAIN(p, gantry_masking_layer(0, NULL), lstm,
                                          gantry_bidirectional(gru, GANTRY_MERGE_CONCAT, NULL),
                                          gantry_dense(1, GANTRY_LINEAR, NULL));
    program_add(p, PROGRAM_ARRAY(p->sequences, PROGRAM_TIMES, 2));
    program_add(p, PROGRAM_ARRAY(p->flag, 1));
    program_compile(model,
                    gantry_nadam(&(gantry_nadam_options_t){.learning_rate = 0.0625,
                                                           .gradient_accumulation_steps = 2}),
                    GANTRY_MEAN_SQUARED_ERROR, NULL, NULL, 0);
    return model;
}

static inline gantry_model_t *program_embedded(program_t *p) {
    static const int32_t zero = 0, one = 1;
    gantry_layer_t *words =
        program_with_activity(gantry_masked_embedding(PROGRAM_WORDS, 4, NULL, NULL), 0, 0.5);
    (void)gantry_layer_set_constraint(
        words, "embeddings",
        &(gantry_constraint_t){.kind = GANTRY_UNIT_NORM, .axes = {1}, .axis_count = 1});
    gantry_model_t *model = PROGRAM_CHAIN(p, words, gantry_global_avg_pool(NULL),
                                          gantry_dense(3, GANTRY_SOFTMAX, NULL));
    program_add(p, PROGRAM_ARRAY(p->ids, PROGRAM_LENGTH));
    program_add(p, PROGRAM_ARRAY(p->hot, 3));
    program_compile(
        model,
        gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 1,
                                           .momentum = 0.5,
                                           .use_ema = true,
                                           .ema_momentum = 0.5,
                                           .ema_overwrite_frequency = 3}),
        GANTRY_CATEGORICAL_CROSSENTROPY, &(gantry_loss_options_t){.label_smoothing = 0.125},
        (gantry_metric_t *[]){
            gantry_precision(0.25,
                             &(gantry_metric_options_t){.dtype = GANTRY_FLOAT64, .class_id = &one}),
            gantry_recall(
                -INFINITY,
                &(gantry_metric_options_t){.dtype = GANTRY_FLOAT64, .class_id = &zero, .top_k = 2}),
            gantry_f1_score(3, GANTRY_AVERAGE_MACRO, 0, &program_wide),
            gantry_fbeta_score(3, 2, GANTRY_AVERAGE_WEIGHTED, 0.25, &program_wide),
            gantry_categorical_accuracy(&program_wide)},
        5);
    return model;
}

static inline void program_compile_two(gantry_model_t *model) {
    gantry_metric_t *right[] = {gantry_sparse_categorical_accuracy(&program_wide)},
                    *errors[] = {gantry_loss_metric(GANTRY_MEAN_SQUARED_ERROR, NULL, &program_wide),
                                 gantry_root_mean_squared_error(&program_wide)};
    const gantry_compile_output_t outputs[] = {
        {.loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, .metrics = right, .metric_count = 1},
        {.loss = GANTRY_MEAN_ABSOLUTE_ERROR, .metrics = errors, .metric_count = 2}};
    (void)gantry_model_compile(
        model,
        &(gantry_compile_options_t){
            .optimizer = gantry_rmsprop(&(gantry_rmsprop_options_t){
                .learning_rate = 0.03125, .momentum = 0.5, .gradient_accumulation_steps = 2}),
            .outputs = outputs,
            .output_count = 2,
            .loss_weights = (const double[]){1, 0.5},
            .loss_weight_count = 2});
}

static inline gantry_model_t *program_two_outputs(program_t *p) {
    const gantry_constraint_t most = {.kind = GANTRY_MAX_NORM, .max_value = 1},
                              positive = {.kind = GANTRY_NON_NEG},
                              unit = {.kind = GANTRY_UNIT_NORM};
    const gantry_model_options_t options = program_options(p);
    gantry_model_t *model = gantry_functional(p->runtime, &options);
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_FEATURES)),
                  z = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(2)),
                  joined = program_join(model, gantry_concatenate_layer(-1, NULL), x, z),
                  h = program_apply(
                      model,
                      gantry_dense(4, GANTRY_TANH,
                                   &(gantry_kernel_options_t){.kernel_constraint = &most}),
                      joined),
                  a = program_apply(model,
                                    gantry_dense(3, GANTRY_SOFTMAX,
                                                 &(gantry_kernel_options_t){
                                                     .name = "a", .bias_constraint = &positive}),
                                    h),
                  b = program_apply(model,
                                    program_with_activity(
                                        gantry_dense(2, GANTRY_LINEAR,
                                                     &(gantry_kernel_options_t){
                                                         .name = "b", .kernel_constraint = &unit}),
                                        0.125, 0),
                                    h);
    (void)gantry_model_set_outputs(model, (const int32_t[]){a, b}, 2);
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->z, 2));
    program_add(p, PROGRAM_LIST(p->classes));
    program_add(p, PROGRAM_ARRAY(p->pair, 2));
    program_add(p, PROGRAM_LIST(p->weights));
    program_compile_two(model);
    return model;
}

static inline gantry_model_t *program_autoencoder(program_t *p) {
    gantry_model_t *model =
        PROGRAM_CHAIN(p, program_with_activity(gantry_dense(2, GANTRY_RELU, NULL), 0.125, 0),
                      gantry_dense(PROGRAM_FEATURES, GANTRY_LINEAR, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_compile(model,
                    gantry_adam(&(gantry_adam_options_t){
                        .learning_rate = 0.0625, .use_ema = true, .ema_momentum = 0.5}),
                    GANTRY_MEAN_SQUARED_ERROR, NULL,
                    (gantry_metric_t *[]){gantry_cosine_similarity(&program_wide)}, 1);
    return model;
}

/* mean((y - p)^2 (1 + y)) */
static inline const gantry_tensor_t *program_contrast(gantry_scope_t *scope,
                                                      const gantry_tensor_t *labels,
                                                      const gantry_tensor_t *predictions,
                                                      void *user) {
    const int32_t last = -1;
    const double one = 1;
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = &last, .axis_count = 1};
    (void)user;
    return gantry_mean(
        scope,
        gantry_mul(
            scope, gantry_square(scope, gantry_sub(scope, labels, predictions)),
            gantry_add(scope,
                       gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SCALAR, &one, sizeof one),
                       labels)),
        &over);
}

static inline gantry_model_t *program_siamese(program_t *p) {
    static const gantry_loss_options_t contrast = {.function = program_contrast};
    const gantry_regularizer_t small = {.l2 = 0.0625};
    const gantry_model_options_t options = program_options(p);
    gantry_model_t *model = gantry_functional(p->runtime, &options),
                   *encoder = gantry_sequential(p->runtime, NULL);
    int32_t codes[2];
    const int32_t inputs[] = {
        gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_FEATURES)),
        gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_FEATURES))};
    (void)gantry_model_add(
        encoder,
        gantry_dense(4, GANTRY_TANH, &(gantry_kernel_options_t){.kernel_regularizer = &small}));
    (void)gantry_model_add(encoder,
                           program_with_activity(gantry_dense(2, GANTRY_LINEAR, NULL), 0, 0.25));
    for (int i = 0; i < 2; ++i)
        (void)gantry_model_apply_model(model, encoder, &inputs[i], 1, &codes[i], 1);
    gantry_model_release(encoder);
    (void)program_apply(model, gantry_dense(1, GANTRY_SIGMOID, NULL),
                        gantry_model_apply(model, gantry_concatenate_layer(-1, NULL), codes, 2));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->other_x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->flag, 1));
    program_compile(
        model, gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5, .momentum = 0.5}),
        GANTRY_OWN_LOSS, &contrast,
        (gantry_metric_t *[]){gantry_loss_metric(GANTRY_OWN_LOSS, &contrast, &program_wide)}, 1);
    return model;
}

static inline gantry_model_t *program_scheduled(program_t *p) {
    const gantry_regularizer_t mixed = {.l1 = 0.0625, .l2 = 0.125}, bias = {.l2 = 0.25};
    const gantry_constraint_t between = {
        .kind = GANTRY_MIN_MAX_NORM, .min_value = 0.5, .max_value = 1, .rate = 0.5};
    gantry_model_t *model = PROGRAM_CHAIN(
        p,
        gantry_dense(
            4, GANTRY_GELU,
            &(gantry_kernel_options_t){.kernel_regularizer = &mixed, .bias_regularizer = &bias}),
        gantry_dense(2, GANTRY_LINEAR, &(gantry_kernel_options_t){.kernel_constraint = &between}));
    gantry_schedule_t *rates = gantry_cosine_decay(&(gantry_cosine_decay_options_t){
        .initial_learning_rate = 0.25, .decay_steps = 10, .alpha = 0.125});
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->pair, 2));
    p->is_validated = true;
    program_compile(
        model,
        gantry_sgd(&(gantry_sgd_options_t){.schedule = rates,
                                           .momentum = 0.5,
                                           .nesterov = true,
                                           .gradient_accumulation_steps = 2}),
        GANTRY_HUBER, &(gantry_loss_options_t){.delta = 0.5},
        (gantry_metric_t *[]){gantry_loss_metric(GANTRY_MEAN_ABSOLUTE_ERROR, NULL, &program_wide)},
        1);
    gantry_schedule_release(rates);
    return model;
}

static inline gantry_model_t *program_images(program_t *p) {
    gantry_model_t *model = PROGRAM_CHAIN(
        p, program_with_activity(gantry_conv2d_layer(3, 2, GANTRY_RELU, NULL), 0, 0.125),
        gantry_depthwise_conv2d_layer(2, GANTRY_LINEAR, NULL), gantry_global_avg_pool(NULL),
        gantry_dense(2, GANTRY_LINEAR, NULL));
    program_add(p, PROGRAM_ARRAY(p->images, 4, 4, 2));
    program_add(p, PROGRAM_ARRAY(p->signs, 2));
    program_add(p, PROGRAM_LIST(p->weights));
    program_compile(model,
                    gantry_adamax(&(gantry_adamax_options_t){.learning_rate = 0.0625,
                                                             .use_ema = true,
                                                             .ema_momentum = 0.75,
                                                             .ema_overwrite_frequency = 1}),
                    GANTRY_SQUARED_HINGE, NULL, NULL, 0);
    return model;
}

static inline gantry_model_t *program_stopped(program_t *p) {
    static const double classes[] = {1, 2.5, 0.5};
    gantry_model_t *model =
        PROGRAM_CHAIN(p, gantry_dense(5, GANTRY_TANH, NULL), gantry_dense(3, GANTRY_SOFTMAX, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_LIST(p->classes));
    p->is_validated = true;
    p->fit.epochs = 9;
    p->fit.class_weights = classes;
    p->fit.class_weight_count = 3;
    p->callbacks[0] = gantry_reduce_lr_on_plateau(&(gantry_reduce_lr_on_plateau_options_t){
        .factor = 0.5, .patience = 1, .min_delta = 0.0625});
    p->callbacks[1] = gantry_early_stopping(
        &(gantry_early_stopping_options_t){.patience = 2, .restore_best_weights = true});
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){
                       .learning_rate = 2, .use_ema = true, .ema_momentum = 0.75}),
                   .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                   .weighted_metrics =
                       (gantry_metric_t *[]){gantry_sparse_categorical_accuracy(&program_wide)},
                   .weighted_metric_count = 1});
    return model;
}

static inline gantry_model_t *program_attentive(program_t *p) {
    const gantry_model_options_t options = program_options(p);
    gantry_model_t *model = gantry_functional(p->runtime, &options);
    const int32_t s = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_TIMES, 2)),
                  normed = program_apply(
                      model,
                      gantry_layer_normalization(&(gantry_norm_options_t){.epsilon = 1.0 / 1024}),
                      s),
                  seen = program_join(model, gantry_multi_head_attention(2, 2, NULL), normed, s),
                  both = program_join(model, gantry_add_layer(NULL), seen, s);
    gantry_layer_t *conv =
        gantry_conv1d_layer(2, 2, GANTRY_TANH, &(gantry_kernel_options_t){.causal_padding = true});
    (void)program_apply(
        model, gantry_dense(1, GANTRY_SIGMOID, NULL),
        program_apply(model, gantry_flatten(NULL),
                      program_apply(model, program_with_activity(conv, 0.25, 0), both)));
    program_add(p, PROGRAM_ARRAY(p->sequences, PROGRAM_TIMES, 2));
    program_add(p, PROGRAM_ARRAY(p->flag, 1));
    program_compile(
        model,
        gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5,
                                           .momentum = 0.5,
                                           .weight_decay = 0.125,
                                           .global_clipnorm = 0.25,
                                           .gradient_accumulation_steps = 3}),
        GANTRY_BINARY_FOCAL_CROSSENTROPY, NULL,
        (gantry_metric_t *[]){gantry_binary_accuracy(0.5, &program_wide),
                              gantry_auc(50, &(gantry_metric_options_t){.dtype = GANTRY_FLOAT64,
                                                                        .curve = GANTRY_CURVE_PR}),
                              gantry_precision(0.5, &program_wide)},
        3);
    return model;
}

static inline gantry_model_t *program_coded(program_t *p) {
    const gantry_model_options_t options = program_options(p);
    gantry_model_t *model = gantry_functional(p->runtime, &options);
    const int32_t s = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_TIMES, 2)),
                  t = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_TIMES, 2)),
                  code = program_apply(
                      model,
                      program_with_activity(
                          gantry_lstm(3, &(gantry_recurrent_options_t){.return_state = true}), 0,
                          0.25),
                      s);
    const int32_t told[] = {t, code + 1, code + 2};
    (void)program_apply(
        model, gantry_dense(2, GANTRY_LINEAR, NULL),
        gantry_model_apply(model,
                           gantry_lstm(3, &(gantry_recurrent_options_t){.return_sequences = true}),
                           told, 3));
    program_add(p, PROGRAM_ARRAY(p->sequences, PROGRAM_TIMES, 2));
    program_add(p, PROGRAM_ARRAY(p->other_sequences, PROGRAM_TIMES, 2));
    program_add(p, PROGRAM_ARRAY(p->sequences, PROGRAM_TIMES, 2));
    program_compile(model,
                    gantry_lion(&(gantry_lion_options_t){.learning_rate = 0.015625,
                                                         .gradient_accumulation_steps = 2,
                                                         .use_ema = true,
                                                         .ema_momentum = 0.5}),
                    GANTRY_MEAN_SQUARED_ERROR, NULL, NULL, 0);
    return model;
}

static inline double program_halve(int64_t epoch, double rate, void *user) {
    (void)user;
    return epoch > 0 ? rate / 2 : rate;
}

static inline gantry_model_t *program_counted(program_t *p) {
    const gantry_regularizer_t small = {.l1 = 0.0625};
    gantry_model_t *model = PROGRAM_CHAIN(
        p,
        gantry_dense(3, GANTRY_SOFTPLUS, &(gantry_kernel_options_t){.kernel_regularizer = &small}),
        gantry_dense(2, GANTRY_EXPONENTIAL, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->sizes, 2));
    program_add(p, PROGRAM_LIST(p->weights));
    p->callbacks[0] = gantry_learning_rate_scheduler(program_halve, NULL);
    program_compile(model,
                    gantry_adagrad(&(gantry_adagrad_options_t){.learning_rate = 0.25,
                                                               .weight_decay = 0.125,
                                                               .clipvalue = 0.25,
                                                               .gradient_accumulation_steps = 2}),
                    GANTRY_POISSON, NULL,
                    (gantry_metric_t *[]){gantry_loss_metric(GANTRY_LOG_COSH, NULL, &program_wide)},
                    1);
    return model;
}

static inline gantry_model_t *program_swapped(program_t *p) {
    gantry_model_t *model =
        PROGRAM_CHAIN(p, gantry_dense(5, GANTRY_TANH, NULL), gantry_dense(3, GANTRY_SOFTMAX, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_LIST(p->classes));
    p->is_validated = true;
    p->callbacks[0] = gantry_swap_ema_weights(false);
    program_compile(model,
                    gantry_adam(&(gantry_adam_options_t){
                        .learning_rate = 0.0625, .use_ema = true, .ema_momentum = 0.75}),
                    GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, NULL,
                    (gantry_metric_t *[]){gantry_sparse_categorical_accuracy(&program_wide)}, 1);
    return model;
}

/* The averages stand in the weights' places between epochs, too. */
static inline gantry_model_t *program_swapped_between(program_t *p) {
    gantry_model_t *model =
        PROGRAM_CHAIN(p, gantry_dense(4, GANTRY_TANH, NULL), gantry_dense(2, GANTRY_LINEAR, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->pair, 2));
    p->is_validated = true;
    p->fit.epochs = 4;
    p->callbacks[0] = gantry_swap_ema_weights(true);
    program_compile(model,
                    gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.25,
                                                       .momentum = 0.5,
                                                       .use_ema = true,
                                                       .ema_momentum = 0.5,
                                                       .gradient_accumulation_steps = 2}),
                    GANTRY_MEAN_SQUARED_ERROR, NULL, NULL, 0);
    return model;
}

static inline gantry_model_t *program_normed(program_t *p) {
    gantry_model_t *model = PROGRAM_CHAIN(
        p, program_with_activity(gantry_dense(4, GANTRY_LINEAR, NULL), 0, 0.125),
        gantry_batch_normalization(&(gantry_norm_options_t){.momentum = 0.5}),
        gantry_activation_layer(GANTRY_ELU, NULL), gantry_dense(2, GANTRY_LINEAR, NULL));
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->pair, 2));
    p->is_validated = true;
    program_compile(model,
                    gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.125,
                                                       .momentum = 0.5,
                                                       .use_ema = true,
                                                       .ema_momentum = 0.5,
                                                       .ema_overwrite_frequency = 2}),
                    GANTRY_MEAN_ABSOLUTE_ERROR, NULL, NULL, 0);
    return model;
}

static inline gantry_model_t *program_painted(program_t *p) {
    const gantry_regularizer_t squares = {.l2 = 0.0625};
    const gantry_kernel_options_t small = {.strides = {2, 2}, .same_padding = true},
                                  apart = {.same_padding = true, .kernel_regularizer = &squares},
                                  large = {.strides = {2, 2}};
    gantry_model_t *model =
        PROGRAM_CHAIN(p, gantry_conv2d_layer(4, 3, GANTRY_RELU, &small),
                      gantry_group_normalization(2, NULL), gantry_up_sampling2d_layer(2, 2, NULL),
                      gantry_separable_conv2d_layer(3, 2, GANTRY_TANH, &apart),
                      gantry_conv2d_transpose_layer(2, 3, GANTRY_LINEAR, &large),
                      gantry_cropping2d_layer((int64_t[]){2, 3, 0, 5}, NULL),
                      gantry_zero_padding2d_layer((int64_t[]){0, 0, 1, 0}, NULL),
                      gantry_cropping2d_layer((int64_t[]){0, 0, 1, 0}, NULL));
    program_add(p, PROGRAM_ARRAY(p->images, 4, 4, 2));
    program_add(p, PROGRAM_ARRAY(p->images, 4, 4, 2));
    p->is_validated = true;
    program_compile(model, gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.0625}),
                    GANTRY_MEAN_SQUARED_ERROR, NULL, NULL, 0);
    return model;
}

static inline gantry_model_t *program_blended(program_t *p) {
    const gantry_model_options_t options = program_options(p);
    const gantry_initializer_t quarter = {.kind = GANTRY_INIT_CONSTANT, .value = 0.25};
    gantry_model_t *model = gantry_functional(p->runtime, &options);
    const int32_t x = gantry_model_input(model, GANTRY_FLOAT64, GANTRY_SHAPE(PROGRAM_FEATURES)),
                  left = program_apply(model, gantry_dense(4, GANTRY_LINEAR, NULL), x),
                  scaled = program_apply(model, gantry_rescaling_layer(0.5, 0.125, NULL), x),
                  right = program_apply(model, gantry_dense(4, GANTRY_LINEAR, NULL), scaled),
                  a = program_apply(model, gantry_prelu_layer(&quarter, NULL, 0, NULL), left),
                  b = program_apply(model, gantry_leaky_relu_layer(0.25, NULL), right);
    const int32_t both[] = {program_join(model, gantry_multiply_layer(NULL), a, b),
                            program_join(model, gantry_maximum_layer(NULL), a, b),
                            program_join(model, gantry_minimum_layer(NULL), a, b),
                            program_join(model, gantry_average_layer(NULL), a, b),
                            program_join(model, gantry_dot_layer(1, 1, true, NULL), a, b)};
    int32_t c = gantry_model_apply(model, gantry_concatenate_layer(-1, NULL), both, 5);
    gantry_layer_t *const layers[] = {gantry_rms_normalization(NULL),
                                      gantry_repeat_vector_layer(2, NULL),
                                      gantry_permute_layer((int32_t[]){2, 1}, 2, NULL),
                                      gantry_unit_normalization(NULL),
                                      gantry_flatten(NULL),
                                      gantry_dense(2, GANTRY_LINEAR, NULL)};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i)
        c = program_apply(model, layers[i], c);
    program_add(p, PROGRAM_ARRAY(p->x, PROGRAM_FEATURES));
    program_add(p, PROGRAM_ARRAY(p->pair, 2));
    p->is_validated = true;
    program_compile(model,
                    gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.25, .momentum = 0.5}),
                    GANTRY_MEAN_SQUARED_ERROR, NULL, NULL, 0);
    return model;
}

#endif
