/* SPDX-License-Identifier: Apache-2.0 */
/* A step of training on one device and on parts of it, as MirroredStrategy runs it: the text
 * classifier of TensorFlow's guides, and one Dense(1), which is all overhead. */
#include "bench.h"

#include <stdlib.h>

#include <gantry_train/train.h>

enum { STEPS = 20, LENGTH = 300, WORDS = 10000, TOPICS = 46, FEATURES = 4 };

typedef struct subject_t {
    int batch;
    gantry_runtime_t *runtime;
    gantry_strategy_t *strategy;
    gantry_model_t *model;
    gantry_dataset_t *batches; /* STEPS of them */
    void *inputs, *labels;
} subject_t;

/* A call is a step. */
static bool train(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; i += STEPS) {
        if (gantry_model_fit(subject->model, subject->batches, NULL) != GANTRY_OK) return false;
    }
    return true;
}

/* ---- the two models ---- */

static void make_text(subject_t *subject) {
    int32_t *words = calloc((size_t)(STEPS * subject->batch * LENGTH), sizeof *words),
            *topics = calloc((size_t)(STEPS * subject->batch), sizeof *topics);
    subject->inputs = words;
    subject->labels = topics;
    if (!words || !topics) return;
    for (int i = 0; i < STEPS * subject->batch * LENGTH; ++i)
        words[i] = (int32_t)((uint32_t)i * 2654435761u % WORDS);
    for (int i = 0; i < STEPS * subject->batch; ++i) topics[i] = i * 7 % TOPICS;
    const gantry_array_t arrays[] = {
        {GANTRY_INT32, GANTRY_SHAPE(STEPS * subject->batch, LENGTH), words},
        {GANTRY_INT32, GANTRY_SHAPE(STEPS * subject->batch), topics}};
    subject->batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), subject->batch, false);
    gantry_model_t *model = subject->model;
    (void)gantry_model_add(model, gantry_embedding(WORDS, 7, NULL, NULL));
    (void)gantry_model_add(model, gantry_conv1d_layer(64, 5, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_conv1d_layer(32, 3, GANTRY_RELU, NULL));
    (void)gantry_model_add(model, gantry_max_pool1d_layer(2, NULL));
    (void)gantry_model_add(model, gantry_flatten(NULL));
    (void)gantry_model_add(model, gantry_dense(TOPICS, GANTRY_SOFTMAX, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.optimizer = gantry_nadam(NULL),
                                           .loss = GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY});
}

static void make_dense(subject_t *subject) {
    float *x = calloc((size_t)(STEPS * subject->batch * FEATURES), sizeof *x),
          *y = calloc((size_t)(STEPS * subject->batch), sizeof *y);
    subject->inputs = x;
    subject->labels = y;
    if (!x || !y) return;
    const gantry_array_t arrays[] = {
        {GANTRY_FLOAT32, GANTRY_SHAPE(STEPS * subject->batch, FEATURES), x},
        {GANTRY_FLOAT32, GANTRY_SHAPE(STEPS * subject->batch, 1), y}};
    subject->batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), subject->batch, false);
    (void)gantry_model_add(subject->model, gantry_dense(1, 0, NULL));
    (void)gantry_model_compile(subject->model,
                               &(gantry_compile_options_t){.optimizer = gantry_sgd(NULL),
                                                           .loss = GANTRY_MEAN_SQUARED_ERROR});
}

/* ---- a subject ---- */

static bool open_subject(subject_t *subject, int batch, size_t replicas,
                         void (*make)(subject_t *subject)) {
    static const char *const cpus[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    *subject = (subject_t){.batch = batch, .runtime = bench_runtime(NULL)};
    if (!subject->runtime ||
        !bench_is_ok(gantry_set_logical_cpu_devices(subject->runtime, replicas), "cpu:0", "parts"))
        return false;
    subject->strategy = gantry_mirrored_strategy(subject->runtime, cpus, replicas);
    subject->model = gantry_sequential(subject->runtime,
                                       &(gantry_model_options_t){.strategy = subject->strategy});
    if (subject->strategy && subject->model) make(subject);
    const bool is_open = subject->batches && train(subject, 1);
    if (!is_open) (void)fprintf(stderr, "strategy: %s\n", gantry_last_message());
    return is_open;
}

static void close_subject(subject_t *subject) {
    gantry_model_release(subject->model);
    gantry_dataset_release(subject->batches);
    gantry_strategy_release(subject->strategy);
    gantry_runtime_release(subject->runtime);
    free(subject->inputs);
    free(subject->labels);
}

/* ---- measuring ---- */

static void measure_text(bench_t *bench, int batch, const char *work) {
    subject_t one, two = {.runtime = NULL};
    if (open_subject(&one, batch, 1, make_text) && open_subject(&two, batch, 2, make_text)) {
        bench_contender_t contenders[] = {{.name = "2 x cpu:0", .run = train, .subject = &two},
                                          {.name = "cpu:0 alone", .run = train, .subject = &one}};
        const bench_measure_t shown = {.subject = "strategy",
                                       .work = work,
                                       .unit = "ms",
                                       .per_second = 1e3,
                                       .reference = &contenders[1],
                                       .least_ratio = 1 / 1.1};
        bench_interleave(contenders, 2, bench->rounds, bench->quick ? STEPS : 5 * STEPS);
        bench_report_contenders(&bench->report, &shown, contenders, 2, 1);
    }
    close_subject(&one);
    close_subject(&two);
}

/* What a replica adds to a step. */
static void add_overhead(bench_t *bench, const bench_contender_t *one,
                         const bench_contender_t *four) {
    double each[BENCH_MAX_ROUNDS], best = 0;
    const int rounds = one->rounds < four->rounds ? one->rounds : four->rounds;
    if (rounds == 0 || one->failed || four->failed) return;
    for (int i = 0; i < rounds; ++i) {
        each[i] = (four->seconds[i] - one->seconds[i]) / 3 * 1e6;
        if (i == 0 || each[i] < best) best = each[i];
    }
    bench_row_t row = {.subject = "strategy",
                       .work = "Dense(1), what each replica adds",
                       .on = "4 x cpu:0",
                       .unit = "us",
                       .best = best,
                       .target = "at most 50"};
    row.median = bench_median(each, (size_t)rounds);
    row.reached = row.median <= 50;
    bench_report_add(&bench->report, &row);
}

static void measure_dense(bench_t *bench) {
    subject_t one, four = {.runtime = NULL};
    if (open_subject(&one, 32, 1, make_dense) && open_subject(&four, 32, 4, make_dense)) {
        bench_contender_t contenders[] = {{.name = "cpu:0 alone", .run = train, .subject = &one},
                                          {.name = "4 x cpu:0", .run = train, .subject = &four}};
        bench_interleave(contenders, 2, bench->rounds, 10 * STEPS);
        add_overhead(bench, &contenders[0], &contenders[1]);
    }
    close_subject(&one);
    close_subject(&four);
}

void bench_strategy(bench_t *bench) {
    measure_text(bench, 32, "text classifier, batch 32, a step");
    measure_text(bench, 256, "text classifier, batch 256, a step");
    measure_dense(bench);
}
