/* SPDX-License-Identifier: Apache-2.0 */
/* Reads handwritten digits, by a small network of convolutions, trained on one device or several.
 *
 *   digits [options] [FILE]      trains on four fifths of the images, and tests on the others
 *   digits --seeds N ...         trains N times, each with its own split, and prints mean and least
 *   digits --replicas N ...      trains on N GPUs, or on N virtual devices
 *   digits --save FILE ...       keeps the model; --load FILE tests it on the held-out images
 *
 * FILE has an image a row: 64 pixels of 0 to 16 and the digit, as text with commas, or as a .npy
 * array [images, 65]. Without it, the program reads build/digits/digits.csv: 1,797 real images that
 * scripts/fetch-digits takes from scikit-learn's wheel. */
#define _POSIX_C_SOURCE 200809L
#include "digit_images.h"
#include "example_options.h"
#include "example_training.h"

#define DEFAULT_FILE "build/digits/digits.csv"

enum { LEAST_IMAGES = 50, SHOWN_MISTAKES = 4, SKIPPED = 77 };

static struct {
    const char *device, *save, *load, *file;
    int64_t epochs, batch, replicas, seed, seeds;
    double rate;
} options;

static const char usage[] =
    "usage: digits [--device NAME] [--replicas N] [--epochs N] [--batch N] [--rate X] [--seed N] [--seeds N]\n"
    "              [--save FILE] [--load FILE] [FILE]\n"
    "Without FILE: " DEFAULT_FILE ", which scripts/fetch-digits gets.\n";

static void read_options(int argc, char **argv) {
    static const example_option_t list[] = {
        {"--device", EXAMPLE_TEXT, &options.device, 0, 0, 0},
        {"--save", EXAMPLE_TEXT, &options.save, 0, 0, 0},
        {"--load", EXAMPLE_TEXT, &options.load, 0, 0, 0},
        {"--replicas", EXAMPLE_NUMBER, &options.replicas, 0, 1, EXAMPLE_MOST_REPLICAS},
        {"--epochs", EXAMPLE_NUMBER, &options.epochs, 15, 1, 10000},
        {"--batch", EXAMPLE_NUMBER, &options.batch, 32, 1, 65536},
        {"--seed", EXAMPLE_NUMBER, &options.seed, 1, 0, 1000000000},
        {"--seeds", EXAMPLE_NUMBER, &options.seeds, 1, 1, 1000},
        {"--rate", EXAMPLE_REAL, &options.rate, 0.004, 1e-9, 1}};
    const example_command_t command = {"digits", usage, list, sizeof list / sizeof list[0]};
    argc = example_read_options(&command, argc, argv);
    if (argc > 2) example_refuse(&command, argv[2]);
    options.file = argc == 2 ? argv[1] : DEFAULT_FILE;
    if (argc == 2) return;
    FILE *file = fopen(DEFAULT_FILE, "r");
    if (!file) {
        (void)printf(
            "digits: there is no %s; get it by\n    scripts/fetch-digits\n"
            "or name a file of your own: digits FILE\n",
            DEFAULT_FILE);
        exit(SKIPPED);
    }
    (void)fclose(file);
}

/* ---- images ---- */

static void read_npy(gantry_runtime_t *runtime, images_t *images) {
    char why[128], text[1024];
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    const gantry_tensor_t *rows = gantry_load_npy(scope, options.file);
    rows = gantry_cast(scope, rows, GANTRY_FLOAT64);
    example_check(gantry_scope_status(scope), "the images");
    const gantry_shape_t *shape = gantry_tensor_shape(rows);
    if (shape->rank != 2 || shape->dims[1] != ROW_NUMBERS) {
        (void)gantry_shape_format(shape, why, sizeof why);
        (void)snprintf(text, sizeof text, "%s has shape %s; [images, 65] is accepted", options.file,
                       why);
        example_stop(text);
    }
    const size_t count = (size_t)shape->dims[0];
    double *numbers = example_allocate(count * ROW_NUMBERS, sizeof *numbers);
    example_read(scope, rows, numbers, count * ROW_NUMBERS * sizeof *numbers);
    for (size_t i = 0; i < count; ++i) {
        if (add_image(images, numbers + i * ROW_NUMBERS, why)) continue;
        (void)snprintf(text, sizeof text, "%s: row %zu: %s", options.file, i + 1, why);
        example_stop(text);
    }
    free(numbers);
}

