/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Strategies over NVIDIA cards sum by NCCL, say so in the log, and sum by copies where
 * NCCL cannot serve, on the stand-ins for the driver and for NCCL.
 * Promise: Two parts of one card sum by NCCL 2.30 where NCCL_MULTI_RANK_GPU_ENABLE is 1. */
#define _XOPEN_SOURCE 700

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gantry_train/train.h>

#include "cuda/stand_in_control.h"
#include "log_lines.h"
#include "need_opencl.h"
#include "test.h"
#include "train_heap.h"

#define STAND_IN(library) GANTRY_TEST_MODULES "/cuda/standin_" library ".so"

enum { ELEMENTS = 100003, ROUNDS = 5, ROWS = 12, FEATURES = 6 };

static log_lines_t lines;
static const stand_in_control_t *control;
static gantry_runtime_t *runtime;
static const char *const cards[] = {"GPU:0", "GPU:1"};

static void set_libraries(const char *nccl) {
    const char *const libraries[][2] = {{"GANTRY_CUDA_LIBRARY", STAND_IN("libcuda")},
                                        {"GANTRY_CUDA_NVRTC", STAND_IN("libnvrtc")},
                                        {"GANTRY_CUDA_CUBLAS", STAND_IN("libcublas")},
                                        {"GANTRY_CUDA_NVML", STAND_IN("libnvml")},
                                        {"GANTRY_CUDA_NCCL", nccl}};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i)
        assert_int_equal(setenv(libraries[i][0], libraries[i][1], 1), 0);
}

static void open_runtime(const char *nccl) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log_level = GANTRY_LEVEL_DEBUG,
                                              .log = log_lines_write,
                                              .log_user = &lines,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .backends = "cpu,cuda",
                                              .kernel_cache = ""};
    set_libraries(nccl);
    log_lines_init(&lines);
    train_heap_reset(-1);
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static int close_runtime(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    assert_int_equal(train_heap_live(), 0);
    assert_int_equal(control->live(STAND_IN_COMMUNICATORS), 0);
    control->reset();
    return 0;
}

static int open_with_nccl(void **state) {
    (void)state;
    open_runtime(STAND_IN("libnccl"));
    return 0;
}

static int open_without_nccl(void **state) {
    (void)state;
    open_runtime("/nonexistent/libnccl.so.2");
    return 0;
}

static gantry_strategy_t *make_strategy(void) {
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, cards, 2);
    if (!strategy) fail_msg("%s", gantry_last_message());
    return strategy;
}

/* ---- sums ---- */

typedef struct job_t {
    const gantry_strategy_t *strategy;
    const gantry_tensor_t *values[2], *sums[2];
} job_t;

static float number(size_t replica, size_t i) {
    return (float)((i * 31 + replica * 17) % 1009) * 0.37f;
}

static void make_value(gantry_scope_t *scope, size_t replica, void *user) {
    static float numbers[ELEMENTS];
    job_t *job = user;
    for (size_t i = 0; i < ELEMENTS; ++i) numbers[i] = number(replica, i);
    job->values[replica] = gantry_scope_keep(
        scope,
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS), numbers, sizeof numbers));
}

static void check_sums(const job_t *job) {
    static float got[ELEMENTS];
    for (size_t r = 0; r < 2; ++r) {
        if (!job->sums[r] || gantry_tensor_read(job->sums[r], got, sizeof got) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        for (size_t i = 0; i < ELEMENTS; ++i) {
            const float sum = number(0, i) + number(1, i);
            if (memcmp(&got[i], &sum, sizeof sum) != 0)
                fail_msg("replica %zu, element %zu: %.9g, not %.9g", r, i, (double)got[i],
                         (double)sum);
        }
    }
}

static void reduce_eagerly(const gantry_strategy_t *strategy) {
    job_t job = {.strategy = strategy};
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    (void)gantry_strategy_run(strategy, scope, make_value, &job);
    (void)gantry_strategy_reduce(strategy, scope, GANTRY_REDUCE_SUM, job.values, job.sums);
    check_sums(&job);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void reduce_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const job_t *job = user;
    (void)gantry_strategy_reduce(job->strategy, scope, GANTRY_REDUCE_SUM, inputs, outputs);
}

static void reduce_in_function(const gantry_strategy_t *strategy) {
    job_t job = {.strategy = strategy};
    const gantry_input_spec_t specs[] = {{NULL, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS)},
                                         {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(ELEMENTS)}};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "reduce", reduce_body, &job, specs, 2, 2, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int round = 0; round < ROUNDS; ++round) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        (void)gantry_strategy_run(strategy, scope, make_value, &job);
        (void)gantry_function_call(scope, function, job.values, 2, job.sums, 2);
        check_sums(&job);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    gantry_function_release(function);
}

