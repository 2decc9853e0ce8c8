/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A strategy runs work for each replica on its device, and its sums have the same bits
 * whatever the timing.
 * Promise: Mirrored variables are aggregated as asked, and a mean of integers, a device given twice
 * and a list without devices are refused. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "sanitized.h"
#include "test.h"
#include "train_case.h"
#include "train_heap.h"

#include <gantry_train/train.h>

enum { MOST_REPLICAS = 4, ROUNDS = FEWER_FOR_SANITIZERS(10, 2) };

static runtime_fixture_t fixture;

static int set_up(void **state) {
    (void)runtime_fixture_set_up(state);
    train_heap_reset(-1);
    runtime_fixture_open(&fixture, 1);
    assert_int_equal(gantry_set_logical_cpu_devices(fixture.runtime, MOST_REPLICAS), GANTRY_OK);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    runtime_fixture_close(&fixture);
    assert_int_equal(train_heap_live(), 0);
    return 0;
}

static gantry_strategy_t *make_strategy(gantry_runtime_t *runtime, const char *const *devices,
                                        size_t count) {
    gantry_strategy_t *strategy = gantry_mirrored_strategy(runtime, devices, count);
    if (!strategy) fail_msg("%s", gantry_last_message());
    return strategy;
}

static const char *const cpus[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};

/* ---- devices ---- */

static void expect_refused(const char *const *devices, size_t count, const char *text) {
    assert_null(gantry_mirrored_strategy(fixture.runtime, devices, count));
    if (!strstr(gantry_last_message(), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), text);
}

TEST(devices_are_logged_and_checked) {
    gantry_strategy_release(make_strategy(fixture.runtime, cpus, 2));
    gantry_strategy_release(make_strategy(fixture.runtime, (const char *[]){"/gpu:0"}, 1));
    assert_int_equal(log_lines_with(&fixture.log,
                                    "Using MirroredStrategy with devices "
                                    "('/job:localhost/replica:0/task:0/device:CPU:0', "
                                    "'/job:localhost/replica:0/task:0/device:CPU:1')",
                                    ""),
                     1);
    assert_int_equal(log_lines_with(&fixture.log, "/device:GPU:0',)", ""), 1);
    expect_refused((const char *[]){"CPU:0", "/CPU:0"}, 2,
                   "No duplicates allowed in `devices` argument");
    expect_refused(cpus, 0, "Must specify at least one device.");
    expect_refused((const char *[]){"/device:gpu:0"}, 1, "Device type 'gpu' must be all-caps.");
    expect_refused((const char *[]){"CPU:0", NULL}, 2, "device 1 is NULL");
    expect_refused((const char *[]){"CPU:9"}, 1, "CPU:9");
}

/* ---- reduce ---- */

/* Numbers whose sum depends on the order of the additions. */
static float number(size_t replica, size_t i) {
    return ((float)((i * 2654435761u + replica * 40503u) % 1000003u) - 500000) * 1e-3f;
}

typedef struct job_t {
    const gantry_strategy_t *strategy;
    gantry_shape_t shape;
    gantry_reduce_op_t op;
    float *numbers[MOST_REPLICAS], *wanted;
    const gantry_tensor_t *values[MOST_REPLICAS], *results[MOST_REPLICAS];
} job_t;

static float *make_numbers(size_t count) {
    float *numbers = malloc(count * sizeof *numbers + 1);
    assert_non_null(numbers);
    return numbers;
}

static void job_init(job_t *job, const gantry_strategy_t *strategy, gantry_shape_t shape,
                     gantry_reduce_op_t op) {
    const size_t count = (size_t)gantry_shape_elements(&shape),
                 replicas = gantry_strategy_replica_count(strategy);
    *job = (job_t){.strategy = strategy, .shape = shape, .op = op, .wanted = make_numbers(count)};
    for (size_t r = 0; r < replicas; ++r) {
        job->numbers[r] = make_numbers(count);
        for (size_t i = 0; i < count; ++i) job->numbers[r][i] = number(r, i);
    }
    for (size_t i = 0; i < count; ++i) {
        float sum = job->numbers[0][i];
        for (size_t r = 1; r < replicas; ++r) sum += job->numbers[r][i];
        job->wanted[i] = op == GANTRY_REDUCE_MEAN ? sum / (float)replicas : sum;
    }
}