static void read_images(gantry_runtime_t *runtime, images_t *images) {
    const char *end = strrchr(options.file, '.');
    char text[1024];
    if (end && strcmp(end, ".npy") == 0)
        read_npy(runtime, images);
    else
        read_csv(images, options.file);
    if (images->count >= LEAST_IMAGES) return;
    (void)snprintf(text, sizeof text, "%s has %zu images; %d or more are needed", options.file,
                   images->count, LEAST_IMAGES);
    example_stop(text);
}

/* Batches of images and digits, which are copied. */
static gantry_dataset_t *make_batches(const image_t *images, size_t count, bool shuffles,
                                      int64_t seed) {
    const int64_t rows = (int64_t)count;
    float *pixels = example_allocate(count * IMAGE_PIXELS, sizeof *pixels);
    int32_t *digits = example_allocate(count, sizeof *digits);
    for (size_t i = 0; i < count; ++i) {
        memcpy(pixels + i * IMAGE_PIXELS, images[i].pixels, sizeof images[i].pixels);
        digits[i] = images[i].digit;
    }
    const gantry_array_t arrays[] = {
        {GANTRY_FLOAT32, GANTRY_SHAPE(rows, IMAGE_SIDE, IMAGE_SIDE, 1), pixels},
        {GANTRY_INT32, GANTRY_SHAPE(rows), digits}};
    gantry_dataset_t *batches = gantry_dataset_from_arrays(arrays, 2, true);
    if (shuffles) batches = gantry_dataset_shuffle(batches, rows, (uint64_t)seed, true);
    batches = gantry_dataset_batch(batches, options.batch, false);
    if (!batches) example_stop(gantry_last_message());
    free(pixels);
    free(digits);
    return batches;
}

/* ---- the model ---- */

