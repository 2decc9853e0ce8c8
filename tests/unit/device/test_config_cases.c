/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The cases of TensorFlow's config_test.py and config_vgpu_test.py hold row by row,
 * through the public calls.
 *
 * Every row is a case of those tests. "Gantry:" marks an intended difference; the test then checks
 * Gantry's behaviour.
 *
 * Rows that are not here:
 *   numbers of split logical devices, operations on them, numbering by ordinals:
 *     tested with the creation of logical devices
 *   an op with a CPU kernel only under /device:GPU:0; device policy with inputs elsewhere:
 *     test_eager.c, test_placer.c
 *   graph mode's default of soft placement; logical names after joining a cluster:
 *     Gantry has neither
 *   get_device_details of a logical device: another type in C, which the compiler refuses */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static const gantry_physical_device_t *device_of(const runtime_fixture_t *f, const char *type,
                                                 size_t index) {
    const gantry_physical_device_t *devices[8];
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(f->runtime, type, 8, devices, &count), GANTRY_OK);
    assert_true(index < count);
    return devices[index];
}

static gantry_status_t split(const runtime_fixture_t *f, const gantry_physical_device_t *device,
                             size_t count, uint64_t limit_bytes) {
    gantry_logical_device_config_t parts[4] = {{0}};
    for (size_t i = 0; i < count; ++i) parts[i].memory_limit_bytes = limit_bytes;
    return gantry_set_logical_device_configuration(f->runtime, device, parts, count);
}

static bool growth_of(const runtime_fixture_t *f, const gantry_physical_device_t *device) {
    bool enabled = false;
    assert_int_equal(gantry_get_memory_growth(f->runtime, device, &enabled), GANTRY_OK);
    return enabled;
}

static void initialise(const runtime_fixture_t *f) {
    assert_int_equal(gantry_runtime_initialize(f->runtime), GANTRY_OK);
}

/* CPU split into 2, init; then set 3 CPUs / set 2 again: "cannot be modified" / ok */
TEST(case_cpu_split_in_two) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const gantry_physical_device_t *cpu = device_of(&f, "CPU", 0);
    gantry_logical_device_config_t parts[4] = {{.struct_size = sizeof parts[0]}};
    size_t count = 9;
    assert_int_equal(gantry_get_logical_device_configuration(f.runtime, cpu, 4, parts, &count),
                     GANTRY_OK);
    assert_int_equal(count, 0);
    assert_int_equal(split(&f, cpu, 2, 0), GANTRY_OK);
    initialise(&f);
    expect_failure(
        split(&f, cpu, 3, 0), GANTRY_FAILED_PRECONDITION,
        "Virtual devices cannot be modified after being initialized (initialized by gantry_runtime_initialize)");
    assert_int_equal(split(&f, cpu, 2, 0), GANTRY_OK);
    assert_int_equal(gantry_get_logical_device_configuration(f.runtime, cpu, 4, parts, &count),
                     GANTRY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
    expect_failure(gantry_set_logical_cpu_devices(f.runtime, 3), GANTRY_FAILED_PRECONDITION,
                   "cannot modify again");
    expect_failure(gantry_get_logical_device_configuration(f.runtime, cpu, 4, NULL, &count),
                   GANTRY_INVALID_ARGUMENT, "NULL");
    expect_failure(gantry_get_logical_device_configuration(f.runtime, NULL, 4, parts, &count),
                   GANTRY_INVALID_ARGUMENT, "Unrecognized device");
    runtime_fixture_close(&f);
}

/* soft off; set_visible_devices(cpu); op on GPU:0: "Could not satisfy"; then
 * set_visible_devices(gpus) / cpu again: "cannot be modified" / ok */
