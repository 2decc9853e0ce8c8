/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Virtual devices work through the public calls, on the CPU and on fake cards.
 *
 * Limits bind only their part, numbers stay separate, ops run on their part only, and a launch
 * beyond a smaller card's limits is refused. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "split_card.h"
#include "test.h"

#include "kernel/call.h"

#define MIB (UINT64_C(1) << 20)
#define PART(mib) \
    { .memory_limit_bytes = (mib)*MIB }

static gantry_runtime_options_t begin(runtime_fixture_t *f, uint32_t gpus) {
    fake->set_device_count(gpus);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.memory_limit_bytes = 0;
    return options;
}

static const gantry_physical_device_t *physical(runtime_fixture_t *f, const char *type,
                                                size_t number) {
    const gantry_physical_device_t *devices[8];
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(f->runtime, type, 8, devices, &count), GANTRY_OK);
    assert_in_range(number, 0, count - 1);
    return devices[number];
}

static void configure(runtime_fixture_t *f, const char *type, size_t number,
                      const gantry_logical_device_config_t *parts, size_t count) {
    if (gantry_set_logical_device_configuration(f->runtime, physical(f, type, number), parts,
                                                count) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

static size_t logical_count(runtime_fixture_t *f, const char *type) {
    size_t count = 0;
    assert_int_equal(gantry_list_logical_devices(f->runtime, type, 0, NULL, &count), GANTRY_OK);
    return count;
}

static gantry_memory_info_t info_of(runtime_fixture_t *f, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(f->runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info;
}

static void expect_sum_on(runtime_fixture_t *f, const char *device) {
    char name[32];
    (void)snprintf(name, sizeof name, "/device:%s", device);
    gantry_scope_t *scope = runtime_fixture_scope(f, device);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3), *sum = gantry_add(scope, x, x);
    expect_on(sum, name);
    EXPECT_F32(sum, 2, 4, 6);
    expect_ended_well(scope);
}

/* The guide's two halves of a card: n MiB of floats. */
static const gantry_tensor_t *take(gantry_scope_t *scope, uint64_t mib) {
    static float zeros[UINT64_C(8) << 18];
    int64_t count = (int64_t)(mib << 18);
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(count), zeros, (size_t)count * 4);
}

TEST(ops_run_on_every_part_and_on_no_other) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = begin(&f, 2);
    options.soft_placement = GANTRY_OFF;
    runtime_fixture_open_with(&f, &options);
    configure(&f, "GPU", 1, (gantry_logical_device_config_t[]){PART(10), PART(10)}, 2);
    assert_int_equal(logical_count(&f, "GPU"), 3);
    expect_sum_on(&f, "GPU:0");
    expect_sum_on(&f, "GPU:1");
    expect_sum_on(&f, "GPU:2");
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:3");
    const float values[] = {1, 2};
    const gantry_tensor_t *x = make_f32(scope, 2, values);
    assert_null(gantry_add(scope, x, x));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "");
    (void)gantry_scope_end(scope);
    gantry_scope_t *plain = runtime_fixture_scope(&f, NULL);
    x = make_f32(plain, 2, values);
    gantry_scope_t *wrong = runtime_fixture_scope(&f, "GPU:3");
    assert_null(gantry_add(wrong, x, x));
    expect_scope_failure(wrong, GANTRY_INVALID_ARGUMENT, "Could not satisfy device specification");
    (void)gantry_scope_end(wrong);
    expect_ended_well(plain);
    runtime_fixture_close(&f);
}

TEST(alias_of_a_split_card_places_on_its_first_part) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = begin(&f, 2);
    runtime_fixture_open_with(&f, &options);
    configure(&f, "GPU", 1, (gantry_logical_device_config_t[]){PART(10), PART(10)}, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "fake:1");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    expect_on(gantry_add(scope, x, x), "/device:GPU:1");
    expect_ended_well(scope);
    const gantry_logical_device_t *device;
    expect_failure(
        gantry_find_logical_device(f.runtime, "fake:1", &device), GANTRY_INVALID_ARGUMENT,
        "Multiple devices match the provided string 'fake:1': '/device:GPU:1' and '/device:GPU:2'.");
    runtime_fixture_close(&f);
}

