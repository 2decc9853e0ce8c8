/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Processes that train one model in unlike ways all get an error that names the rank and
 * the setting.
 * Promise: Processes of a training whose weights, learning rates or steps differ get an error that
 * names the rank after the first step, each 64th step, or the epoch.
 * Promise: gantry_strategy_check_alike finds processes that train one model in unlike ways in a
 * loop of the program's own.
 * Promise: NaNs of every floating type are alike in a comparison of processes, whatever their bits.
 * Promise: A process whose model failed, or whose scope is NULL, leaves no other process waiting:
 * all get its error.
 *
 * Processes are threads here. */
#define _XOPEN_SOURCE 700
#include <math.h>

#include "test.h"
#include "thread_workers.h"

#include <gantry_train/train.h>

enum { ROWS = 12, BATCH = 4, RANKS = 3 };

/* What a process trains; of rank 1 one thing is unlike. */
typedef struct job_t {
    gantry_optimizer_t *(*optimizer)(void);
    gantry_loss_t loss;
    gantry_loss_options_t loss_options;
    gantry_metric_t *(*metric)(const gantry_metric_options_t *options);
    gantry_activation_t activation;
    double rate; /* of dropout */
    double l2, most_norm;
    bool is_frozen, tests, is_built, makes_nan;
    int64_t steps_per_epoch, epochs, rows;
    double class_weights[2];
    const gantry_callback_t *callback;
} job_t;

static job_t jobs[RANKS];
static thread_workers_t group;

static gantry_optimizer_t *plain(void) { return gantry_sgd(NULL); }
static gantry_metric_t *accuracy(const gantry_metric_options_t *options) {
    return gantry_binary_accuracy(0.5, options);
}

static const job_t usual = {.optimizer = plain,
                            .loss = GANTRY_BINARY_CROSSENTROPY,
                            .metric = accuracy,
                            .activation = GANTRY_TANH,
                            .epochs = 1,
                            .rows = ROWS,
                            .class_weights = {1, 2}};

/* ---- one process ---- */

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime = NULL;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .cpu_threads = 1};
    (void)gantry_runtime_create(&options, &runtime);
    return runtime;
}

static gantry_dataset_t *make_batches(const job_t *job) {
    static float inputs[ROWS * 3], labels[ROWS];
    for (int i = 0; i < ROWS * 3; ++i) inputs[i] = (float)((i * 37) % 23) / 11 - 1;
    for (int i = 0; i < ROWS; ++i) labels[i] = (float)(i % 2);
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(job->rows, 3), inputs},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(job->rows, 1), labels}};
    gantry_dataset_t *rows = gantry_dataset_from_arrays(arrays, 2, true);
    if (job->steps_per_epoch > ROWS) rows = gantry_dataset_repeat(rows, -1);
    return gantry_dataset_batch(rows, BATCH, false);
}

static gantry_model_t *make_model(gantry_runtime_t *runtime, const gantry_strategy_t *strategy,
                                  const job_t *job) {
    const gantry_regularizer_t regularizer = {.l2 = job->l2};
    const gantry_constraint_t constraint = {.kind = GANTRY_MAX_NORM, .max_value = job->most_norm};
    gantry_metric_t *metrics[] = {job->metric(NULL)};
    gantry_model_t *model =
        gantry_sequential(runtime, &(gantry_model_options_t){.seed = 3, .strategy = strategy});
    gantry_layer_t *first = gantry_dense(
        5, job->activation,
        &(gantry_kernel_options_t){.kernel_regularizer = job->l2 > 0 ? &regularizer : NULL,
                                   .kernel_constraint = job->most_norm > 0 ? &constraint : NULL});
    (void)gantry_layer_set_trainable(first, !job->is_frozen);
    (void)gantry_model_add(model, first);
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_SIGMOID, NULL));
    (void)gantry_model_compile(model,
                               &(gantry_compile_options_t){.optimizer = job->optimizer(),
                                                           .loss = job->loss,
                                                           .loss_options = &job->loss_options,
                                                           .metrics = metrics,
                                                           .metric_count = 1});
    if (job->is_built) (void)gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3));
    return model;
}