TEST_WITH(cards_reduce_by_nccl, open_with_nccl, close_runtime) {
    gantry_strategy_t *strategy = make_strategy();
    const uint64_t before = control->calls("all-reduce");
    reduce_eagerly(strategy);
    assert_int_equal(control->calls("all-reduce") - before, 1);
    reduce_in_function(strategy);
    assert_int_equal(control->calls("all-reduce") - before, 1 + ROUNDS);
    /* one clique serves all of them */
    assert_int_equal(control->live(STAND_IN_COMMUNICATORS), 2);
    gantry_strategy_release(strategy);
}

/* ---- training ---- */

static double train(const gantry_strategy_t *strategy) {
    static float x[ROWS * FEATURES], y[ROWS];
    double loss[1];
    for (int i = 0; i < ROWS * FEATURES; ++i) x[i] = (float)(i % 7) * 0.25f - 0.75f;
    for (int i = 0; i < ROWS; ++i) y[i] = (float)(i % 3);
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, FEATURES), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 1), y}};
    gantry_dataset_t *batches =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 5, false);
    gantry_model_options_t options = {.seed = 4, .strategy = strategy};
    if (!strategy) options.device = "/CPU:0";
    gantry_model_t *model = gantry_sequential(runtime, &options);
    (void)gantry_model_add(model, gantry_dense(9, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_dense(1, 0, NULL));
    (void)gantry_model_compile(model,
                               &(gantry_compile_options_t){.optimizer = gantry_adam(NULL),
                                                           .loss = GANTRY_MEAN_SQUARED_ERROR});
    if (gantry_model_fit(model, batches, &(gantry_fit_options_t){.epochs = 5}) != GANTRY_OK ||
        gantry_model_evaluate(model, batches, loss, 1) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_model_release(model);
    gantry_dataset_release(batches);
    return loss[0];
}

TEST_WITH(model_trains_over_nccl, open_with_nccl, close_runtime) {
    const double alone = train(NULL);
    gantry_strategy_t *strategy = make_strategy();
    const uint64_t before = control->calls("all-reduce");
    const double mirrored = train(strategy);
    if (!(fabs(mirrored - alone) <= 1e-5 * alone)) fail_msg("%.9g, not %.9g", mirrored, alone);
    assert_int_equal(control->calls("all-reduce") - before, 5 * 3);
    assert_true(
        log_lines_with(&lines, "batch_all_reduce: 4 all-reduces with algorithm = nccl", "") > 0);
    gantry_strategy_release(strategy);
}

/* ---- where NCCL cannot serve ---- */

TEST_WITH(copies_serve_without_nccl, open_without_nccl, close_runtime) {
    gantry_strategy_t *strategy = make_strategy();
    const uint64_t before = control->calls("all-reduce");
    reduce_eagerly(strategy);
    reduce_in_function(strategy);
    assert_int_equal(control->calls("all-reduce") - before, 0);
    assert_int_equal(log_lines_with(&lines, "Gradients are reduced by copies between devices: ",
                                    "has no kernel of NcclAllReduce"),
                     1);
    gantry_strategy_release(strategy);
}

static void split_first_card(void) {
    const gantry_physical_device_t *card;
    size_t count;
    gantry_logical_device_config_t parts[2] = {{.struct_size = sizeof parts[0]},
                                               {.struct_size = sizeof parts[0]}};
    parts[0].memory_limit_bytes = parts[1].memory_limit_bytes = 64 << 20;
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 1, &card, &count), GANTRY_OK);
    assert_int_equal(gantry_set_logical_device_configuration(runtime, card, parts, 2), GANTRY_OK);
}

TEST_WITH(copies_serve_parts_of_one_card, open_with_nccl, close_runtime) {
    split_first_card();
    gantry_strategy_t *strategy = make_strategy();
    const uint64_t before = control->calls("all-reduce");
    reduce_eagerly(strategy);
    assert_int_equal(control->calls("all-reduce") - before, 0);
    assert_int_equal(log_lines_with(&lines, "Gradients are reduced by copies between devices: ",
                                    "is a part of a card that has another replica"),
                     1);
    gantry_strategy_release(strategy);
}

static int open_sharing(void **state) {
    assert_int_equal(setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1), 0);
    return open_with_nccl(state);
}

static int close_sharing(void **state) {
    const int code = close_runtime(state);
    assert_int_equal(unsetenv("NCCL_MULTI_RANK_GPU_ENABLE"), 0);
    return code;
}