TEST(case_visible_cpu_only) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const gantry_physical_device_t *cpu[] = {device_of(&f, "CPU", 0)},
                                   *gpus[] = {device_of(&f, "GPU", 0)};
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    assert_int_equal(gantry_set_visible_devices(f.runtime, cpu, 1, NULL), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "/device:GPU:0");
    assert_null(gantry_scalar_f32(scope, 1));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    expect_failure(gantry_set_visible_devices(f.runtime, gpus, 1, "GPU"),
                   GANTRY_FAILED_PRECONDITION,
                   "Visible devices cannot be modified after being initialized");
    assert_int_equal(gantry_set_visible_devices(f.runtime, cpu, 1, NULL), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* soft off, N GPUs; op on GPU:N: "Could not satisfy device specification" */
TEST(case_one_gpu_too_many) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "/device:GPU:2");
    assert_null(gantry_scalar_f32(scope, 1));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* last GPU split 10 MB + 10 MB; then 20+20, or three of 10 / 10+10 again: "cannot be modified" /
 * ok */
TEST(case_last_gpu_split) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    const gantry_physical_device_t *last = device_of(&f, "GPU", 1);
    assert_int_equal(split(&f, last, 2, 10 * MIB), GANTRY_OK);
    initialise(&f);
    expect_failure(split(&f, last, 2, 20 * MIB), GANTRY_FAILED_PRECONDITION, "cannot be modified");
    expect_failure(split(&f, last, 3, 10 * MIB), GANTRY_FAILED_PRECONDITION, "cannot be modified");
    assert_int_equal(split(&f, last, 2, 10 * MIB), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* growth True on all; init; growth False / True: "cannot be modified" / ok */
TEST(case_growth_on_all) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    for (size_t i = 0; i < 2; ++i)
        assert_int_equal(gantry_set_memory_growth(f.runtime, device_of(&f, "GPU", i), true),
                         GANTRY_OK);
    initialise(&f);
    expect_failure(gantry_set_memory_growth(f.runtime, device_of(&f, "GPU", 0), false),
                   GANTRY_FAILED_PRECONDITION,
                   "Physical devices cannot be modified after being initialized");
    assert_int_equal(gantry_set_memory_growth(f.runtime, device_of(&f, "GPU", 0), true), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* 2 GPUs: growth True on GPU 0 only; build config: "cannot differ". Gantry: it may differ; visible
 * = GPU 0 only / GPU 1 only / both: growth on / off / Gantry: each has its own */
TEST(case_growth_on_one_of_two) {
    for (int visible = 1; visible < 4; ++visible) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        const gantry_physical_device_t *gpus[2] = {device_of(&f, "GPU", 0),
                                                   device_of(&f, "GPU", 1)};
        assert_int_equal(gantry_set_memory_growth(f.runtime, gpus[0], true), GANTRY_OK);
        assert_int_equal(gantry_set_memory_growth(f.runtime, gpus[1], false), GANTRY_OK);
        size_t first = visible == 2 ? 1 : 0, count = visible == 3 ? 2 : 1;
        assert_int_equal(gantry_set_visible_devices(f.runtime, gpus + first, count, "GPU"),
                         GANTRY_OK);
        initialise(&f);
        const gantry_logical_device_t *device = NULL;
        assert_int_equal(gantry_find_logical_device(f.runtime, "GPU:0", &device), GANTRY_OK);
        assert_int_equal(growth_of(&f, gantry_logical_device_physical(device)), first == 0);
        runtime_fixture_close(&f);
    }
}

/* growth on all GPUs; virtual config without memory_limit: text has "memory limit"; virtual config
 * 10+10: ok, and growth is dropped. Gantry: growth stays; then set_memory_growth(same GPU):
 * "virtual devices". Gantry: allowed */
TEST(case_growth_and_split) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const gantry_physical_device_t *gpu = device_of(&f, "GPU", 0);
    assert_int_equal(gantry_set_memory_growth(f.runtime, gpu, true), GANTRY_OK);
    expect_failure(split(&f, gpu, 2, 0), GANTRY_INVALID_ARGUMENT, "memory limit");
    assert_int_equal(split(&f, gpu, 2, 10 * MIB), GANTRY_OK);
    assert_true(growth_of(&f, gpu));
    assert_int_equal(gantry_set_memory_growth(f.runtime, gpu, false), GANTRY_OK);
    assert_int_equal(gantry_set_memory_growth(f.runtime, gpu, true), GANTRY_OK);
    initialise(&f);
    assert_true(growth_of(&f, gpu));
    runtime_fixture_close(&f);
}

