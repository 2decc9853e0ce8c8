/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Calls win over options and options over the environment, and several runtimes with
 * settings of their own live in one process.
 * Promise: Every call on a released runtime is refused with FailedPrecondition while objects of it
 * live. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime_fixture.h"
#include "test.h"

static size_t count_entries(const char *folder) {
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    size_t count = 0;
    while (readdir(opened)) ++count;
    (void)closedir(opened);
    return count;
}

static gantry_status_t try_create(runtime_fixture_t *f, const gantry_runtime_options_t *options) {
    gantry_status_t status = gantry_runtime_create(options, &f->runtime);
    if (status != GANTRY_OK) {
        assert_null(f->runtime);
        assert_int_equal(f->heap.inner.live_blocks, 0);
    }
    return status;
}

/* ---- options ---- */

TEST(options_of_another_version_are_understood_or_refused) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    static const uint32_t wrong[] = {0, 3, sizeof options + 1, UINT32_MAX};
    for (size_t i = 0; i < 4; ++i) {
        options.struct_size = wrong[i];
        expect_failure(try_create(&f, &options), GANTRY_INVALID_ARGUMENT,
                       "runtime options: struct_size is");
    }
    options.struct_size =
        /* an older program's options: the rest is not read */
        offsetof(gantry_runtime_options_t, soft_placement);
    options.soft_placement = (gantry_choice_t)77;
    options.kernel_cache = (const char *)&options;
    (void)setenv("GANTRY_KERNEL_CACHE", "", 1);
    runtime_fixture_open_with(&f, &options);
    assert_true(gantry_get_soft_device_placement(f.runtime));
    runtime_fixture_close(&f);
    expect_failure(gantry_runtime_create(NULL, NULL), GANTRY_INVALID_ARGUMENT,
                   "out_runtime is NULL");
}

TEST(choices_out_of_range_are_refused) {
    runtime_fixture_t f;
    gantry_runtime_options_t good = runtime_fixture_options(&f), bad = good;
#define EXPECT_BAD(field, type, value) \
    bad = good;                        \
    bad.field = (type)(value);         \
    expect_failure(try_create(&f, &bad), GANTRY_INVALID_ARGUMENT, #field " is " #value)
    EXPECT_BAD(log_level, gantry_log_level_t, 5);
    EXPECT_BAD(soft_placement, gantry_choice_t, 3);
    EXPECT_BAD(log_placement, gantry_choice_t, 9);
    EXPECT_BAD(opencl_cpu_as_gpu, gantry_choice_t, 3);
    EXPECT_BAD(memory_growth, gantry_choice_t, 4);
    EXPECT_BAD(placement_mode, gantry_placement_mode_t, 4);
    EXPECT_BAD(device_policy, gantry_device_policy_t, 5);
    EXPECT_BAD(cpu_threads, int32_t, -1);
    bad = good;
    bad.inter_op_threads = 1025;
    expect_failure(
        try_create(&f, &bad), GANTRY_INVALID_ARGUMENT,
        "option inter_op_threads is \"1025\"; a number of threads between ops from 0 to 1024, or -2147483648 to -1, is accepted");
    static const char *const extra[] = {"NO_EQUALS_SIGN", NULL};
    bad = good;
    bad.extra = extra;
    expect_failure(try_create(&f, &bad), GANTRY_INVALID_ARGUMENT,
                   "extra option \"NO_EQUALS_SIGN\"");
}

TEST(plain_defaults_need_no_options) {
    (void)setenv("GANTRY_BACKENDS", "cpu", 1);
    (void)setenv("GANTRY_KERNEL_CACHE", "", 1);
    gantry_runtime_t *runtime;
    assert_int_equal(gantry_runtime_create(NULL, &runtime), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    EXPECT_F32(gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2)), 3);
    expect_ended_well(scope);
    gantry_runtime_release(runtime);
    gantry_runtime_release(NULL);
}

/* ---- precedence: call > option > environment > default ---- */

