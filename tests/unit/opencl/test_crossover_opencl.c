/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With crossover, functions on a real driver (PoCL as a GPU) run small ops on the CPU and
 * large ones there, by made-up records of the tuning file; explanation, record and log say so.
 *
 * Without good records they are placed as usual, and say why. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "json_reader.h"
#include "log_lines.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define PROCESSOR "launch_us=0.1 gbs=10 gflops=100"
#define CARD "launch_us=5 gbs=1000 gflops=10000 to_us=9 to_gbs=20 from_us=9 from_gbs=20"

enum { SMALL = 4, LARGE = 1000000 };

static log_lines_t lines;
static char path[] = "/tmp/gantry_crossover_XXXXXX";
static char setting[64];

static gantry_runtime_t *open_runtime(gantry_choice_t crossover) {
    const char *const extra[] = {setting, NULL};
    gantry_runtime_t *runtime;
    log_lines_init(&lines);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log = log_lines_write,
                                              .log_user = &lines,
                                              .log_placement = GANTRY_ON,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = "",
                                              .crossover = crossover,
                                              .extra = extra};
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* Of a type of devices; NULL values: the file has no record of it. */
static void put_record(gantry_runtime_t *runtime, const char *type, const char *values) {
    const gantry_physical_device_t *device;
    size_t count;
    assert_int_equal(gantry_list_physical_devices(runtime, type, 1, &device, &count), GANTRY_OK);
    assert_true(count > 0);
    if (values && gantry_put_tuning(runtime, device, "crossover", values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

/* A runtime reads the file once: another one writes it. */
static gantry_runtime_t *open_measured(const char *processor, const char *card) {
    assert_int_equal(truncate(path, 0), 0);
    gantry_runtime_t *runtime = open_runtime(GANTRY_OFF);
    put_record(runtime, "CPU", processor);
    put_record(runtime, "GPU", card);
    gantry_runtime_release(runtime);
    return open_runtime(GANTRY_ON);
}

static void adding(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    (void)gantry_scope_name_next(scope, "small");
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
    (void)gantry_scope_name_next(scope, "large");
    outputs[1] = gantry_add(scope, inputs[1], inputs[1]);
}

static gantry_function_t *call_adding(gantry_runtime_t *runtime, const char *device) {
    const gantry_input_spec_t inputs[2] = {{"x", GANTRY_FLOAT32, GANTRY_SHAPE(-1)},
                                           {"y", GANTRY_FLOAT32, GANTRY_SHAPE(-1)}};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "adding", adding, NULL, inputs, 2, 2, NULL, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *const given[2] = {
        gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SMALL)),
        gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(LARGE))};
    const gantry_tensor_t *results[2];
    float *values = malloc(LARGE * sizeof *values);
    assert_non_null(values);
    if (gantry_function_call(scope, function, given, 2, results, 2) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_read(results[0], values, SMALL * sizeof *values), GANTRY_OK);
    assert_true(values[0] > 1.5f && values[SMALL - 1] > 1.5f);
    assert_int_equal(gantry_tensor_read(results[1], values, LARGE * sizeof *values), GANTRY_OK);
    assert_true(values[0] > 1.5f && values[LARGE - 1] > 1.5f);
    free(values);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return function;
}