TEST(limits_bind_each_part_alone) {
    static const char *const types[] = {"GPU", "CPU"};
    for (int t = 0; t < 2; ++t) {
        runtime_fixture_t f;
        char first[8], second[8], wanted[48];
        gantry_runtime_options_t options = begin(&f, 1);
        options.soft_placement = GANTRY_OFF;
        runtime_fixture_open_with(&f, &options);
        configure(&f, types[t], 0, (gantry_logical_device_config_t[]){PART(8), PART(16)}, 2);
        (void)snprintf(first, sizeof first, "%s:0", types[t]);
        (void)snprintf(second, sizeof second, "%s:1", types[t]);
        gantry_scope_t *a = runtime_fixture_scope(&f, first),
                       *b = runtime_fixture_scope(&f, second);
        assert_non_null(take(a, 5));
        assert_non_null(take(b, 5));
        assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
        assert_null(take(a, 4)); /* more than its own limit */
        (void)snprintf(wanted, sizeof wanted, "by allocator %s_0_bfc", types[t]);
        expect_scope_failure(a, GANTRY_RESOURCE_EXHAUSTED, wanted);
        assert_non_null(take(b, 4)); /* the other part has room */
        gantry_memory_info_t one = info_of(&f, first), two = info_of(&f, second);
        assert_int_equal(one.limit_bytes, 8 * MIB);
        assert_int_equal(two.limit_bytes, 16 * MIB);
        assert_int_equal(one.requested_bytes, 5 * MIB);
        assert_int_equal(two.requested_bytes, 9 * MIB);
        assert_true(one.pool_bytes + one.staging_bytes <= one.limit_bytes);
        assert_true(two.pool_bytes + two.staging_bytes <= two.limit_bytes);
        assert_int_equal(one.allocation_count, 1);
        assert_int_equal(two.allocation_count, 2);
        assert_int_equal(gantry_reset_memory_stats(f.runtime, first), GANTRY_OK);
        assert_int_equal(info_of(&f, first).allocation_count, 0);
        assert_int_equal(info_of(&f, second).allocation_count, 2);
        (void)gantry_scope_end(a);
        expect_ended_well(b);
        runtime_fixture_close(&f);
    }
}

TEST(tensors_pass_between_parts_without_the_host) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = begin(&f, 1);
    runtime_fixture_open_with(&f, &options);
    configure(&f, "GPU", 0, (gantry_logical_device_config_t[]){PART(8), PART(8)}, 2);
    gantry_scope_t *a = runtime_fixture_scope(&f, "GPU:0"), *b = runtime_fixture_scope(&f, "GPU:1");
    const gantry_tensor_t *x = F32(a, 1, 2, 3), *y = gantry_add(a, x, x);
    expect_on(y, "/device:GPU:0");
    uint64_t before = fake->calls("to_host") + fake->calls("to_device");
    const gantry_tensor_t *z = gantry_add(b, y, y);
    expect_on(z, "/device:GPU:1");
    assert_int_equal(fake->calls("to_host") + fake->calls("to_device"), before);
    assert_true(fake->calls("copy") >= 1);
    EXPECT_F32(z, 4, 8, 12);
    expect_ended_well(a);
    expect_ended_well(b);
    runtime_fixture_close(&f);
}

TEST(cpu_is_split_and_a_missing_part_falls_to_the_first) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = begin(&f, 1);
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 2), GANTRY_OK);
    assert_int_equal(logical_count(&f, "CPU"), 2);
    expect_sum_on(&f, "CPU:0");
    expect_sum_on(&f, "CPU:1");
    assert_true(info_of(&f, "CPU:0").limit_bytes == info_of(&f, "CPU:1").limit_bytes);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:2");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    expect_on(gantry_add(scope, x, x), "/device:CPU:0");
    gantry_placement_record_t record = last_placement(&f);
    assert_int_equal(record.reason, GANTRY_PLACED_SOFT_SAME_TYPE);
    expect_ended_well(scope);
    gantry_scope_t *a = runtime_fixture_scope(&f, "CPU:0"), *b = runtime_fixture_scope(&f, "CPU:1");
    const gantry_tensor_t *big = take(a, 1), *sum = gantry_add(b, big, big);
    expect_on(sum, "/device:CPU:1");
    /* its copy of the input was freed with the op */
    assert_int_equal(info_of(&f, "CPU:1").requested_bytes, MIB);
    expect_ended_well(a);
    expect_ended_well(b);
    runtime_fixture_close(&f);
}

TEST(too_many_parts_are_refused) {
    static gantry_logical_device_config_t parts[100];
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < 100; ++i) parts[i].memory_limit_bytes = MIB;
    assert_int_equal(
        gantry_set_logical_device_configuration(f.runtime, physical(&f, "GPU", 0), parts, 100),
        GANTRY_INVALID_ARGUMENT);
    runtime_fixture_close(&f);
}

/* ---- a smaller card ---- */

#define IMITATING \
    { .max_work_group_size = 64, .local_memory_bytes = 4096 }

typedef struct launcher_t {
    device_fixture_t f;
    gantry__binary_store_t store;
    gantry__program_counters_t counters;
    gantry__program_cache_t programs;
    gantry_logical_device_t *device;
    gantry__call_t call;
} launcher_t;

static const char *const text[] = {"kernel plain\nkernel tile local=3000\n"};
static const gantry_program_source_t source = {.struct_size = sizeof source,
                                               .kinds = GANTRY_FAKE_PROGRAMS,
                                               .label = "test/launch",
                                               .parts = text,
                                               .part_count = 1};