/* A setting's effect, seen from outside, as a number. */
typedef long (*probe_t)(runtime_fixture_t *f);

static long probe_soft(runtime_fixture_t *f) {
    return gantry_get_soft_device_placement(f->runtime);
}

static long probe_policy(runtime_fixture_t *f) {
    return (long)gantry_get_device_policy(f->runtime);
}

static long probe_threads(runtime_fixture_t *f) {
    return gantry_get_intra_op_parallelism_threads(f->runtime);
}

static long probe_log_placement(runtime_fixture_t *f) {
    gantry_scope_t *scope = runtime_fixture_scope(f, "GPU:0");
    f->log.count = 0;
    (void)gantry_scalar_f32(scope, 1);
    expect_ended_well(scope);
    const long logged = log_lines_with(
        &f->log, "Executing op _EagerConst in device /job:localhost/replica:0/task:0/device:GPU:0",
        "");
    assert_int_equal(gantry_get_log_device_placement(f->runtime), logged);
    return logged;
}

/* 1 prefer, 2 warn once, 3 require: shown by an op without a GPU kernel. */
static long probe_mode(runtime_fixture_t *f) {
    gantry_scope_t *scope = runtime_fixture_scope(f, "CPU:0");
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 1);
    gantry_scope_t *free_scope = runtime_fixture_scope(f, NULL);
    f->log.count = 0;
    bool refused = !gantry_exp(free_scope, x);
    long mode = refused                                                            ? 3
                : log_lines_with(&f->log, "Op Exp runs on", "no GPU has a kernel") ? 2
                                                                                   : 1;
    (void)gantry_scope_end(free_scope);
    expect_ended_well(scope);
    if (mode > 1) assert_int_equal(gantry_get_placement_mode(f->runtime), mode);
    return mode;
}

static const gantry_physical_device_t *first_gpu(runtime_fixture_t *f) {
    const gantry_physical_device_t *device = NULL;
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(f->runtime, "GPU", 1, &device, &count),
                     GANTRY_OK);
    assert_true(count > 0);
    return device;
}

static long probe_growth(runtime_fixture_t *f) {
    bool enabled = false;
    assert_int_equal(gantry_get_memory_growth(f->runtime, first_gpu(f), &enabled), GANTRY_OK);
    return enabled;
}

static long probe_limit(runtime_fixture_t *f) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f->runtime, "GPU:0", &info), GANTRY_OK);
    return (long)(info.limit_bytes >> 20);
}

static long probe_gpus(runtime_fixture_t *f) {
    size_t count = 0;
    assert_int_equal(gantry_list_logical_devices(f->runtime, "GPU", 0, NULL, &count), GANTRY_OK);
    return (long)count;
}

static long lowest_level(const log_lines_t *log, long lowest) {
    for (int i = 0; i < log->count && i < LOG_LINES; ++i) {
        if ((long)log->levels[i] < lowest) lowest = (long)log->levels[i];
    }
    return lowest;
}

/* Creating the runtime and its devices logs information, and this mode a warning. */
static long probe_log_level(runtime_fixture_t *f) {
    assert_int_equal(gantry_set_placement_mode(f->runtime, GANTRY_PLACEMENT_WARN_ONCE), GANTRY_OK);
    assert_int_equal(gantry_runtime_initialize(f->runtime), GANTRY_OK);
    long lowest = lowest_level(&f->log, GANTRY_LEVEL_ERROR + 1);
    (void)probe_mode(f);
    return lowest_level(&f->log, lowest);
}

static long probe_between(runtime_fixture_t *f) {
    return gantry_get_inter_op_parallelism_threads(f->runtime);
}