static gantry_status_t train(gantry_model_t *model, const job_t *job) {
    double values[2];
    gantry_dataset_t *batches = make_batches(job);
    const gantry_status_t status =
        job->tests
            ? gantry_model_evaluate(model, batches, values, 2)
            : gantry_model_fit(model, batches,
                               &(gantry_fit_options_t){.epochs = job->epochs,
                                                       .steps_per_epoch = job->steps_per_epoch,
                                                       .class_weights = job->class_weights,
                                                       .class_weight_count = 2,
                                                       .callbacks = &job->callback,
                                                       .callback_count = job->callback ? 1 : 0});
    gantry_dataset_release(batches);
    return status;
}

static gantry_status_t run_model(thread_worker_t *worker) {
    char text[1024];
    const job_t *job = &jobs[worker->communicator.rank];
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, NULL, 0, &worker->communicator);
    gantry_model_t *model = make_model(runtime, strategy, job);
    const gantry_status_t status = train(model, job);
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    gantry_model_release(model);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return status == GANTRY_OK ? status : gantry_fail(status, text);
}

/* ---- many ---- */

static void run_all(gantry_status_t (*run)(thread_worker_t *worker)) {
    thread_workers_run(&group, RANKS, -1, run, NULL);
    assert_int_equal(group.mixed, 0);
}

static void expect_everywhere(gantry_status_t status, const char *text) {
    for (size_t r = 0; r < RANKS; ++r) {
        if (group.workers[r].status != status || !strstr(group.workers[r].text, text))
            fail_msg("rank %zu: status %d, \"%s\"; \"%s\" is expected", r,
                     (int)group.workers[r].status, group.workers[r].text, text);
    }
}

/* Models that are built before the training, and by it. */
static void expect_refused(const job_t *other, const char *text) {
    for (int i = 0; i < 2; ++i) {
        for (size_t r = 0; r < RANKS; ++r) {
            jobs[r] = r == 1 ? *other : usual;
            jobs[r].is_built = i == 1;
            jobs[r].tests = other->tests;
        }
        run_all(run_model);
        expect_everywhere(GANTRY_INVALID_ARGUMENT, text);
    }
}

TEST(alike_processes_train) {
    for (size_t r = 0; r < RANKS; ++r) jobs[r] = usual;
    run_all(run_model);
    expect_everywhere(GANTRY_OK, "");
}

/* ---- optimizers ---- */

static gantry_optimizer_t *adam(void) { return gantry_adam(NULL); }
static gantry_optimizer_t *fast(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.learning_rate = 0.5});
}
static gantry_optimizer_t *momentum(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.momentum = 0.9});
}
static gantry_optimizer_t *nesterov(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.nesterov = true});
}
static gantry_optimizer_t *decayed(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.weight_decay = 0.004});
}
static gantry_optimizer_t *norm(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.clipnorm = 0.25});
}
static gantry_optimizer_t *value(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.clipvalue = 0.25});
}
static gantry_optimizer_t *global(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.global_clipnorm = 0.25});
}
static gantry_optimizer_t *accumulating(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.gradient_accumulation_steps = 2});
}
static gantry_optimizer_t *averaging(void) {
    return gantry_sgd(&(gantry_sgd_options_t){.use_ema = true});
}
static gantry_optimizer_t *adam_epsilon(void) {
    return gantry_adam(&(gantry_adam_options_t){.epsilon = 1e-5});
}
static gantry_optimizer_t *adam_beta(void) {
    return gantry_adam(&(gantry_adam_options_t){.beta_2 = 0.99});
}

static gantry_optimizer_t *ftrl(void) { return gantry_ftrl(NULL); }
static gantry_optimizer_t *ftrl_beta(void) {
    return gantry_ftrl(&(gantry_ftrl_options_t){.beta = 0.5});
}

