/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop of a program's own: a tape, a layer that the library does not have, an optimizer
 * and a metric. The same step runs op by op, and then captured as a function.
 *
 *   custom_loop [--device NAME] [--epochs N]
 *
 * The model distinguishes two spirals, point by point. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <gantry_train/train.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { POINTS = 2000, BATCH = 100, UNITS = 64, MOST_VARIABLES = 8 };

static const char *device;

/* ---- the layer: sin(x kernel + bias), with kernel [n, units] ---- */

static gantry_status_t build_sine(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                  size_t input_count, void *user) {
    const int64_t units = *(const int64_t *)user;
    if (input_count != 1 || inputs[0].rank != 2)
        return gantry_fail(GANTRY_INVALID_ARGUMENT, "Sine: one input [batch, n] is accepted");
    const gantry_status_t status = gantry_layer_add_weight(
        layer, "kernel", GANTRY_SHAPE(inputs[0].dims[1], units),
        &(gantry_initializer_t){.kind = GANTRY_INIT_RANDOM_NORMAL, .stddev = 4.0}, true);
    if (status != GANTRY_OK) return status;
    return gantry_layer_add_weight(
        layer, "bias", GANTRY_SHAPE(units),
        &(gantry_initializer_t){
            .kind = GANTRY_INIT_RANDOM_UNIFORM, .minval = -3.14, .maxval = 3.14},
        true);
}

static const gantry_tensor_t *call_sine(const gantry_layer_call_t *call, void *user) {
    (void)user;
    const gantry_tensor_t *product =
        gantry_matmul(call->scope, call->inputs[0], call->weights[0], NULL);
    return gantry_sin(call->scope, gantry_bias_add(call->scope, product, call->weights[1]));
}

static gantry_layer_t *make_sine(const int64_t *units) {
    const gantry_layer_kind_t kind = {
        .struct_size = sizeof kind, .name = "Sine", .build = build_sine, .call = call_sine};
    return gantry_layer_create(&kind, (void *)units, NULL);
}

/* ---- the points ---- */

static void fill_points(float (*points)[2], int32_t *labels) {
    uint32_t random = 1;
    for (int i = 0; i < POINTS; ++i) {
        random = random * 1664525u + 1013904223u;
        const float noise = ((float)(random >> 8) / (float)(1 << 24) - 0.5f) * 0.1f;
        const float turn = (float)(i / 2) / (POINTS / 2); /* 0 to 1: from the middle outwards */
        const float angle = 10.0f * turn + (i % 2 ? 3.14159265f : 0.0f), radius = turn + noise;
        points[i][0] = radius * cosf(angle);
        points[i][1] = radius * sinf(angle);
        labels[i] = i % 2;
    }
}

/* ---- training ---- */

typedef struct trainer_t {
    gantry_runtime_t *runtime;
    gantry_model_t *model;
    gantry_optimizer_t *optimizer;
    gantry_metric_t *accuracy;
    gantry_function_t *step; /* NULL: its body runs op by op */
    gantry_variable_t *variables[MOST_VARIABLES];
    size_t variable_count;
} trainer_t;

/* Takes one step. Its inputs must be points [n, 2] and labels [n]; its output is the loss. */
static void take_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    trainer_t *trainer = user;
    gantry_source_t sources[MOST_VARIABLES];
    const gantry_tensor_t *gradients[MOST_VARIABLES] = {NULL};
    for (size_t i = 0; i < trainer->variable_count; ++i)
        sources[i] = (gantry_source_t){.variable = trainer->variables[i]};
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *logits = gantry_model_call(trainer->model, scope, inputs, 1, true);
    outputs[0] = gantry_loss(scope, GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY, inputs[1], logits,
                             &(gantry_loss_options_t){.from_logits = true});
    (void)gantry_tape_gradient(tape, outputs[0], NULL, sources, trainer->variable_count, NULL,
                               gradients);
    gantry_tape_end(tape);
    (void)gantry_optimizer_apply(trainer->optimizer, scope, trainer->variables, gradients,
                                 trainer->variable_count);
    (void)gantry_metric_update(trainer->accuracy, scope, inputs[1], logits, NULL);
}