static gantry_status_t call_soft_off(runtime_fixture_t *f) {
    return gantry_set_soft_device_placement(f->runtime, false);
}
static gantry_status_t call_log_on(runtime_fixture_t *f) {
    return gantry_set_log_device_placement(f->runtime, true);
}
static gantry_status_t call_policy(runtime_fixture_t *f) {
    return gantry_set_device_policy(f->runtime, GANTRY_POLICY_SILENT_FOR_INT32);
}
static gantry_status_t call_mode(runtime_fixture_t *f) {
    return gantry_set_placement_mode(f->runtime, GANTRY_PLACEMENT_REQUIRE);
}
static gantry_status_t call_growth(runtime_fixture_t *f) {
    return gantry_set_memory_growth(f->runtime, first_gpu(f), false);
}
static gantry_status_t call_limit(runtime_fixture_t *f) {
    return gantry_set_memory_limit(f->runtime, first_gpu(f), 7 << 20);
}
static gantry_status_t call_between(runtime_fixture_t *f) {
    return gantry_set_inter_op_parallelism_threads(f->runtime, 4);
}
static gantry_status_t call_no_gpus(runtime_fixture_t *f) {
    return gantry_set_visible_devices(f->runtime, NULL, 0, "GPU");
}

static void option_soft_on(gantry_runtime_options_t *o) { o->soft_placement = GANTRY_ON; }
static void option_log_off(gantry_runtime_options_t *o) { o->log_placement = GANTRY_OFF; }
static void option_policy(gantry_runtime_options_t *o) { o->device_policy = GANTRY_POLICY_WARN; }
static void option_mode(gantry_runtime_options_t *o) {
    o->placement_mode = GANTRY_PLACEMENT_WARN_ONCE;
}
static void option_growth(gantry_runtime_options_t *o) { o->memory_growth = GANTRY_ON; }
static void option_limit(gantry_runtime_options_t *o) { o->memory_limit_bytes = 6 << 20; }
static void option_visible(gantry_runtime_options_t *o) { o->visible_devices = "0,1"; }
static void option_threads(gantry_runtime_options_t *o) { o->cpu_threads = 3; }
static void option_between(gantry_runtime_options_t *o) { o->inter_op_threads = -3; }
static void option_level(gantry_runtime_options_t *o) { o->log_level = GANTRY_LEVEL_WARNING; }
static void option_extra(gantry_runtime_options_t *o) {
    static const char *const extra[] = {"GANTRY_DEVICE_POLICY=warn", NULL};
    o->extra = extra;
}

static const struct setting_t {
    const char *name; /* the variable's value */
    const char *value;
    probe_t probe;
    long default_, environment, option, call;
    void (*set_option)(gantry_runtime_options_t *options);
    gantry_status_t (*set_call)(runtime_fixture_t *f); /* NULL: frozen at creation */
} settings_table[] = {
    {"GANTRY_SOFT_PLACEMENT", "off", probe_soft, 1, 0, 1, 0, option_soft_on, call_soft_off},
    {"GANTRY_LOG_PLACEMENT", "1", probe_log_placement, 0, 1, 0, 1, option_log_off, call_log_on},
    {"GANTRY_DEVICE_POLICY", "explicit", probe_policy, GANTRY_POLICY_SILENT, GANTRY_POLICY_EXPLICIT,
     GANTRY_POLICY_WARN, GANTRY_POLICY_SILENT_FOR_INT32, option_policy, call_policy},
    {"GANTRY_DEVICE_POLICY", "explicit", probe_policy, GANTRY_POLICY_SILENT, GANTRY_POLICY_EXPLICIT,
     GANTRY_POLICY_WARN, GANTRY_POLICY_SILENT_FOR_INT32, option_extra, call_policy},
    {"GANTRY_PLACEMENT", "require", probe_mode, 1, 3, 2, 3, option_mode, call_mode},
    {"GANTRY_MEMORY_GROWTH", "0", probe_growth, 1, 0, 1, 0, option_growth, call_growth},
    {"TF_FORCE_GPU_ALLOW_GROWTH", "false", probe_growth, 1, 0, 1, 0, option_growth, call_growth},
    {"GANTRY_MEMORY_LIMIT", "5M", probe_limit, 64, 5, 6, 7, option_limit, call_limit},
    {"GANTRY_VISIBLE_DEVICES", "1", probe_gpus, 3, 1, 2, 0, option_visible, call_no_gpus},
    {"GANTRY_CPU_THREADS", "1", probe_threads, 0, 1, 3, 0, option_threads, NULL},
    {"GANTRY_INTER_OP_THREADS", "-1", probe_between, 0, -1, -3, 4, option_between, call_between},
    {"GANTRY_LOG_LEVEL", "error", probe_log_level, GANTRY_LEVEL_INFO, GANTRY_LEVEL_ERROR + 1,
     GANTRY_LEVEL_WARNING, 0, option_level, NULL},
};