TEST(unlike_optimizers_are_named) {
    static const struct {
        gantry_optimizer_t *(*make)(void);
        const char *text;
    } cases[] = {
        {adam, "rank 1 (thread 1) has optimizer adam; rank 0 (thread 0) has optimizer sgd; all"},
        {fast, "rank 1 (thread 1) has learning_rate 0.5; rank 0 (thread 0) has learning_rate 0.01"},
        {momentum, "has momentum 0.9; rank 0"},
        {nesterov, "has nesterov 1; rank 0"},
        {decayed, "has weight_decay 0.004; rank 0"},
        {norm, "has clipnorm 0.25; rank 0 (thread 0) has clipnorm 0;"},
        {value, "has clipvalue 0.25; rank 0"},
        {global, "has global_clipnorm 0.25; rank 0"},
        {accumulating, "has gradient_accumulation_steps 2; rank 0"},
        {averaging, "has use_ema 1; rank 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        job_t other = usual;
        other.optimizer = cases[i].make;
        expect_refused(&other, cases[i].text);
    }
}

TEST(unlike_numbers_of_optimizers_are_named) {
    for (size_t r = 0; r < RANKS; ++r) jobs[r] = usual;
    for (size_t r = 0; r < RANKS; ++r) jobs[r].optimizer = r == 2 ? adam_epsilon : adam;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "rank 2 (thread 2) has epsilon 1e-05;");
    jobs[2].optimizer = adam_beta;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "rank 2 (thread 2) has beta_2 0.99;");
    for (size_t r = 0; r < RANKS; ++r) jobs[r].optimizer = r == 2 ? ftrl_beta : ftrl;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "rank 2 (thread 2) has beta 0.5;");
}

/* ---- schedules ---- */

static gantry_optimizer_t *with(gantry_schedule_t *schedule) {
    gantry_optimizer_t *optimizer = gantry_sgd(&(gantry_sgd_options_t){.schedule = schedule});
    gantry_schedule_release(schedule);
    return optimizer;
}

static gantry_optimizer_t *exponential(double decay) {
    return with(gantry_exponential_decay(&(gantry_exponential_decay_options_t){
        .initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = decay}));
}

static gantry_optimizer_t *halving(void) { return exponential(0.5); }
static gantry_optimizer_t *quartering(void) { return exponential(0.25); }

static gantry_optimizer_t *pieces(double last) {
    const int64_t boundary = 100;
    const double values[] = {0.1, last};
    return with(gantry_piecewise_constant_decay(&(gantry_piecewise_constant_decay_options_t){
        .boundaries = &boundary, .boundary_count = 1, .values = values}));
}

static gantry_optimizer_t *low_end(void) { return pieces(0.01); }
static gantry_optimizer_t *high_end(void) { return pieces(0.02); }

/* Its rate is alike up to step 1. */
static const gantry_tensor_t *late_rate(gantry_scope_t *scope, const gantry_tensor_t *step,
                                        gantry_dtype_t dtype, void *user) {
    const double *slope = user;
    const gantry_tensor_t *late = gantry_maximum(
        scope, gantry_sub(scope, gantry_cast(scope, step, dtype), gantry_scalar_f32(scope, 1)),
        gantry_scalar_f32(scope, 0));
    return gantry_add(scope, gantry_scalar_f32(scope, 0.125f),
                      gantry_mul(scope, late, gantry_scalar_f32(scope, (float)*slope)));
}

static gantry_optimizer_t *own_flat(void) {
    static double slope = 0;
    return with(gantry_schedule_create(late_rate, &slope));
}

static gantry_optimizer_t *own_steep(void) {
    static double slope = 0.5;
    return with(gantry_schedule_create(late_rate, &slope));
}

static void give_optimizers(gantry_optimizer_t *(*first)(void),
                            gantry_optimizer_t *(*other)(void)) {
    for (size_t r = 0; r < RANKS; ++r) {
        jobs[r] = usual;
        jobs[r].optimizer = r == 1 ? other : first;
    }
    run_all(run_model);
}