static void open_launcher(launcher_t *l, const char *name) {
    gantry_fake_device_t settings;
    fake->get_device(0, &settings);
    settings.program_kinds = GANTRY_FAKE_PROGRAMS;
    fake->set_device(0, &settings);
    device_fixture_open(&l->f, NULL, NULL);
    SPLIT(&l->f.table, "fake:0", IMITATING, {.memory_limit_bytes = MIB});
    assert_int_equal(gantry__device_table_freeze(&l->f.table, "this test"), GANTRY_OK);
    l->device = device_fixture_find(&l->f, name, NULL);
    assert_int_equal(gantry__logical_device_open(l->device), GANTRY_OK);
    memset(&l->store, 0, sizeof l->store);
    memset(&l->counters, 0, sizeof l->counters);
    assert_int_equal(gantry__program_cache_init(&l->programs, &l->f.heap.heap, &l->f.log.log,
                                                &l->store, &l->counters, l->device->backend,
                                                l->device->handle, &l->device->physical->info),
                     GANTRY_OK);
    memset(&l->call, 0, sizeof l->call);
    gantry__call_init(&l->call, l->device, &l->programs, 1);
    l->call.abi.op = "Test";
}

static void close_launcher(launcher_t *l) {
    gantry__point_t point;
    assert_null(gantry__call_finish(&l->call, &point));
    assert_int_equal(gantry__logical_device_synchronize(l->device), GANTRY_OK);
    gantry__program_cache_deinit(&l->programs);
    device_fixture_close(&l->f);
}

static int32_t launch(launcher_t *l, const char *name, uint64_t x, uint64_t y,
                      uint32_t local_bytes) {
    gantry_backend_kernel_t *kernel;
    gantry_op_call_t *abi = &l->call.abi;
    assert_int_equal(abi->services->kernel(abi, &source, "", name, &kernel), GANTRY_OK);
    gantry_launch_arg_t local = {.kind = GANTRY_LAUNCH_LOCAL, .size_bytes = local_bytes};
    gantry_launch_t what = {.struct_size = sizeof what,
                            .dimensions = 2,
                            .global_size = {1024, 1024, 1},
                            .local_size = {x, y, 7}, /* the third size is ignored */
                            .args = &local,
                            .arg_count = local_bytes > 0};
    return abi->services->launch(abi, kernel, &what);
}

TEST(launch_that_a_smaller_card_could_not_run_is_refused) {
    launcher_t l;
    open_launcher(&l, "GPU:0");
    assert_int_equal(l.call.abi.device_info->max_work_group_size, 64);
    assert_int_equal(launch(&l, "plain", 8, 8, 0), GANTRY_OK);
    assert_int_equal(launch(&l, "plain", 0, 0, 0), GANTRY_OK); /* the driver chooses */
    assert_int_equal(launch(&l, "plain", 8, 8, 4096), GANTRY_OK);
    assert_int_equal(launch(&l, "tile", 8, 8, 1096), GANTRY_OK);
    uint64_t before = fake->calls("launch");
    expect_failure(
        launch(&l, "plain", 16, 8, 0), GANTRY_RESOURCE_EXHAUSTED,
        "op Test on /device:GPU:0: kernel plain of test/launch needs a work-group of 128 work-items; the limit that this logical device imitates is 64 (the card's own is 256)");
    expect_failure(
        launch(&l, "plain", 8, 8, 4100), GANTRY_RESOURCE_EXHAUSTED,
        "needs 4100 bytes of local memory (0 declared, 4100 as arguments); the limit that this logical device imitates is 4096 (the card's own is 32768)");
    expect_failure(launch(&l, "tile", 8, 8, 1100), GANTRY_RESOURCE_EXHAUSTED,
                   "(3000 declared, 1100 as arguments)");
    assert_int_equal(fake->calls("launch"), before);
    close_launcher(&l);
}

TEST(part_that_imitates_nothing_asks_nothing) {
    launcher_t l;
    open_launcher(&l, "GPU:1");
    assert_int_equal(launch(&l, "plain", 16, 16, 8192), GANTRY_OK);
    assert_int_equal(launch(&l, "tile", 16, 16, 8192), GANTRY_OK);
    assert_int_equal(fake->calls("kernel_info"), 0);
    close_launcher(&l);
}

/* ---- initialisation ---- */

typedef struct starter_t {
    pthread_t thread;
    gantry_runtime_t *runtime;
    gantry_status_t status;
} starter_t;

static void *start(void *user) {
    starter_t *self = user;
    self->status = gantry_runtime_initialize(self->runtime);
    return NULL;
}

TEST(many_threads_initialise_once) {
    for (int round = 0; round < 20; ++round) {
        runtime_fixture_t f;
        starter_t starters[4];
        gantry_runtime_options_t options = begin(&f, 2);
        runtime_fixture_open_with(&f, &options);
        assert_int_equal(gantry_set_logical_cpu_devices(f.runtime, 3), GANTRY_OK);
        for (int i = 0; i < 4; ++i) {
            starters[i] = (starter_t){.runtime = f.runtime};
            assert_int_equal(pthread_create(&starters[i].thread, NULL, start, &starters[i]), 0);
        }
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(pthread_join(starters[i].thread, NULL), 0);
            assert_int_equal(starters[i].status, GANTRY_OK);
        }
        expect_sum_on(&f, "CPU:2");
        runtime_fixture_close(&f);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