static void expect_setting(const struct setting_t *setting, bool environment, bool option,
                           bool call, long expected) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    fake->set_device_count(3);
    options.cpu_threads = 0;
    options.log_level = GANTRY_LEVEL_DEFAULT;
    if (environment) (void)setenv(setting->name, setting->value, 1);
    if (option) setting->set_option(&options);
    runtime_fixture_open_with(&f, &options);
    (void)unsetenv(setting->name); /* read at creation */
    if (call && setting->set_call(&f) != GANTRY_OK)
        fail_msg("%s: %s", setting->name, gantry_last_message());
    long got = setting->probe(&f);
    if (got != expected)
        fail_msg("%s: %ld, not %ld (environment %d, option %d, call %d)", setting->name, got,
                 expected, environment, option, call);
    runtime_fixture_close(&f);
}

TEST(every_setting_follows_one_precedence) {
    for (size_t i = 0; i < sizeof settings_table / sizeof settings_table[0]; ++i) {
        const struct setting_t *setting = &settings_table[i];
        expect_setting(setting, false, false, false, setting->default_);
        expect_setting(setting, true, false, false, setting->environment);
        expect_setting(setting, true, true, false, setting->option);
        expect_setting(setting, false, true, false, setting->option);
        if (!setting->set_call) continue;
        expect_setting(setting, true, true, true, setting->call);
        expect_setting(setting, false, false, true, setting->call);
    }
}

TEST(bad_values_in_the_environment_are_named) {
    static const struct {
        const char *name, *value;
    } cases[] = {{"GANTRY_SOFT_PLACEMENT", "maybe"},
                 {"GANTRY_LOG_PLACEMENT", "2"},
                 {"GANTRY_DEVICE_POLICY", "quiet"},
                 {"GANTRY_PLACEMENT", "insist"},
                 {"GANTRY_LOG_LEVEL", "loud"},
                 {"GANTRY_MEMORY_GROWTH", "some"},
                 {"GANTRY_MEMORY_LIMIT", "12Q"},
                 {"GANTRY_MEMORY_LIMIT", "-1"},
                 {"GANTRY_OPENCL_CPU", "cpu"},
                 {"GANTRY_CPU_THREADS", "many"},
                 {"GANTRY_CPU_THREADS", "-2"},
                 {"GANTRY_INTER_OP_THREADS", "many"},
                 {"GANTRY_INTER_OP_THREADS", "1025"},
                 {"GANTRY_INTER_OP_THREADS", "-"},
                 {"GANTRY_INTER_OP_THREADS", "-2147483649"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        options.cpu_threads = 0;
        options.log_level = GANTRY_LEVEL_DEFAULT;
        (void)setenv(cases[i].name, cases[i].value, 1);
        gantry_status_t status = try_create(&f, &options);
        if (status != GANTRY_INVALID_ARGUMENT)
            fail_msg("%s=%s: status %d", cases[i].name, cases[i].value, (int)status);
        if (!strstr(gantry_last_message(), cases[i].name) ||
            !strstr(gantry_last_message(), cases[i].value)) {
            fail_msg("%s=%s: %s", cases[i].name, cases[i].value, gantry_last_message());
        }
        (void)unsetenv(cases[i].name);
    }
}

TEST(backends_are_chosen_by_option_over_environment) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    (void)setenv("GANTRY_BACKENDS", "cpu", 1);
    options.backends = NULL;
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(probe_gpus(&f), 0);
    bool told = false;
    for (size_t i = 0; i < gantry_backend_status_count(f.runtime); ++i) {
        gantry_backend_status_t backend = {.struct_size = sizeof backend};
        assert_int_equal(gantry_backend_status(f.runtime, i, &backend), GANTRY_OK);
        if (strcmp(backend.name, "fake") != 0) continue;
        told = true;
        assert_int_equal(backend.state, GANTRY_BACKEND_REFUSED);
        assert_true(strlen(backend.reason) > 0);
    }
    assert_true(told);
    runtime_fixture_close(&f);
    options = runtime_fixture_options(&f);
    options.backend_path = NULL;
    (void)setenv("GANTRY_BACKEND_PATH", FAKE_FOLDER("fake"), 1);
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(probe_gpus(&f), 1);
    runtime_fixture_close(&f);
}