static void job_deinit(job_t *job) {
    free(job->wanted);
    for (size_t r = 0; r < MOST_REPLICAS; ++r) free(job->numbers[r]);
}

static void make_value(gantry_scope_t *scope, size_t replica, void *user) {
    job_t *job = user;
    const size_t bytes = (size_t)gantry_shape_elements(&job->shape) * sizeof(float);
    job->values[replica] = gantry_scope_keep(
        scope, gantry_constant(scope, GANTRY_FLOAT32, job->shape, job->numbers[replica], bytes));
}

static void check_results(const job_t *job) {
    const size_t count = (size_t)gantry_shape_elements(&job->shape),
                 replicas = gantry_strategy_replica_count(job->strategy);
    float *got = make_numbers(count);
    for (size_t r = 0; r < replicas; ++r) {
        const gantry_tensor_t *result = job->results[r];
        if (!result) fail_msg("%s", gantry_last_message());
        assert_true(gantry_shape_equal(gantry_tensor_shape(result), &job->shape));
        assert_string_equal(gantry_logical_device_full_name(gantry_tensor_device(result)),
                            gantry_strategy_device(job->strategy, r));
        assert_int_equal(gantry_tensor_read(result, got, count * sizeof *got), GANTRY_OK);
        if (memcmp(got, job->wanted, count * sizeof *got) == 0) continue;
        for (size_t i = 0; i < count; ++i) {
            if (memcmp(&job->wanted[i], &got[i], sizeof *got) != 0)
                fail_msg("replica %zu, element %zu: %.9g, not %.9g", r, i, (double)got[i],
                         (double)job->wanted[i]);
        }
    }
    free(got);
}

static void reduce_eagerly(job_t *job, gantry_runtime_t *runtime) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    (void)gantry_strategy_run(job->strategy, scope, make_value, job);
    (void)gantry_strategy_reduce(job->strategy, scope, job->op, job->values, job->results);
    check_results(job);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static void reduce_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    job_t *job = user;
    (void)gantry_strategy_reduce(job->strategy, scope, job->op, inputs, outputs);
}

static void reduce_in_function(job_t *job, gantry_runtime_t *runtime) {
    const size_t count = gantry_strategy_replica_count(job->strategy);
    gantry_input_spec_t specs[MOST_REPLICAS];
    gantry_function_t *function;
    for (size_t r = 0; r < count; ++r)
        specs[r] = (gantry_input_spec_t){NULL, GANTRY_FLOAT32, job->shape};
    if (gantry_function_trace(runtime, "reduce", reduce_body, job, specs, count, count, NULL,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int round = 0; round < ROUNDS; ++round) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        (void)gantry_strategy_run(job->strategy, scope, make_value, job);
        (void)gantry_function_call(scope, function, job->values, count, job->results, count);
        check_results(job);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    gantry_function_release(function);
}

/* Whole vectors, parts, and parts of several chunks, with sizes that divide badly. */
static void reduce_all_sizes(gantry_runtime_t *runtime, const char *const *devices, size_t count,
                             bool is_large) {
    const gantry_shape_t shapes[] = {GANTRY_SCALAR,          GANTRY_SHAPE(1),
                                     GANTRY_SHAPE(7, 11),    GANTRY_SHAPE(16385),
                                     GANTRY_SHAPE(3, 33331), GANTRY_SHAPE(3500001)};
    gantry_strategy_t *strategy = make_strategy(runtime, devices, count);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] - !is_large; ++i) {
        job_t job;
        job_init(&job, strategy, shapes[i], i % 2 ? GANTRY_REDUCE_MEAN : GANTRY_REDUCE_SUM);
        reduce_eagerly(&job, runtime);
        reduce_in_function(&job, runtime);
        job_deinit(&job);
    }
    gantry_strategy_release(strategy);
}

TEST(sums_over_virtual_cpus_have_the_bits_of_their_order) {
    for (size_t count = 1; count <= MOST_REPLICAS; ++count)
        reduce_all_sizes(fixture.runtime, cpus, count, count > 2);
}

TEST(sums_over_unlike_devices_have_these_bits_too) {
    static const char *const devices[] = {"CPU:1", "GPU:0", "CPU:0"};
    reduce_all_sizes(fixture.runtime, devices, 3, false);
    reduce_all_sizes(fixture.runtime, devices + 1, 2, false);
}