TEST(unlike_schedules_are_named) {
    give_optimizers(plain, halving);
    expect_everywhere(GANTRY_INVALID_ARGUMENT,
                      "rank 1 (thread 1) has schedule exponential_decay; rank 0 (thread 0) has no "
                      "schedule");
    give_optimizers(halving, low_end);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "has schedule piecewise_constant_decay; rank 0");
    give_optimizers(halving, quartering);
    expect_everywhere(GANTRY_INVALID_ARGUMENT,
                      "has schedule exponential_decay of the numbers 0.1, 10, 0.25");
    give_optimizers(low_end, high_end);
    expect_everywhere(GANTRY_INVALID_ARGUMENT,
                      "has schedule piecewise_constant_decay with 0.02 at the end");
    give_optimizers(low_end, low_end);
    expect_everywhere(GANTRY_OK, "");
    give_optimizers(halving, own_flat);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "has schedule of the program's own; rank 0");
}

/* Only its rates show it: at the end of the epoch. */
TEST(unlike_rates_of_own_schedules_are_named) {
    give_optimizers(own_flat, own_steep);
    expect_everywhere(GANTRY_INVALID_ARGUMENT,
                      "rank 1 (thread 1) has learning rate 1.125 now; rank 0 (thread 0) has "
                      "learning rate 0.125 now");
}

/* ---- models ---- */

static gantry_metric_t *other_threshold(const gantry_metric_options_t *options) {
    return gantry_binary_accuracy(0.75, options);
}

static gantry_metric_t *other_metric(const gantry_metric_options_t *options) {
    return gantry_root_mean_squared_error(options);
}

TEST(unlike_models_are_named) {
    job_t other = usual;
    other.loss = GANTRY_MEAN_SQUARED_ERROR;
    expect_refused(&other, "rank 1 (thread 1) has loss mean_squared_error of output 0; rank 0");
    other = usual;
    other.loss_options.from_logits = true;
    expect_refused(&other, "has loss options of output 0: reduction 0, from_logits 1");
    other = usual;
    other.metric = other_threshold;
    expect_refused(&other,
                   "has options of metric binary_accuracy: type float32, size 0, threshold "
                   "0.75");
    other = usual;
    other.activation = GANTRY_RELU;
    expect_refused(&other, " in layer dense; rank 0 (thread 0) has ops of the checksum ");
    other = usual;
    other.is_frozen = true;
    expect_refused(&other,
                   "rank 1 (thread 1) has layer dense frozen; rank 0 (thread 0) has layer "
                   "dense trained");
    other = usual;
    other.l2 = 0.125;
    expect_refused(&other, "has a regularizer of dense/kernel: l1 0, l2 0.125");
    other = usual;
    other.most_norm = 3;
    expect_refused(&other, "has a constraint of dense/kernel: kind 2, from 0 to 3");
}

static gantry_metric_t *iou_of_zero(const gantry_metric_options_t *options) {
    return gantry_binary_iou((const int32_t[]){0}, 1, 0.5, options);
}

static gantry_metric_t *iou_of_one(const gantry_metric_options_t *options) {
    return gantry_binary_iou((const int32_t[]){1}, 1, 0.5, options);
}

static gantry_metric_t *iou_without_one(const gantry_metric_options_t *options) {
    (void)options;
    return gantry_binary_iou((const int32_t[]){0}, 1, 0.5,
                             &(gantry_metric_options_t){.ignore_class = &(const int32_t){1}});
}

TEST(unlike_classes_and_axes_are_named) {
    for (size_t r = 0; r < RANKS; ++r) {
        jobs[r] = usual;
        jobs[r].metric = iou_of_zero;
        jobs[r].loss = GANTRY_DICE;
        jobs[r].loss_options = (gantry_loss_options_t){.axes = {1}, .axis_count = 1};
    }
    run_all(run_model);
    expect_everywhere(GANTRY_OK, "");
    jobs[1].metric = iou_of_one;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "has target class 1 in metric binary_io_u; rank 0");
    jobs[1].metric = iou_without_one;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "has classes of metric binary_io_u: ignored 1 1, ");
    jobs[1].metric = iou_of_zero;
    jobs[1].loss_options.axes[0] = 0;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "has axis 0 of the loss of output 0: 0; rank 0");
}

