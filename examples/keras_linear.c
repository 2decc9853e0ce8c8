/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter on tf.distribute.Strategy of TensorFlow's guide "Use a GPU", in C: a Dense(1) that is
 * mirrored over all GPUs, and its log. The guide stops there; this program then also trains it.
 *
 *   keras_linear [--split N]     N virtual devices of the first GPU, or of the CPU (default 2)
 *
 * Without a GPU the devices are virtual CPUs. This program lets OpenCL CPU devices (PoCL) count as
 * GPUs. */
#include "example.h"

#include <gantry_train/train.h>
#include <string.h>

enum { SAMPLES = 256, BATCH = 32, EPOCHS = 5, MIB = 1 << 20, MOST_DEVICES = 16 };

/* gpus = tf.config.list_physical_devices('GPU')
 * tf.config.set_logical_device_configuration(gpus[0],
 *     [tf.config.LogicalDeviceConfiguration(memory_limit=1024)] * 2) */
static void split_device(gantry_runtime_t *runtime, size_t parts) {
    const gantry_physical_device_t *gpus[8];
    const gantry_logical_device_t *logical[MOST_DEVICES];
    gantry_logical_device_config_t configs[MOST_DEVICES] = {{0}};
    size_t gpu_count, logical_count;
    example_check(gantry_list_physical_devices(runtime, "GPU", 8, gpus, &gpu_count),
                  "gantry_list_physical_devices");
    if (gpu_count == 0) {
        example_check(gantry_set_logical_cpu_devices(runtime, parts),
                      "gantry_set_logical_cpu_devices");
        return;
    }
    for (size_t i = 0; i < parts; ++i)
        configs[i].memory_limit_bytes = (uint64_t)(1024 / parts) * MIB;
    example_check(gantry_set_logical_device_configuration(runtime, gpus[0], configs, parts),
                  "gantry_set_logical_device_configuration");
    example_check(
        gantry_list_logical_devices(runtime, "GPU", MOST_DEVICES, logical, &logical_count),
        "gantry_list_logical_devices");
    (void)printf("%zu Physical GPU, %zu Logical GPUs\n", gpu_count, logical_count);
}

/* strategy = tf.distribute.MirroredStrategy(gpus) */
static gantry_strategy_t *open_strategy(gantry_runtime_t *runtime) {
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    if (!strategy) example_check(GANTRY_INVALID_ARGUMENT, "gantry_mirrored_strategy");
    const size_t count = gantry_strategy_replica_count(strategy);
    (void)printf("Using MirroredStrategy with devices (");
    for (size_t i = 0; i < count; ++i)
        (void)printf("%s'%s'", i ? ", " : "", gantry_strategy_device(strategy, i));
    (void)printf("%s)\n", count == 1 ? "," : "");
    return strategy;
}

/* inputs = tf.keras.layers.Input(shape=(1,))
 * predictions = tf.keras.layers.Dense(1)(inputs)
 * model = tf.keras.models.Model(inputs=inputs, outputs=predictions)
 * model.compile(loss='mse', optimizer=tf.keras.optimizers.SGD(learning_rate=0.2)) */
static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy) {
    gantry_model_t *model =
        gantry_functional(runtime, &(gantry_model_options_t){.strategy = strategy, .seed = 1});
    const int32_t inputs = gantry_model_input(model, GANTRY_FLOAT32, GANTRY_SHAPE(1));
    const int32_t predictions =
        gantry_model_apply(model, gantry_dense(1, GANTRY_LINEAR, NULL), &inputs, 1);
    (void)gantry_model_set_output(model, predictions);
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){
                   .optimizer = gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.2}),
                   .loss = GANTRY_MEAN_SQUARED_ERROR});
    example_check(gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SCALAR), "the model");
    return model;
}

static void write_text(const char *text, void *user) {
    (void)user;
    (void)fputs(text, stdout);
}

static float read_number(gantry_scope_t *scope, gantry_variable_t *variable) {
    float value = 0;
    (void)gantry_tensor_read(gantry_variable_read(scope, variable), &value, sizeof value);
    return value;
}

/* Learns y = 3 x + 1. */
static void train(gantry_runtime_t *runtime, gantry_model_t *model) {
    float x[SAMPLES], y[SAMPLES];
    for (int i = 0; i < SAMPLES; ++i) {
        x[i] = (float)i / (SAMPLES / 2) - 1.0f;
        y[i] = 3.0f * x[i] + 1.0f;
    }
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(SAMPLES, 1), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(SAMPLES, 1), y}};
    gantry_dataset_t *batches = gantry_dataset_from_arrays(arrays, 2, false);
    batches = gantry_dataset_batch(gantry_dataset_shuffle(batches, SAMPLES, 1, true), BATCH, false);
    example_check(gantry_model_fit(model, batches,
                                   &(gantry_fit_options_t){.epochs = EPOCHS, .write = write_text}),
                  "gantry_model_fit");
    gantry_dataset_release(batches);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    const float slope = read_number(scope, gantry_model_variable(model, 0, NULL)),
                constant = read_number(scope, gantry_model_variable(model, 1, NULL));
    example_check(gantry_scope_end(scope), "reading the weights");
    (void)printf("y = %.4f x + %.4f\n", (double)slope, (double)constant);
}

int main(int argc, char **argv) {
    size_t parts = 2;
    if (argc == 3 && strcmp(argv[1], "--split") == 0) parts = strtoul(argv[2], NULL, 10);
    if ((argc != 1 && argc != 3) || parts < 1 || parts > MOST_DEVICES) {
        (void)fprintf(stderr, "usage: keras_linear [--split 1..%d]\n", MOST_DEVICES);
        return 2;
    }
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = example_log, .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    split_device(runtime, parts);
    example_check(gantry_set_log_device_placement(runtime, true),
                  "gantry_set_log_device_placement");
    gantry_strategy_t *strategy = open_strategy(runtime);
    gantry_model_t *model = make_model(runtime, strategy);
    example_check(gantry_set_log_device_placement(runtime, false),
                  "gantry_set_log_device_placement");
    train(runtime, model);
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return 0;
}