/* Two parts of PoCL's device, or of a card, and a CPU. */
TEST(sums_over_parts_of_a_gpu_have_these_bits_too) {
    static const char *const devices[] = {"GPU:0", "GPU:1", "CPU:0"};
    gantry_runtime_t *runtime = train_open_gpu();
    size_t count = 0;
    gantry_logical_device_config_t parts[2] = {{.memory_limit_bytes = UINT64_C(256) << 20},
                                               {.memory_limit_bytes = UINT64_C(256) << 20}};
    const gantry_physical_device_t *gpu;
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 1, &gpu, &count), GANTRY_OK);
    parts[0].struct_size = parts[1].struct_size = sizeof parts[0];
    if (gantry_set_logical_device_configuration(runtime, gpu, parts, 2) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    reduce_all_sizes(runtime, devices, 2, true);
    reduce_all_sizes(runtime, devices, 3, true);
    gantry_runtime_release(runtime);
}

/* ---- timing ---- */

typedef struct load_t {
    pthread_t thread;
    atomic_bool ends;
    unsigned state;
} load_t;

/* Takes a core for random times. */
static void *disturb(void *argument) {
    load_t *load = argument;
    while (!atomic_load(&load->ends)) {
        load->state = load->state * 1664525u + 1013904223u;
        for (volatile unsigned i = 0; i < (load->state >> 12) % 200000; ++i) continue;
        if (load->state & 1u << 20) (void)sched_yield();
    }
    return NULL;
}

TEST(bits_do_not_depend_on_timing) {
    load_t loads[2] = {{.state = 1}, {.state = 2}};
    for (int i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&loads[i].thread, NULL, disturb, &loads[i]), 0);
    gantry_strategy_t *strategy = make_strategy(fixture.runtime, cpus, 4);
    job_t job;
    job_init(&job, strategy, GANTRY_SHAPE(100003), GANTRY_REDUCE_SUM);
    for (int i = 0; i < 3; ++i) reduce_in_function(&job, fixture.runtime);
    job_deinit(&job);
    gantry_strategy_release(strategy);
    for (int i = 0; i < 2; ++i) {
        atomic_store(&loads[i].ends, true);
        (void)pthread_join(loads[i].thread, NULL);
    }
}

/* ---- what reduce and run refuse ---- */

static void expect_failed(gantry_scope_t *scope, gantry_status_t status, const char *text) {
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    if (!strstr(gantry_scope_message(scope), text))
        fail_msg("\"%s\" has no \"%s\"", gantry_scope_message(scope), text);
    gantry_scope_clear(scope);
}

TEST(bad_values_are_refused) {
    gantry_strategy_t *strategy = make_strategy(fixture.runtime, cpus, 2);
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const gantry_tensor_t *out[2],
        *same[] = {gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2)),
                   gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2))},
        *unlike[] = {same[0], gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3))},
        *none[] = {same[0], NULL},
        *integers[] = {gantry_ones(scope, GANTRY_INT32, GANTRY_SHAPE(2)),
                       gantry_ones(scope, GANTRY_INT32, GANTRY_SHAPE(2))};