TEST(unlike_trainings_are_named) {
    job_t other = usual;
    other.steps_per_epoch = 2;
    expect_refused(&other,
                   "rank 1 (thread 1) has steps_per_epoch 2; rank 0 (thread 0) has "
                   "steps_per_epoch 0");
    other = usual;
    other.class_weights[1] = 3;
    expect_refused(&other, "rank 1 (thread 1) has weight 3 of class 1; rank 0");
}

TEST(unlike_tests_are_named) {
    job_t other = usual;
    other.tests = true;
    other.metric = other_metric;
    expect_refused(&other,
                   "rank 1 (thread 1) has metric root_mean_squared_error of output 0; rank 0");
}

/* ---- what a callback of one process changes ---- */

static gantry_status_t set_weight(gantry_model_t *model, int64_t step, bool *stop, void *user) {
    static const float zeros[15] = {0};
    const int64_t *at = user;
    (void)stop;
    return step == *at ? gantry_model_set_variable(model, 0, zeros, sizeof zeros) : GANTRY_OK;
}

static int64_t set_at;
static const gantry_callback_t setting = {
    .struct_size = sizeof setting, .user = &set_at, .step_end = set_weight};

static void expect_apart(int64_t at, int64_t steps, const char *text) {
    for (size_t r = 0; r < RANKS; ++r) {
        jobs[r] = usual;
        jobs[r].steps_per_epoch = steps;
        jobs[r].callback = r == 2 ? &setting : NULL;
    }
    set_at = at;
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, text);
}

/* An epoch of three batches ends the data set. */
TEST(weights_that_go_apart_are_named) {
    expect_apart(0, 0,
                 " after step 1; rank 0 (thread 0) has weight dense/kernel with the checksum");
    expect_apart(1, 0,
                 " after step 3; rank 0 (thread 0) has weight dense/kernel with the checksum");
    expect_apart(1, 70,
                 " after step 64; rank 0 (thread 0) has weight dense/kernel with the checksum");
}

static double set_rate(int64_t epoch, double rate, void *user) {
    (void)user;
    return epoch > 0 ? 0.25 : rate;
}

static double keep_rate(int64_t epoch, double rate, void *user) {
    (void)epoch, (void)user;
    return rate;
}

TEST(rates_that_go_apart_are_named) {
    gantry_callback_t *keeps = gantry_learning_rate_scheduler(keep_rate, NULL),
                      *sets = gantry_learning_rate_scheduler(set_rate, NULL);
    for (size_t r = 0; r < RANKS; ++r) {
        jobs[r] = usual;
        jobs[r].epochs = 3;
        jobs[r].callback = r == 1 ? sets : keeps;
    }
    run_all(run_model);
    expect_everywhere(GANTRY_INVALID_ARGUMENT, "rank 1 (thread 1) has learning rate 0.25 now");
    gantry_callback_release(keeps);
    gantry_callback_release(sets);
}

/* ---- a loop of the program's own ---- */

typedef struct loop_t {
    gantry_optimizer_t *(*optimizer)(void);
    float value;
    int64_t size;
    const char *name;
    size_t steps; /* before the comparison */
    bool is_null, has_no_scope;
    gantry_dtype_t dtype; /* 0: float32, filled with value */
    uint64_t bits;        /* of each element, for a dtype */
} loop_t;

static loop_t loops[RANKS];

static gantry_status_t take_steps(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                  gantry_variable_t *variable, size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
        const gantry_tensor_t *gradient =
            gantry_zeros(scope, GANTRY_FLOAT32, *gantry_variable_shape(variable));
        (void)gantry_optimizer_apply(optimizer, scope, &variable, &gradient, 1);
    }
    return gantry_scope_status(scope);
}