/* Variables must be made before the step is traced, because a trace cannot make them. */
static void open_trainer(trainer_t *trainer, gantry_runtime_t *runtime, bool is_captured) {
    static const int64_t units = UNITS;
    *trainer =
        (trainer_t){.runtime = runtime,
                    .optimizer = gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.01}),
                    .accuracy = gantry_sparse_categorical_accuracy(NULL)};
    trainer->model =
        gantry_sequential(runtime, &(gantry_model_options_t){.device = device, .seed = 1});
    (void)gantry_model_add(trainer->model, make_sine(&units));
    (void)gantry_model_add(trainer->model, gantry_dense(2, GANTRY_LINEAR, NULL));
    example_check(gantry_model_build(trainer->model, GANTRY_FLOAT32, GANTRY_SHAPE(2)), "the model");
    trainer->variable_count = gantry_model_variable_count(trainer->model);
    for (size_t i = 0; i < trainer->variable_count; ++i)
        trainer->variables[i] = gantry_model_variable(trainer->model, i, NULL);
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    (void)gantry_optimizer_build(trainer->optimizer, scope, trainer->variables,
                                 trainer->variable_count);
    (void)gantry_metric_build(trainer->accuracy, scope);
    example_check(gantry_scope_end(scope), "the optimizer and the metric");
    if (!is_captured) return;
    const gantry_input_spec_t inputs[] = {{"points", GANTRY_FLOAT32, GANTRY_SHAPE(-1, 2)},
                                          {"labels", GANTRY_INT32, GANTRY_SHAPE(-1)}};
    example_check(gantry_function_trace(runtime, "step", take_step, trainer, inputs, 2, 1, NULL,
                                        &trainer->step),
                  "tracing the step");
}

static void close_trainer(trainer_t *trainer) {
    gantry_function_release(trainer->step);
    gantry_metric_release(trainer->accuracy);
    gantry_optimizer_release(trainer->optimizer);
    gantry_model_release(trainer->model);
}

static void train_batch(trainer_t *trainer, const gantry_array_t *batch) {
    const gantry_tensor_t *loss;
    gantry_scope_t *scope = gantry_scope_begin(trainer->runtime, device);
    const gantry_tensor_t *const inputs[] = {gantry_tensor_from_array(scope, &batch[0]),
                                             gantry_tensor_from_array(scope, &batch[1])};
    if (trainer->step)
        (void)gantry_function_call(scope, trainer->step, inputs, 2, &loss, 1);
    else
        take_step(scope, inputs, &loss, trainer);
    example_check(gantry_scope_end(scope), "training");
}

static double take_accuracy(trainer_t *trainer) {
    float accuracy = 0;
    gantry_scope_t *scope = gantry_scope_begin(trainer->runtime, device);
    (void)gantry_tensor_read(gantry_metric_result(trainer->accuracy, scope), &accuracy,
                             sizeof accuracy);
    (void)gantry_metric_reset(trainer->accuracy, scope);
    example_check(gantry_scope_end(scope), "the accuracy");
    return (double)accuracy;
}

static void train_epoch(trainer_t *trainer, gantry_dataset_t *batches) {
    gantry_dataset_iterator_t *iterator;
    const gantry_array_t *batch;
    size_t count;
    bool end = false;
    example_check(gantry_dataset_iterator_create(batches, &iterator), "the data set");
    for (;;) {
        example_check(gantry_dataset_iterator_next(iterator, &batch, &count, &end), "the data set");
        if (end) break;
        train_batch(trainer, batch);
    }
    gantry_dataset_iterator_release(iterator);
}

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the last accuracy. */
static double train(gantry_runtime_t *runtime, const gantry_array_t *arrays, int epochs,
                    bool is_captured) {
    trainer_t trainer;
    double accuracy = 0, seconds = 0;
    open_trainer(&trainer, runtime, is_captured);
    gantry_dataset_t *batches = gantry_dataset_from_arrays(arrays, 2, false);
    batches = gantry_dataset_batch(gantry_dataset_shuffle(batches, POINTS, 1, true), BATCH, false);
    if (!batches) example_check(GANTRY_INVALID_ARGUMENT, "the data set");
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        const double start = now();
        train_epoch(&trainer, batches);
        accuracy = take_accuracy(&trainer);
        seconds = now() - start;
        if (epoch % 10 == 0 || epoch == epochs)
            (void)printf("epoch %d: accuracy %.4f\n", epoch, accuracy);
    }
    (void)printf("%s: %.0f us a step\n", is_captured ? "as a function" : "op by op",
                 seconds * 1e6 / (POINTS / BATCH));
    gantry_dataset_release(batches);
    close_trainer(&trainer);
    return accuracy;
}

int main(int argc, char **argv) {
    static float points[POINTS][2];
    static int32_t labels[POINTS];
    int epochs = 30;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--device") == 0) device = argv[i + 1];
        if (strcmp(argv[i], "--epochs") == 0) epochs = atoi(argv[i + 1]);
    }
    if (argc % 2 == 0 || epochs < 1) {
        (void)fprintf(stderr, "usage: custom_loop [--device NAME] [--epochs N]\n");
        return 2;
    }
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = example_log, .log_level = GANTRY_LEVEL_WARNING};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    fill_points(points, labels);
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(POINTS, 2), points},
                                     {GANTRY_INT32, GANTRY_SHAPE(POINTS), labels}};
    const double eager = train(runtime, arrays, epochs, false),
                 captured = train(runtime, arrays, epochs, true);
    (void)printf("accuracies: %s\n", eager == captured ? "equal" : "they differ");
    gantry_runtime_release(runtime);
    return eager == captured ? 0 : 1;
}