static void close_all(gantry_function_t *function, gantry_runtime_t *runtime) {
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

/* The newest record of an Add; 1: the one before. */
static gantry_placement_record_t record_of_add(gantry_runtime_t *runtime, int before) {
    static gantry_placement_record_t records[16];
    size_t count;
    records[0].struct_size = sizeof records[0];
    assert_int_equal(gantry_get_placements(runtime, 16, records, &count), GANTRY_OK);
    while (count > 0 && (strcmp(records[count - 1].op, "Add") != 0 || before-- > 0)) --count;
    assert_true(count > 0);
    return records[count - 1];
}

static void expect_explained(gantry_function_t *function, gantry_explain_form_t form,
                             const char *const *texts) {
    static char text[16384];
    assert_int_equal(gantry_function_explain(function, form, text, sizeof text, NULL), GANTRY_OK);
    if (form == GANTRY_EXPLAIN_JSON) assert_true(json_is_valid(text));
    for (; *texts; ++texts) {
        if (!strstr(text, *texts)) fail_msg("no \"%s\" in: %s", *texts, text);
    }
}

/* ---- tests ---- */

TEST(small_ops_run_on_the_cpu_and_large_ones_on_the_gpu) {
    static const char *const text[] = {
        "float32[4]        CPU:0   cheaper by measured cost: 0.10 us against 5.00 us on GPU:0\n",
        "float32[1000000]  GPU:0   cheaper by measured cost: 13.00 us against 800.10 us on CPU:0\n",
        NULL};
    static const char *const json[] = {
        "\"reason\":\"cheaper by measured cost\",\"with\":\"\",\"cost_ns\":103,\"other\":"
        "\"/job:localhost/replica:0/task:0/device:GPU:0\",\"other_cost_ns\":5000,",
        "\"why\":\"it costs more by measurement\"", NULL};
    gantry_runtime_t *runtime = open_measured(PROCESSOR, CARD);
    gantry_function_t *function = call_adding(runtime, NULL);
    expect_explained(function, GANTRY_EXPLAIN_TEXT, text);
    expect_explained(function, GANTRY_EXPLAIN_JSON, json);
    const gantry_placement_record_t small = record_of_add(runtime, 1),
                                    large = record_of_add(runtime, 0);
    assert_int_equal(small.reason, GANTRY_PLACED_CROSSOVER);
    assert_non_null(strstr(small.device, "CPU:0"));
    assert_int_equal(small.cost_ns, 103);
    assert_int_equal(small.other_cost_ns, 5000);
    assert_int_equal(small.refusal_count, 1);
    assert_non_null(strstr(small.refusals[0].device, "GPU:0"));
    assert_int_equal(small.refusals[0].why, GANTRY_REFUSED_COSTS_MORE);
    assert_int_equal(large.reason, GANTRY_PLACED_CROSSOVER);
    assert_non_null(strstr(large.device, "GPU:0"));
    assert_int_equal(large.cost_ns, 13000);
    assert_int_equal(large.other_cost_ns, 800100);
    assert_int_equal(
        log_lines_with(&lines, "small: (Add): /job:localhost/replica:0/task:0/device:CPU:0",
                       "(cheaper by measured cost: 0.10 us against 5.00 us on /device:GPU:0)"),
        1);
    assert_int_equal(log_lines_with(&lines, "Crossover", "no measurement"), 0);
    close_all(function, runtime);
}

TEST(a_request_wins_over_crossover) {
    gantry_runtime_t *runtime = open_measured(PROCESSOR, CARD);
    gantry_function_t *function = call_adding(runtime, "/GPU:0");
    const gantry_placement_record_t small = record_of_add(runtime, 1);
    assert_int_equal(small.reason, GANTRY_PLACED_EXPLICIT);
    assert_non_null(strstr(small.device, "GPU:0"));
    assert_int_equal(small.cost_ns, 0);
    close_all(function, runtime);
}

TEST(off_places_as_usual_and_reads_no_record) {
    gantry_runtime_release(open_measured(PROCESSOR, "speed=9"));
    gantry_runtime_t *runtime = open_runtime(GANTRY_OFF);
    gantry_function_t *function = call_adding(runtime, NULL);
    const gantry_placement_record_t small = record_of_add(runtime, 1);
    assert_int_equal(small.reason, GANTRY_PLACED_GPU_PREFERRED);
    assert_int_equal(small.refusal_count, 0);
    assert_int_equal(log_lines_with(&lines, "crossover is not used", ""), 0);
    close_all(function, runtime);
}

/* The record keeps its usual reason, and names the device that was not compared. */
static void expect_not_measured(gantry_runtime_t *runtime) {
    gantry_function_t *function = call_adding(runtime, NULL);
    const gantry_placement_record_t small = record_of_add(runtime, 1);
    assert_int_equal(small.reason, GANTRY_PLACED_GPU_PREFERRED);
    assert_non_null(strstr(small.device, "GPU:0"));
    assert_int_equal(small.refusal_count, 1);
    assert_non_null(strstr(small.refusals[0].device, "CPU:0"));
    assert_int_equal(small.refusals[0].why, GANTRY_REFUSED_NOT_MEASURED);
    const char *const text[] = {
        "not CPU:0: it or the chosen device has no measurement: gantry tune --what crossover\n",
        NULL};
    expect_explained(function, GANTRY_EXPLAIN_TEXT, text);
    close_all(function, runtime);
}

TEST(a_device_without_a_measurement_is_told) {
    gantry_runtime_t *runtime = open_measured(PROCESSOR, NULL);
    expect_not_measured(runtime);
    assert_int_equal(log_lines_with(&lines, "Crossover has no measurement of opencl:",
                                    "--what crossover` makes one"),
                     1);
    assert_int_equal(log_lines_with(&lines, "Crossover has no measurement of cpu:0", ""), 0);
    expect_not_measured(open_measured(NULL, CARD));
    assert_int_equal(log_lines_with(&lines, "Crossover has no measurement of cpu:0", ""), 1);
}

TEST(a_bad_record_is_refused_with_the_reason) {
    expect_not_measured(open_measured(PROCESSOR, "launch_us=5 gbs=1000"));
    assert_int_equal(
        log_lines_with(
            &lines, "Tuning file /tmp/gantry_crossover_",
            ", line 3: crossover is not used: launch_us=, gbs= and gflops= are required"),
        1);
}

static int make_file(void **state) {
    (void)state;
    strcpy(path, "/tmp/gantry_crossover_XXXXXX");
    const int file = mkstemp(path);
    (void)snprintf(setting, sizeof setting, "GANTRY_TUNING_FILE=%s", path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state) {
    char lock[80];
    (void)state;
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)unlink(lock);
    return unlink(path);
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main_with(make_file, remove_file, NULL, NULL);
}