/* NCCL 2.30 takes two ranks on one card; with an older one the sum is refused. */
static void share_first_card(const char *version, bool is_taken) {
    assert_int_equal(control->set(version), 0);
    split_first_card();
    gantry_strategy_t *strategy = make_strategy();
    const uint64_t before = control->calls("all-reduce");
    if (is_taken) {
        reduce_eagerly(strategy);
        reduce_in_function(strategy);
        assert_int_equal(control->live(STAND_IN_COMMUNICATORS), 2);
    } else {
        job_t job = {.strategy = strategy};
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        (void)gantry_strategy_run(strategy, scope, make_value, &job);
        assert_int_equal(
            gantry_strategy_reduce(strategy, scope, GANTRY_REDUCE_SUM, job.values, job.sums),
            GANTRY_INVALID_ARGUMENT);
        if (!strstr(gantry_scope_message(scope),
                    "unless NCCL is 2.30 or later and NCCL_MULTI_RANK_GPU_ENABLE is 1"))
            fail_msg("%s", gantry_scope_message(scope));
        (void)gantry_scope_end(scope);
    }
    assert_int_equal(control->calls("all-reduce") - before, is_taken ? 1 + ROUNDS : 0);
    gantry_strategy_release(strategy);
}

TEST_WITH(two_ranks_share_a_card_where_nccl_takes_them, open_sharing, close_sharing) {
    share_first_card("nccl=23007", true);
}

TEST_WITH(older_nccl_refuses_two_ranks_of_a_card, open_sharing, close_sharing) {
    share_first_card("nccl=22809", false);
}

/* ---- failures ---- */

TEST_WITH(failure_of_nccl_is_told_and_ends, open_with_nccl, close_runtime) {
    gantry_strategy_t *strategy = make_strategy();
    static const char *const failing[] = {"fail=ncclCommInitAll:1:3", "fail=ncclGroupStart:1:3",
                                          "fail=ncclGroupEnd:1:3", "fail=ncclAllReduce:1:3"};
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; ++i) {
        job_t job = {.strategy = strategy};
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        (void)gantry_strategy_run(strategy, scope, make_value, &job);
        assert_int_equal(control->set(failing[i]), 0);
        assert_int_equal(
            gantry_strategy_reduce(strategy, scope, GANTRY_REDUCE_SUM, job.values, job.sums),
            GANTRY_INTERNAL);
        assert_null(job.sums[0]);
        assert_null(job.sums[1]);
        if (!strstr(gantry_scope_message(scope), "an error of the stand-in (3)"))
            fail_msg("%s", gantry_scope_message(scope));
        (void)gantry_scope_end(scope);
        control->reset();
        reduce_eagerly(strategy);
    }
    gantry_strategy_release(strategy);
}

static gantry_status_t call_one(gantry_scope_t *scope, const char *device, const char *name,
                                const char *reduction, int64_t cards_wanted) {
    const gantry_attr_value_t attrs[] = {
        {.name = "reduction", .kind = GANTRY_ATTR_STRING, .s = reduction},
        {.name = "num_devices", .kind = GANTRY_ATTR_INT, .i = cards_wanted},
        {.name = "shared_name", .kind = GANTRY_ATTR_STRING, .s = name}};
    gantry_scope_t *own = gantry_scope_begin_in(scope, device);
    const gantry_tensor_t *ones = gantry_ones(own, GANTRY_FLOAT32, GANTRY_SHAPE(8)), *sum;
    size_t count = 1;
    (void)gantry_op_call(own, "NcclAllReduce", &ones, 1, attrs, 3, &sum, &count);
    return gantry_scope_end(own);
}

TEST_WITH(calls_that_do_not_follow_each_other_are_refused, open_with_nccl, close_runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    assert_int_equal(call_one(scope, "GPU:0", "a", "sum", 2), GANTRY_OK);
    assert_int_equal(call_one(scope, "GPU:1", "b", "sum", 2), GANTRY_FAILED_PRECONDITION);
    if (!strstr(gantry_last_message(), "NcclAllReduce \"a\": 1 of 2 cards came"))
        fail_msg("%s", gantry_last_message());
    /* a call for a card that came begins anew */
    assert_int_equal(call_one(scope, "GPU:0", "b", "max", 2), GANTRY_OK);
    assert_int_equal(call_one(scope, "GPU:1", "b", "max", 2), GANTRY_OK);
    /* one card alone needs nobody; no kernel knows other reductions */
    assert_int_equal(call_one(scope, "GPU:0", "c", "prod", 1), GANTRY_OK);
    assert_int_not_equal(call_one(scope, "GPU:0", "c", "mean", 1), GANTRY_OK);
    /* what waits when a runtime ends is forgotten */
    assert_int_equal(call_one(scope, "GPU:0", "d", "min", 2), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

int main(void) {
    assert_int_equal(setenv("GANTRY_STAND_IN_CUDA", "devices=2", 1), 0);
    void *library = dlopen(STAND_IN("libcuda"), RTLD_NOW | RTLD_LOCAL);
    stand_in_control_fn get = NULL;
    void *address = library ? dlsym(library, "stand_in_control") : NULL;
    if (!address) {
        print_message("SKIP: there is no stand-in for CUDA: OpenCL's headers are missing\n");
        return 77;
    }
    const int code = skip_without_pocl();
    if (code != 0) return code;
    memcpy(&get, &address, sizeof get);
    control = get();
    return test_main();
}