#define REDUCE(op, values, out) gantry_strategy_reduce(strategy, scope, op, values, out)
    expect_failed(scope, REDUCE((gantry_reduce_op_t)7, same, out),
                  "`reduce_op` must be Reduce.SUM or Reduce.MEAN");
    expect_failed(scope, REDUCE(GANTRY_REDUCE_SUM, same, NULL), "destinations can not be empty");
    expect_failed(scope, REDUCE(GANTRY_REDUCE_SUM, unlike, out),
                  "the value of replica 1 is float32[3]; replica 0 has float32[2]");
    expect_failed(scope, REDUCE(GANTRY_REDUCE_SUM, none, out), "the value of replica 1 is NULL");
    expect_failed(scope, REDUCE(GANTRY_REDUCE_SUM, NULL, out), "the value of replica 0 is NULL");
    expect_failed(scope, REDUCE(GANTRY_REDUCE_MEAN, integers, out), "a mean of int32");
    assert_int_equal(REDUCE(GANTRY_REDUCE_SUM, integers, out), GANTRY_OK);
    expect_failed(scope, gantry_strategy_run(strategy, scope, NULL, NULL), "the function is NULL");
    expect_failed(scope, gantry_strategy_run(NULL, scope, make_value, NULL),
                  "the strategy is NULL");
    assert_int_equal(gantry_strategy_run(strategy, NULL, make_value, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_strategy_release(strategy);
}

static void fail_in_the_second(gantry_scope_t *scope, size_t replica, void *user) {
    ++*(int *)user;
    if (replica == 1) (void)gantry_scope_fail(scope, GANTRY_ABORTED, "the second one fails");
}

TEST(failing_replica_ends_the_run) {
    int calls = 0;
    gantry_strategy_t *strategy = make_strategy(fixture.runtime, cpus, 4);
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    assert_int_equal(gantry_strategy_run(strategy, scope, fail_in_the_second, &calls),
                     GANTRY_ABORTED);
    assert_int_equal(calls, 2);
    assert_string_equal(gantry_scope_message(scope), "the second one fails");
    (void)gantry_scope_end(scope);
    gantry_strategy_release(strategy);
}

/* ---- mirrored variables ---- */

static void expect_copies(gantry_mirrored_variable_t *variable, size_t replicas, float value) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    for (size_t r = 0; r < replicas; ++r) {
        float got[2];
        assert_int_equal(gantry_tensor_read(gantry_variable_read(
                                                scope, gantry_mirrored_variable_copy(variable, r)),
                                            got, sizeof got),
                         GANTRY_OK);
        assert_true(got[0] == value && got[1] == value);
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

TEST(mirrored_variables_aggregate) {
    static const float wanted[] = {6, 2, 1};
    gantry_strategy_t *strategy = make_strategy(fixture.runtime, cpus, 3);
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2)), *values[3];
    for (int r = 0; r < 3; ++r)
        values[r] = gantry_fill(scope, GANTRY_SHAPE(2), gantry_scalar_f32(scope, (float)r + 1));
    for (int i = 0; i < 3; ++i) {
        gantry_mirrored_variable_t *variable = gantry_mirrored_variable(
            strategy, scope, zeros, "w", (gantry_aggregation_t)(GANTRY_AGGREGATION_SUM + i));
        assert_non_null(variable);
        assert_string_equal(gantry_variable_name(gantry_mirrored_variable_copy(variable, 0)), "w");
        assert_string_equal(gantry_variable_name(gantry_mirrored_variable_copy(variable, 2)),
                            "w/replica_2");
        assert_string_equal(gantry_logical_device_full_name(
                                gantry_variable_device(gantry_mirrored_variable_copy(variable, 2))),
                            gantry_strategy_device(strategy, 2));
        assert_null(gantry_mirrored_variable_copy(variable, 3));
        expect_copies(variable, 3, 0);
        assert_int_equal(gantry_mirrored_variable_assign(variable, scope, values), GANTRY_OK);
        expect_copies(variable, 3, wanted[i]);
        gantry_mirrored_variable_release(variable);
    }
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_strategy_release(strategy);
}

TEST(aggregations_that_cannot_be_are_refused) {
    gantry_strategy_t *strategy = make_strategy(fixture.runtime, cpus, 2);
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    const gantry_tensor_t *integer = gantry_ones(scope, GANTRY_INT64, GANTRY_SHAPE(2)),
                          *values[] = {integer, integer};
    assert_null(gantry_mirrored_variable(strategy, scope, integer, "n", GANTRY_AGGREGATION_MEAN));
    expect_failed(scope, gantry_scope_status(scope),
                  "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype "
                  "is not supported, please use a different aggregation or dtype");
    assert_null(gantry_mirrored_variable(strategy, scope, integer, "n", (gantry_aggregation_t)9));
    expect_failed(scope, gantry_scope_status(scope), "aggregation is 9");
    assert_null(gantry_mirrored_variable(strategy, scope, NULL, "n", GANTRY_AGGREGATION_SUM));
    expect_failed(scope, gantry_scope_status(scope), "the initial value is NULL");
    gantry_mirrored_variable_t *none =
        gantry_mirrored_variable(strategy, scope, integer, NULL, GANTRY_AGGREGATION_NONE);
    assert_non_null(none);
    expect_failed(scope, gantry_mirrored_variable_assign(none, scope, values),
                  "You must specify an aggregation method to update a MirroredVariable in Replica "
                  "Context.");
    expect_failed(scope, gantry_mirrored_variable_assign(NULL, scope, values),
                  "the variable is NULL");
    gantry_mirrored_variable_release(none);
    gantry_mirrored_variable_release(NULL);
    assert_null(gantry_mirrored_variable_copy(NULL, 0));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_strategy_release(strategy);
}

/* ---- a loop of a program's own ---- */