/* growth set twice before init: the last call wins */
TEST(case_growth_set_twice) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const gantry_physical_device_t *gpu = device_of(&f, "GPU", 0);
    assert_int_equal(gantry_set_memory_growth(f.runtime, gpu, true), GANTRY_OK);
    assert_int_equal(gantry_set_memory_growth(f.runtime, gpu, false), GANTRY_OK);
    assert_false(growth_of(&f, gpu));
    runtime_fixture_close(&f);
}

/* threads set twice before init: the last call wins; threads 10, init, then 1 / 10: error / ok */
TEST(case_threads) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.cpu_threads = options.inter_op_threads = 3;
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(gantry_get_inter_op_parallelism_threads(f.runtime), 3);
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, 5), GANTRY_OK);
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, -1), GANTRY_OK);
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, 10), GANTRY_OK);
    expect_failure(gantry_set_inter_op_parallelism_threads(f.runtime, 1025),
                   GANTRY_INVALID_ARGUMENT, "inter op threads is 1025; a negative number");
    assert_int_equal(gantry_get_inter_op_parallelism_threads(f.runtime), 10);
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 5), GANTRY_OK);
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 10), GANTRY_OK);
    assert_int_equal(gantry_get_intra_op_parallelism_threads(f.runtime), 10);
    initialise(&f);
    expect_failure(gantry_set_intra_op_parallelism_threads(f.runtime, 1),
                   GANTRY_FAILED_PRECONDITION,
                   "Intra op parallelism cannot be modified after initialization");
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 10), GANTRY_OK);
    expect_failure(gantry_set_inter_op_parallelism_threads(f.runtime, 1),
                   GANTRY_FAILED_PRECONDITION,
                   "Inter op parallelism cannot be modified after initialization (initialized by "
                   "gantry_runtime_initialize): it is 10 (0: one for each CPU device");
    assert_int_equal(gantry_set_inter_op_parallelism_threads(f.runtime, 10), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* soft placement default in eager: True; set_device_policy(None): back to silent */
TEST(case_defaults) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_true(gantry_get_soft_device_placement(f.runtime));
    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_EXPLICIT), GANTRY_OK);
    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_DEFAULT), GANTRY_OK);
    assert_int_equal(gantry_get_device_policy(f.runtime), GANTRY_POLICY_SILENT);
    runtime_fixture_close(&f);
}

/* get_device_details(CPU): {}. Gantry: a CPU has details, too; of a made-up PhysicalDevice: an
 * error */
TEST(case_details) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_device_details_t details = {.struct_size = sizeof details};
    assert_int_equal(gantry_get_device_details(f.runtime, device_of(&f, "CPU", 0), &details),
                     GANTRY_OK);
    assert_string_equal(details.name, "/physical_device:CPU:0");
    assert_true(details.total_bytes > 0);
    expect_failure(gantry_get_device_details(
                       f.runtime, (const gantry_physical_device_t *)(const void *)&f, &details),
                   GANTRY_INVALID_ARGUMENT, "Unrecognized device: ");
    runtime_fixture_close(&f);
}

/* TF1 config visible_device_list=str(gpu_count): "Invalid visible device index". Gantry: a wrong
 * index ends the list, as in CUDA, and is logged; the same on a machine without GPUs: ignored, no
 * error */
TEST(case_visible_list_option) {
    for (uint32_t gpus = 0; gpus < 2; ++gpus) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        fake->set_device_count(gpus);
        options.visible_devices = "1";
        runtime_fixture_open_with(&f, &options);
        const gantry_physical_device_t *visible[2];
        size_t count = 9;
        assert_int_equal(gantry_get_visible_devices(f.runtime, "GPU", 2, visible, &count),
                         GANTRY_OK);
        assert_int_equal(count, 0);
        if (gpus > 0) assert_int_equal(log_lines_with(&f.log, "option visible_devices", "1"), 1);
        runtime_fixture_close(&f);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