/* ---- changeable and frozen settings ---- */

TEST(frozen_settings_tell_who_froze_them) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 1);
    /* an equal value is accepted */
    assert_int_equal(gantry_set_memory_growth(f.runtime, first_gpu(&f), true), GANTRY_OK);
    expect_failure(
        gantry_set_memory_growth(f.runtime, first_gpu(&f), false), GANTRY_FAILED_PRECONDITION,
        "Physical devices cannot be modified after being initialized (initialized by Const)");
    expect_failure(gantry_set_visible_devices(f.runtime, NULL, 0, "GPU"),
                   GANTRY_FAILED_PRECONDITION, "Visible devices cannot be modified");
    gantry_logical_device_config_t configs[2] = {{.memory_limit_bytes = 1 << 20},
                                                 {.memory_limit_bytes = 1 << 20}};
    expect_failure(gantry_set_logical_device_configuration(f.runtime, first_gpu(&f), configs, 2),
                   GANTRY_FAILED_PRECONDITION,
                   "Virtual devices cannot be modified after being initialized");
    assert_int_equal(gantry_set_intra_op_parallelism_threads(f.runtime, 2), GANTRY_OK);
    expect_failure(gantry_set_intra_op_parallelism_threads(f.runtime, 5),
                   GANTRY_FAILED_PRECONDITION,
                   "Intra op parallelism cannot be modified after initialization");
    expect_failure(gantry_set_intra_op_parallelism_threads(f.runtime, -5), GANTRY_INVALID_ARGUMENT,
                   "-5");
    expect_failure(gantry_set_placement_mode(f.runtime, (gantry_placement_mode_t)7),
                   GANTRY_INVALID_ARGUMENT, "placement mode is 7");
    EXPECT_F32(x, 1);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(creating_takes_no_device_memory_and_no_context) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    assert_int_equal(fake->live(GANTRY_FAKE_INSTANCE), 1);
    assert_int_equal(fake->live(GANTRY_FAKE_DEVICE), 0);
    assert_int_equal(probe_gpus(&f), 2); /* initialises */
    assert_int_equal(fake->live(GANTRY_FAKE_DEVICE), 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:1");
    (void)gantry_scalar_f32(scope, 1);
    assert_int_equal(fake->live(GANTRY_FAKE_DEVICE), 1); /* only the runtime in use */
    assert_int_equal(fake->live_bytes(0), 0);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(answers_carry_the_callers_size) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_backend_status_t backend = {.struct_size = sizeof backend};
    size_t count = gantry_backend_status_count(f.runtime);
    assert_true(count >= 2);
    assert_int_equal(gantry_backend_status(f.runtime, 0, &backend), GANTRY_OK);
    assert_int_equal(backend.struct_size, sizeof backend);
    expect_failure(gantry_backend_status(f.runtime, count, &backend), GANTRY_OUT_OF_RANGE,
                   "there are");
    expect_failure(gantry_backend_status(f.runtime, 0, NULL), GANTRY_INVALID_ARGUMENT,
                   "out_status is NULL");
    backend.struct_size = 0;
    expect_failure(gantry_backend_status(f.runtime, 0, &backend), GANTRY_INVALID_ARGUMENT,
                   "struct_size is 0");
    backend = (gantry_backend_status_t){.struct_size = offsetof(gantry_backend_status_t, reason),
                                        .reason = "untouched"};
    assert_int_equal(gantry_backend_status(f.runtime, 0, &backend), GANTRY_OK);
    assert_string_equal(backend.reason, "untouched");
    gantry_device_details_t details = {.struct_size = 0};
    expect_failure(gantry_get_device_details(f.runtime, first_gpu(&f), &details),
                   GANTRY_INVALID_ARGUMENT, "struct_size");
    details.struct_size = sizeof details;
    assert_int_equal(gantry_get_device_details(f.runtime, first_gpu(&f), &details), GANTRY_OK);
    assert_string_equal(details.alias, "fake:0");
    expect_failure(
        gantry_get_device_details(
            f.runtime, (const gantry_physical_device_t *)(const void *)&details, &details),
        GANTRY_INVALID_ARGUMENT, "Unrecognized device");
    gantry_memory_info_t info = {.struct_size = offsetof(gantry_memory_info_t, pool_bytes),
                                 .pool_bytes = 77};
    assert_int_equal(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_OK);
    assert_int_equal(info.pool_bytes, 77);
    info.struct_size = 2;
    expect_failure(gantry_get_memory_info(f.runtime, "GPU:0", &info), GANTRY_INVALID_ARGUMENT,
                   "struct_size is 2");
    info.struct_size = sizeof info;
    expect_failure(gantry_get_memory_info(f.runtime, "GPU:9", &info), GANTRY_NOT_FOUND,
                   "GPU:9 unknown device.");
    expect_failure(gantry_get_memory_info(f.runtime, NULL, &info), GANTRY_INVALID_ARGUMENT,
                   "the device is NULL");
    gantry_program_stats_t stats = {.struct_size = 0};
    expect_failure(gantry_get_program_stats(f.runtime, &stats), GANTRY_INVALID_ARGUMENT,
                   "struct_size");
    runtime_fixture_close(&f);
}