typedef struct loop_t {
    const gantry_strategy_t *strategy;
    gantry_mirrored_variable_t *weight;
    const gantry_tensor_t *gradients[MOST_REPLICAS], *means[MOST_REPLICAS];
} loop_t;

/* d/dw of (w x - 3 x)^2, each replica with an x of its own. */
static void compute_gradient(gantry_scope_t *scope, size_t replica, void *user) {
    loop_t *loop = user;
    gantry_variable_t *own = gantry_mirrored_variable_copy(loop->weight, replica);
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    const gantry_tensor_t *x = gantry_scalar_f32(scope, (float)replica + 1), *gradient;
    const gantry_tensor_t *y = gantry_mul(scope, gantry_variable_read(scope, own), x);
    const gantry_tensor_t *loss =
        gantry_squared_difference(scope, y, gantry_scalar_f32(scope, 3 * ((float)replica + 1)));
    (void)gantry_tape_gradient(tape, loss, NULL, &(gantry_source_t){.variable = own}, 1, NULL,
                               &gradient);
    gantry_tape_end(tape);
    loop->gradients[replica] = gantry_scope_keep(scope, gradient);
}

static void descend(gantry_scope_t *scope, size_t replica, void *user) {
    const loop_t *loop = user;
    (void)gantry_variable_assign_sub(
        scope, gantry_mirrored_variable_copy(loop->weight, replica),
        gantry_mul(scope, loop->means[replica], gantry_scalar_f32(scope, 0.1f)));
}

static void loop_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    loop_t *loop = user;
    (void)inputs;
    (void)outputs;
    (void)gantry_strategy_run(loop->strategy, scope, compute_gradient, loop);
    (void)gantry_strategy_reduce(loop->strategy, scope, GANTRY_REDUCE_MEAN, loop->gradients,
                                 loop->means);
    (void)gantry_strategy_run(loop->strategy, scope, descend, loop);
}

TEST(own_loop_learns) {
    for (int is_traced = 0; is_traced < 2; ++is_traced) {
        gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
        loop_t loop = {.strategy = make_strategy(fixture.runtime, cpus, 2)};
        gantry_function_t *function = NULL;
        loop.weight = gantry_mirrored_variable(loop.strategy, scope, gantry_scalar_f32(scope, 0),
                                               "w", GANTRY_AGGREGATION_MEAN);
        assert_non_null(loop.weight);
        if (is_traced)
            assert_int_equal(gantry_function_trace(fixture.runtime, "loop", loop_body, &loop, NULL,
                                                   0, 0, NULL, &function),
                             GANTRY_OK);
        for (int i = 0; i < 50; ++i) {
            if (is_traced)
                (void)gantry_function_call(scope, function, NULL, 0, NULL, 0);
            else
                loop_body(scope, NULL, NULL, &loop);
        }
        for (size_t r = 0; r < 2; ++r) {
            float weight = 0;
            (void)gantry_tensor_read(
                gantry_variable_read(scope, gantry_mirrored_variable_copy(loop.weight, r)), &weight,
                sizeof weight);
            assert_true(fabsf(weight - 3) < 1e-4f);
        }
        gantry_function_release(function);
        gantry_mirrored_variable_release(loop.weight);
        gantry_strategy_t *strategy;
        memcpy(&strategy, &loop.strategy, sizeof strategy);
        gantry_strategy_release(strategy);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

/* ---- memory ---- */

static void use_all(void) {
    gantry_scope_t *scope = gantry_scope_begin(fixture.runtime, NULL);
    gantry_strategy_t *strategy = gantry_mirrored_strategy(fixture.runtime, cpus, 3);
    gantry_mirrored_variable_t *variable = gantry_mirrored_variable(
        strategy, scope, gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(50000)), "w",
        GANTRY_AGGREGATION_MEAN);
    const gantry_tensor_t *value = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(50000)),
                          *values[] = {value, value, value};
    (void)gantry_mirrored_variable_assign(variable, scope, values);
    gantry_mirrored_variable_release(variable);
    gantry_strategy_release(strategy);
    (void)gantry_scope_end(scope);
}

TEST(failing_allocations_leak_nothing) {
    use_all();
    const long count = train_heap_count();
    assert_true(count > 8);
    for (long i = 0; i < count; ++i) {
        train_heap_reset(i);
        use_all();
        if (train_heap_live() != 0) fail_msg("allocation %ld of %ld leaks", i, count);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