/* The rate falls along half a cosine, so that the last epochs change little. */
static void compile_model(gantry_model_t *model, int64_t steps) {
    const gantry_loss_options_t loss = {.from_logits = true};
    gantry_metric_t *accuracy = gantry_sparse_categorical_accuracy(NULL);
    gantry_schedule_t *schedule = gantry_cosine_decay(&(gantry_cosine_decay_options_t){
        .initial_learning_rate = options.rate, .decay_steps = steps});
    if (!schedule) example_stop(gantry_last_message());
    const gantry_adam_options_t adam = {.schedule = schedule};
    example_check(
        gantry_model_compile(
            model, &(gantry_compile_options_t){.optimizer = gantry_adam(&adam),
                                               .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY,
                                               .loss_options = &loss,
                                               .metrics = &accuracy,
                                               .metric_count = 1}),
        "gantry_model_compile");
    gantry_schedule_release(schedule);
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy,
                                  int64_t seed) {
    const gantry_kernel_options_t same = {.same_padding = true};
    gantry_model_t *model = gantry_sequential(
        runtime,
        &(gantry_model_options_t){
            .device = strategy ? NULL : options.device, .seed = seed, .strategy = strategy});
    (void)gantry_model_add(model, gantry_conv2d_layer(32, 3, GANTRY_RELU, &same));
    (void)gantry_model_add(model, gantry_conv2d_layer(64, 3, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_max_pool2d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_dropout_layer(0.25, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(64, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_dense(DIGITS, GANTRY_LINEAR, NULL));
    example_check(
        gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(IMAGE_SIDE, IMAGE_SIDE, 1)),
        "the model");
    return model;
}

static void train(gantry_runtime_t *runtime, gantry_model_t *model, gantry_dataset_t *batches,
                  gantry_dataset_t *held_out, size_t count) {
    example_watch_t watch = {.runtime = runtime, .steps = ((int64_t)count - 1) / options.batch + 1};
    compile_model(model, options.epochs * watch.steps);
    const gantry_callback_t timing = example_watch(&watch);
    const gantry_callback_t *const callbacks[] = {&timing};
    const bool writes = options.seeds == 1;
    const gantry_fit_options_t fit = {.epochs = options.epochs,
                                      .validation = writes ? held_out : NULL,
                                      .callbacks = callbacks,
                                      .callback_count = 1,
                                      .write = writes ? example_write : NULL,
                                      .is_terminal = isatty(STDOUT_FILENO) == 1};
    example_check(gantry_model_fit(model, batches, &fit), "gantry_model_fit");
    if (writes) (void)printf("%.0f images/s in the fastest epoch\n", (double)count / watch.best);
}

/* Returns how many of the answers are right, of 1. */
static double test(gantry_model_t *model, gantry_dataset_t *batches, const image_t *images,
                   size_t count) {
    answer_t mistakes[SHOWN_MISTAKES];
    size_t wrong = 0;
    float(*logits)[DIGITS] = example_allocate(count, sizeof *logits);
    example_check(gantry_model_predict(model, batches, logits, count * sizeof *logits, NULL),
                  "gantry_model_predict");
    for (size_t i = 0; i < count; ++i) {
        int32_t best = 0;
        for (int32_t k = 1; k < DIGITS; ++k) best = logits[i][k] > logits[i][best] ? k : best;
        if (best == images[i].digit) continue;
        if (wrong < SHOWN_MISTAKES) mistakes[wrong] = (answer_t){&images[i], best};
        ++wrong;
    }
    free(logits);
    if (options.seeds == 1 && wrong > 0)
        draw_answers(mistakes, wrong < SHOWN_MISTAKES ? wrong : SHOWN_MISTAKES);
    return 1.0 - (double)wrong / (double)count;
}

/* Trains and tests with one seed: of the split, of the weights and of the order. */
static double run(gantry_runtime_t *runtime, const gantry_strategy_t *strategy, const images_t *all,
                  int64_t seed) {
    const size_t held = all->count / 5, used = all->count - held;
    image_t *images = example_allocate(all->count, sizeof *images);
    memcpy(images, all->items, all->count * sizeof *images);
    shuffle_images(images, all->count, (uint64_t)seed);
    gantry_dataset_t *batches = make_batches(images, used, true, seed),
                     *held_out = make_batches(images + used, held, false, seed);
    gantry_model_t *model = make_model(runtime, strategy, seed);
    if (options.load)
        example_check(gantry_model_load(model, options.load), "loading the model");
    else
        train(runtime, model, batches, held_out, used);
    const double accuracy = test(model, held_out, images + used, held);
    (void)printf("seed %lld: held-out accuracy: %.4f\n", (long long)seed, accuracy);
    if (options.save) {
        example_check(gantry_model_save(model, options.save), "saving the model");
        (void)printf("saved %s\n", options.save);
    }
    gantry_model_release(model);
    gantry_dataset_release(held_out);
    gantry_dataset_release(batches);
    free(images);
    return accuracy;
}

int main(int argc, char **argv) {
    images_t images = {NULL, 0, 0};
    double sum = 0, least = 1;
    read_options(argc, argv);
    gantry_runtime_t *runtime = example_runtime();
    gantry_strategy_t *strategy = example_mirror(runtime, options.device, (size_t)options.replicas);
    read_images(runtime, &images);
    (void)printf("%zu images: %zu to learn from, %zu held out\n", images.count,
                 images.count - images.count / 5, images.count / 5);
    for (int64_t i = 0; i < options.seeds; ++i) {
        const double accuracy = run(runtime, strategy, &images, options.seed + i);
        sum += accuracy;
        least = accuracy < least ? accuracy : least;
    }
    if (options.seeds > 1)
        (void)printf("%lld seeds: mean %.4f, least %.4f\n", (long long)options.seeds,
                     sum / (double)options.seeds, least);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    free(images.items);
    return 0;
}