static const gantry_tensor_t *value_of(gantry_scope_t *scope, const loop_t *loop) {
    unsigned char bytes[8 * sizeof loop->bits] = {0};
    const size_t size = gantry_dtype_size(loop->dtype);
    if (!loop->dtype)
        return gantry_fill(scope, GANTRY_SHAPE(loop->size), gantry_scalar_f32(scope, loop->value));
    for (int64_t i = 0; i < loop->size; ++i)
        memcpy(bytes + (size_t)i * size, &loop->bits, size); /* low bytes come first */
    return gantry_constant(scope, loop->dtype, GANTRY_SHAPE(loop->size), bytes,
                           (size_t)loop->size * size);
}

static gantry_status_t run_loop(thread_worker_t *worker) {
    char text[1024];
    const loop_t *loop = &loops[worker->communicator.rank];
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, NULL, 0, &worker->communicator);
    gantry_optimizer_t *optimizer = loop->optimizer();
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_variable_t *variable = gantry_variable_create(scope, value_of(scope, loop), loop->name);
    gantry_variable_t *given = loop->is_null ? NULL : variable;
    (void)take_steps(optimizer, scope, variable, loop->steps);
    const gantry_status_t status = gantry_strategy_check_alike(
        strategy, loop->has_no_scope ? NULL : scope, optimizer, &given, 1);
    (void)snprintf(text, sizeof text, "%s",
                   loop->has_no_scope ? gantry_last_message() : gantry_scope_message(scope));
    (void)gantry_scope_end(scope);
    gantry_optimizer_release(optimizer);
    gantry_variable_release(variable);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return status == GANTRY_OK ? status : gantry_fail(status, text);
}

static void expect_loops(const loop_t *other, gantry_status_t status, const char *text) {
    static const loop_t same = {.optimizer = plain, .value = 2, .size = 5, .name = "w", .steps = 1};
    for (size_t r = 0; r < RANKS; ++r) loops[r] = same;
    if (other) loops[1] = *other;
    run_all(run_loop);
    if (text) expect_everywhere(status, text);
}

/* Rank 1's own error, which all others return. */
static void expect_told(const char *text) {
    char told[256];
    (void)snprintf(told, sizeof told, "rank 1 (thread 1) failed: %s", text);
    for (size_t r = 0; r < RANKS; ++r) {
        const char *wanted = r == 1 ? text : told, *got = group.workers[r].text;
        if (group.workers[r].status != GANTRY_INVALID_ARGUMENT ||
            strncmp(got, wanted, strlen(wanted)) != 0)
            fail_msg("rank %zu: status %d, \"%s\"; \"%s\" is expected", r,
                     (int)group.workers[r].status, got, wanted);
    }
}

TEST(loops_of_a_programs_own_are_compared) {
    const loop_t same = {.optimizer = plain, .value = 2, .size = 5, .name = "w", .steps = 1};
    loop_t other = same;
    expect_loops(NULL, GANTRY_OK, "");
    other.optimizer = fast;
    expect_loops(&other, GANTRY_INVALID_ARGUMENT,
                 "rank 1 (thread 1) has learning_rate 0.5; rank 0");
    other = same;
    other.steps = 2;
    expect_loops(&other, GANTRY_INVALID_ARGUMENT, "has an optimizer with 2 steps done; rank 0");
    other = same;
    other.size = 6;
    expect_loops(&other, GANTRY_INVALID_ARGUMENT, "has variable 0, w, of float32[6]; rank 0");
    other = same;
    other.name = "v";
    expect_loops(&other, GANTRY_INVALID_ARGUMENT, "has variable 0, v, of float32[5]; rank 0");
    other = same;
    other.value = 2.0000002f;
    expect_loops(&other, GANTRY_INVALID_ARGUMENT, "has variable 0, w, with the checksum ");
}

TEST(failure_of_a_comparison_is_told) {
    const loop_t same = {.optimizer = plain, .value = 2, .size = 5, .name = "w", .steps = 1};
    loop_t other = same;
    other.is_null = true;
    expect_loops(&other, GANTRY_OK, NULL);
    expect_told("gantry_strategy_check_alike: variables[0] is NULL");
    other = same;
    other.has_no_scope = true;
    expect_loops(&other, GANTRY_OK, NULL);
    expect_told("gantry_strategy_check_alike: the scope is NULL");
}