TEST(log_tells_once_what_was_found) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    (void)probe_gpus(&f);
    (void)probe_gpus(&f);
    assert_int_equal(log_lines_with(&f.log, "fake:0", "GPU:0"), 1);
    assert_int_equal(log_lines_with(&f.log, "fake:1", "GPU:1"), 1);
    runtime_fixture_close(&f);
}

/* ---- side by side ---- */

TEST(runtimes_live_side_by_side_with_their_own_settings) {
    runtime_fixture_t a, b;
    fake->set_device_count(2);
    gantry_runtime_options_t options = runtime_fixture_options(&a);
    options.visible_devices = "1";
    options.soft_placement = GANTRY_OFF;
    options.memory_limit_bytes = 4 << 20;
    runtime_fixture_open_with(&a, &options);
    options = runtime_fixture_options(&b);
    options.log_placement = GANTRY_ON;
    runtime_fixture_open_with(&b, &options);
    assert_int_equal(probe_gpus(&a), 1);
    assert_int_equal(probe_gpus(&b), 2);
    assert_int_equal(probe_limit(&a), 4);
    assert_int_equal(probe_limit(&b), 64);
    assert_int_equal(probe_soft(&a), 0);
    assert_int_equal(probe_soft(&b), 1);
    gantry_scope_t *first = runtime_fixture_scope(&a, "GPU:0"),
                   *second = runtime_fixture_scope(&b, "GPU:0");
    EXPECT_F32(gantry_add(first, F32(first, 1), F32(first, 2)), 3);
    EXPECT_F32(gantry_add(second, F32(second, 3), F32(second, 4)), 7);
    assert_string_equal(last_placement(&a).op, "Add");
    /* each counts its own ops */
    assert_int_equal(last_placement(&a).sequence, last_placement(&b).sequence);
    assert_int_equal(log_lines_with(&a.log, "Executing op", ""), 0);
    assert_int_equal(log_lines_with(&b.log, "Executing op Add", ""), 1);
    expect_ended_well(first);
    gantry_runtime_release(a.runtime);
    assert_int_equal(a.heap.inner.live_blocks, 0);
    /* the other runtime still works */
    EXPECT_F32(gantry_add(second, F32(second, 5), F32(second, 6)), 11);
    expect_ended_well(second);
    runtime_fixture_close(&b);
    locked_heap_deinit(&a.heap);
}

/* ---- release ---- */

TEST(two_hundred_runtimes_leave_nothing_behind) {
    runtime_fixture_t f;
    size_t files = 0, threads = 0;
    for (int i = 0; i < 200; ++i) {
        runtime_fixture_open(&f, 1);
        if (i % 4 == 0) {
            gantry_scope_t *scope = runtime_fixture_scope(&f, i % 8 ? "GPU:0" : "CPU:0");
            EXPECT_F32(gantry_add(scope, F32(scope, 1), F32(scope, 2)), 3);
            expect_ended_well(scope);
        }
        runtime_fixture_close(&f);
        if (i == 9) {
            files = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), files);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

TEST(pending_work_is_waited_for_at_release) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    gantry_tensor_t *kept = gantry_tensor_retain(gantry_add(scope, x, x));
    for (int i = 0; i < 50; ++i) (void)gantry_add(scope, kept, x);
    fake->set_delay(0, 2);
    for (int i = 0; i < 20; ++i) (void)gantry_mul(scope, kept, x);
    expect_ended_well(scope);
    gantry_runtime_release(f.runtime);
    assert_int_equal(fake->waiting(0), 0); /* although a tensor still exists */
    gantry_tensor_release(kept);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

TEST(released_runtime_is_refused_everywhere) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    const gantry_physical_device_t *device = first_gpu(&f);
    gantry_runtime_t *runtime = f.runtime;
    gantry_runtime_release(runtime);
    gantry_runtime_release(runtime); /* a second release is harmless while objects exist */
    size_t count = 0;
    bool enabled = false;
    const gantry_logical_device_t *logical = NULL;
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_device_details_t details = {.struct_size = sizeof details};
    gantry_backend_status_t backend = {.struct_size = sizeof backend};
    gantry_program_stats_t stats = {.struct_size = sizeof stats};
    gantry_placement_record_t record = {.struct_size = sizeof record};
    gantry_placement_count_t counted = {.struct_size = sizeof counted};
#define EXPECT_REFUSED(expression) \
    expect_failure(expression, GANTRY_FAILED_PRECONDITION, "the runtime was released")
    EXPECT_REFUSED(gantry_runtime_initialize(runtime));
    assert_null(gantry_scope_begin(runtime, NULL));
    assert_non_null(strstr(gantry_last_message(), "the runtime was released"));
    EXPECT_REFUSED(gantry_runtime_synchronize(runtime));
    EXPECT_REFUSED(gantry_list_physical_devices(runtime, NULL, 0, NULL, &count));
    EXPECT_REFUSED(gantry_list_device_views(runtime, 0, NULL, &count));
    EXPECT_REFUSED(gantry_list_logical_devices(runtime, NULL, 0, NULL, &count));
    EXPECT_REFUSED(gantry_get_visible_devices(runtime, NULL, 0, NULL, &count));
    EXPECT_REFUSED(gantry_set_visible_devices(runtime, &device, 1, "GPU"));
    EXPECT_REFUSED(gantry_get_device_details(runtime, device, &details));
    EXPECT_REFUSED(gantry_set_memory_growth(runtime, device, true));
    EXPECT_REFUSED(gantry_get_memory_growth(runtime, device, &enabled));
    EXPECT_REFUSED(gantry_set_memory_limit(runtime, device, 0));
    EXPECT_REFUSED(gantry_set_logical_device_configuration(
        runtime, device, &(gantry_logical_device_config_t){0}, 1));
    EXPECT_REFUSED(gantry_find_logical_device(runtime, "GPU:0", &logical));
    EXPECT_REFUSED(gantry_get_memory_info(runtime, "GPU:0", &info));
    EXPECT_REFUSED(gantry_reset_memory_stats(runtime, "GPU:0"));
    EXPECT_REFUSED(gantry_backend_status(runtime, 0, &backend));
    EXPECT_REFUSED(gantry_set_soft_device_placement(runtime, true));
    EXPECT_REFUSED(gantry_set_log_device_placement(runtime, true));
    EXPECT_REFUSED(gantry_set_device_policy(runtime, GANTRY_POLICY_SILENT));
    EXPECT_REFUSED(gantry_set_placement_mode(runtime, GANTRY_PLACEMENT_PREFER));
    EXPECT_REFUSED(gantry_set_intra_op_parallelism_threads(runtime, 2));
    EXPECT_REFUSED(gantry_set_inter_op_parallelism_threads(runtime, 2));
    EXPECT_REFUSED(gantry_set_placement_callback(runtime, NULL, NULL));
    EXPECT_REFUSED(gantry_get_placements(runtime, 1, &record, &count));
    EXPECT_REFUSED(gantry_get_placement_counts(runtime, 1, &counted, &count));
    EXPECT_REFUSED(gantry_get_program_stats(runtime, &stats));
    EXPECT_REFUSED(gantry_op_has_kernel(runtime, "Add", logical, GANTRY_FLOAT32, &enabled, NULL));
    EXPECT_REFUSED(gantry_save_npy(scope, x, "/tmp/never.npy"));
    (void)gantry_scope_end(scope);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

/* ---- memory runs out ---- */

TEST(memory_short_at_creation_and_initialisation_is_an_error) {
    int failures = 0;
    for (long n = 0;; ++n) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        options.cpu_threads = 1;
        f.heap.inner.fail_at = n;
        gantry_status_t status = try_create(&f, &options);
        if (status == GANTRY_OK) status = gantry_runtime_initialize(f.runtime);
        bool reached = f.heap.inner.calls > n;
        f.heap.inner.fail_at = -1;
        if (status != GANTRY_OK) {
            ++failures;
            if (status != GANTRY_RESOURCE_EXHAUSTED)
                fail_msg("allocation %ld: status %d, %s", n, (int)status, gantry_last_message());
        }
        if (f.runtime && reached) { /* a second try may succeed */
            status = gantry_runtime_initialize(f.runtime);
            if (status != GANTRY_OK) fail_msg("after allocation %ld: %s", n, gantry_last_message());
        }
        runtime_fixture_close(&f);
        if (!reached) break;
    }
    assert_true(failures > 30);
}

typedef struct starter_t {
    gantry_runtime_t *runtime;
    gantry_status_t status;
} starter_t;

static void *start(void *user) {
    starter_t *starter = user;
    gantry_scope_t *scope = gantry_scope_begin(starter->runtime, "GPU:0");
    float value = 0;
    const gantry_tensor_t *x =
        gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2));
    starter->status = x ? gantry_tensor_read(x, &value, sizeof value) : gantry_scope_status(scope);
    if (starter->status == GANTRY_OK && (int)value != 3) starter->status = GANTRY_DATA_LOSS;
    (void)gantry_scope_end(scope);
    return NULL;
}

TEST(many_threads_may_make_the_first_op) {
    for (int round = 0; round < 20; ++round) {
        runtime_fixture_t f;
        starter_t starters[4];
        pthread_t threads[4];
        runtime_fixture_open(&f, 1);
        for (int i = 0; i < 4; ++i) {
            starters[i] = (starter_t){f.runtime, GANTRY_UNKNOWN};
            assert_int_equal(pthread_create(&threads[i], NULL, start, &starters[i]), 0);
        }
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(starters[i].status, GANTRY_OK);
        }
        runtime_fixture_close(&f);
    }
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