/* Signs and payloads of NaNs are no difference; an infinity is none of them. */
TEST(nans_are_alike) {
    static const struct {
        gantry_dtype_t dtype;
        uint64_t nans[RANKS], infinity;
    } rows[] = {
        {GANTRY_FLOAT16, {0x7e00, 0xfc01, 0xffff}, 0xfc00},
        {GANTRY_BFLOAT16, {0x7fc0, 0xff81, 0xffff}, 0xff80},
        {GANTRY_FLOAT32, {0x7fc00000, 0xff800001, 0xffffffff}, 0xff800000},
        {GANTRY_FLOAT64,
         {UINT64_C(0x7ff8000000000000), UINT64_C(0xfff0000000000001), UINT64_MAX},
         UINT64_C(0xfff0000000000000)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        for (size_t r = 0; r < RANKS; ++r)
            loops[r] = (loop_t){.optimizer = plain,
                                .size = 5,
                                .name = "w",
                                .dtype = rows[i].dtype,
                                .bits = rows[i].nans[r]};
        run_all(run_loop);
        expect_everywhere(GANTRY_OK, "");
        loops[1].bits = rows[i].infinity;
        run_all(run_loop);
        expect_everywhere(GANTRY_INVALID_ARGUMENT,
                          "rank 1 (thread 1) has variable 0, w, with the checksum ");
    }
}

/* ---- a model that failed while it was put together ---- */

typedef gantry_status_t (*call_fn)(gantry_model_t *model, gantry_dataset_t *batches);

static gantry_status_t fit_it(gantry_model_t *model, gantry_dataset_t *batches) {
    return gantry_model_fit(model, batches, NULL);
}

static gantry_status_t evaluate_it(gantry_model_t *model, gantry_dataset_t *batches) {
    double values[2];
    return gantry_model_evaluate(model, batches, values, 2);
}

static gantry_status_t build_it(gantry_model_t *model, gantry_dataset_t *batches) {
    (void)batches;
    return gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(3));
}

static gantry_status_t save_it(gantry_model_t *model, gantry_dataset_t *batches) {
    (void)batches;
    return gantry_model_save(model, "/nowhere/model");
}

static gantry_status_t load_it(gantry_model_t *model, gantry_dataset_t *batches) {
    (void)batches;
    return gantry_model_load(model, "/nowhere/model");
}

static call_fn call;

static gantry_status_t run_failed(thread_worker_t *worker) {
    char text[1024];
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy =
        gantry_multi_worker_strategy(runtime, NULL, 0, &worker->communicator);
    gantry_dataset_t *batches = make_batches(&usual);
    gantry_model_t *model = make_model(runtime, strategy, &usual);
    if (worker->communicator.rank == 1) (void)gantry_model_add(model, gantry_dense(0, 0, NULL));
    const gantry_status_t status = call(model, batches);
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    gantry_model_release(model);
    gantry_dataset_release(batches);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
    return status == GANTRY_OK ? status : gantry_fail(status, text);
}

TEST(failed_models_keep_no_process_waiting) {
    static const call_fn calls[] = {fit_it, evaluate_it, build_it, save_it, load_it};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        call = calls[i];
        run_all(run_failed);
        if (call != save_it && call != load_it) expect_told("gantry_model_add: the layer is NULL");
        for (size_t r = 0; r < RANKS; ++r) /* files are those of built models */
            assert_null(strstr(group.workers[r].text, "ended during"));
    }
}

TEST(one_process_has_nothing_to_compare) {
    gantry_runtime_t *runtime = open_runtime();
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, NULL, 0);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    assert_int_equal(gantry_strategy_check_alike(strategy, scope, NULL, NULL, 0), GANTRY_OK);
    assert_int_equal(gantry_strategy_check_alike(NULL, scope, NULL, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_strategy_check_alike(strategy, NULL, NULL, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    (void)gantry_scope_end(scope);
    gantry_strategy_release(strategy);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main(); }
