/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_get_setting answers for every setting and every source, and refuses a wrong
 * question.
 * Promise: A call wins over an option, an option over the environment, and the environment over the
 * default; a query names the source that won and what it overruled.
 *
 * Bad queries are refused. */
#define _XOPEN_SOURCE 700

#include "base/amount.h"
#include "base/setting_rows.h"
#include "runtime_fixture.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static gantry_setting_t ask(const runtime_fixture_t *f, const char *name,
                            const gantry_physical_device_t *device) {
    gantry_setting_t setting = {.struct_size = sizeof setting};
    if (gantry_get_setting(f->runtime, name, device, &setting) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return setting;
}

static const gantry_physical_device_t *first(const runtime_fixture_t *f, const char *type) {
    const gantry_physical_device_t *device = NULL;
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(f->runtime, type, 1, &device, &count), GANTRY_OK);
    assert_true(count > 0);
    return device;
}

static void expect_setting(const gantry_setting_t *setting, gantry_setting_source_t source,
                           const char *value, const char *set_by, const char *overruled) {
    assert_string_equal(setting->value, value);
    assert_string_equal(setting->set_by, set_by);
    assert_string_equal(setting->overruled, overruled);
    assert_int_equal(setting->source, source);
}

/* ---- the list ---- */

TEST(names_are_a_fixed_list) {
    static const char *const names[] = {"memory_growth",
                                        "memory_limit",
                                        "memory_fraction",
                                        "logical_devices",
                                        "visible_devices",
                                        "pinned_limit",
                                        "memory_step",
                                        "memory_split",
                                        "memory_collect",
                                        "oom_retry_ms",
                                        "oom_fallback",
                                        "soft_placement",
                                        "log_placement",
                                        "placement_mode",
                                        "device_policy",
                                        "crossover",
                                        "batch_invariant",
                                        "any_order",
                                        "profile",
                                        "trace",
                                        "wait_policy",
                                        "cpu_threads",
                                        "inter_op_threads",
                                        "log_level",
                                        "kernel_cache",
                                        "opencl_cpu",
                                        "backends",
                                        "backend_path",
                                        "claims_dir",
                                        "cpu_matmul",
                                        "cpu_simd",
                                        "cuda_context",
                                        "cuda_cublas",
                                        "cuda_cudnn",
                                        "cuda_library",
                                        "cuda_matmul_precision",
                                        "cuda_nccl",
                                        "cuda_nvml",
                                        "cuda_nvrtc",
                                        "cuda_wait",
                                        "device_probe",
                                        "driver_quarantine",
                                        "log",
                                        "opencl_clblast_parameters",
                                        "opencl_layer_devices",
                                        "opencl_library",
                                        "opencl_matmul",
                                        "status",
                                        "tf_any_version",
                                        "tf_jit",
                                        "tf_report",
                                        "tf_variables",
                                        "run_devices",
                                        "tuning_file",
                                        "conda_prefix",
                                        "cuda_device_order",
                                        "cuda_home",
                                        "cuda_path",
                                        "cuda_visible_devices",
                                        "tf_enable_gpu_garbage_collection",
                                        "tf_force_gpu_allow_growth",
                                        "tf_gpu_host_mem_limit_in_mb",
                                        "virtual_env"};
    assert_int_equal(gantry_setting_count(), sizeof names / sizeof names[0]);
    for (size_t i = 0; i < gantry_setting_count(); ++i)
        assert_string_equal(gantry_setting_name(i), names[i]);
    assert_null(gantry_setting_name(gantry_setting_count()));
    assert_null(gantry_setting_name(SIZE_MAX));
}

TEST(every_variable_of_the_list_is_documented) {
    static const char *const documented[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) name,
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    for (size_t i = 0; i < GANTRY__SETTINGS; ++i) {
        size_t at = 0;
        while (at < sizeof documented / sizeof documented[0] &&
               strcmp(documented[at], gantry__setting_rows[i].variable) != 0)
            ++at;
        if (at == sizeof documented / sizeof documented[0])
            fail_msg("%s", gantry__setting_rows[i].variable);
    }
}

/* `gantry settings` lists every setting. */
TEST(every_variable_is_a_setting) {
    static const struct {
        const char *name, *fallback, *meaning;
    } rows[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) \
    {name, default_value, meaning},
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        size_t found = 0;
        for (size_t s = 0; s < gantry_setting_count(); ++s) {
            gantry_setting_t setting = ask(&f, gantry_setting_name(s), NULL);
            if (strcmp(setting.variable, rows[i].name) != 0) continue;
            ++found;
            assert_string_equal(setting.fallback, rows[i].fallback);
            assert_string_equal(setting.meaning, rows[i].meaning);
        }
        if (found != 1) fail_msg("%s is %zu settings", rows[i].name, found);
    }
    runtime_fixture_close(&f);
}

TEST(variable_without_an_option_is_told_too) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    static const char *const extra[] = {"GANTRY_OPENCL_MATMUL=portable", NULL};
    options.extra = extra;
    assert_int_equal(setenv("GANTRY_OPENCL_MATMUL", "clblast", 1), 0);
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    runtime_fixture_open_with(&f, &options);
    gantry_setting_t setting = ask(&f, "opencl_matmul", NULL);
    expect_setting(&setting, GANTRY_FROM_OPTION, "portable", "option GANTRY_OPENCL_MATMUL",
                   "GANTRY_OPENCL_MATMUL=clblast");
    setting = ask(&f, "cpu_matmul", NULL);
    expect_setting(&setting, GANTRY_FROM_DEFAULT, "auto", "default", "");
    setting = ask(&f, "cuda_visible_devices", NULL);
    expect_setting(&setting, GANTRY_FROM_ENVIRONMENT, "", "CUDA_VISIBLE_DEVICES", "");
    runtime_fixture_close(&f);
}

TEST(defaults_told_are_the_ones_used) {
    const gantry__memory_policy_t policy = GANTRY__MEMORY_POLICY_DEFAULTS;
    const struct {
        const char *name;
        uint64_t bytes;
    } cases[] = {{"pinned_limit", policy.pinned_limit_bytes},
                 {"memory_step", policy.step_bytes},
                 {"memory_split", policy.split_bytes}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_setting_t setting = ask(&f, cases[i].name, NULL);
        char text[GANTRY__AMOUNT_BYTES];
        gantry__format_bytes(cases[i].bytes, text);
        assert_string_equal(setting.value, text);
    }
    assert_string_equal(ask(&f, "memory_collect", NULL).value, policy.collect ? "1" : "0");
    assert_string_equal(ask(&f, "oom_fallback", NULL).value, policy.oom_fallback ? "cpu" : "off");
    runtime_fixture_close(&f);
}

TEST(wrong_questions_are_refused) {
    runtime_fixture_t f, g;
    runtime_fixture_open(&f, 1);
    runtime_fixture_open(&g, 1);
    gantry_setting_t setting = {.struct_size = sizeof setting};
    expect_failure(gantry_get_setting(f.runtime, "memory", NULL, &setting), GANTRY_NOT_FOUND,
                   "there is no setting \"memory\"; accepted are memory_growth, memory_limit,");
    assert_non_null(strstr(gantry_last_message(), "backend_path"));
    expect_failure(gantry_get_setting(f.runtime, NULL, NULL, &setting), GANTRY_INVALID_ARGUMENT,
                   "NULL");
    expect_failure(gantry_get_setting(f.runtime, "memory_limit", NULL, NULL),
                   GANTRY_INVALID_ARGUMENT, "NULL");
    expect_failure(gantry_get_setting(f.runtime, "memory_limit", first(&g, "GPU"), &setting),
                   GANTRY_INVALID_ARGUMENT, "Unrecognized device: ");
    expect_failure(gantry_get_setting(NULL, "memory_limit", NULL, &setting),
                   GANTRY_INVALID_ARGUMENT, "runtime is NULL");
    setting.struct_size = 0;
    expect_failure(gantry_get_setting(f.runtime, "memory_limit", NULL, &setting),
                   GANTRY_INVALID_ARGUMENT, "struct_size is 0");
    setting.struct_size = offsetof(gantry_setting_t, per_device); /* an older program's options */
    memset((char *)&setting + setting.struct_size, 0x5a, sizeof setting - setting.struct_size);
    assert_int_equal(gantry_get_setting(f.runtime, "memory_limit", NULL, &setting), GANTRY_OK);
    assert_int_equal(((unsigned char *)&setting)[offsetof(gantry_setting_t, per_device)], 0x5a);
    gantry_runtime_release(g.runtime);
    runtime_fixture_close(&f);
    runtime_fixture_expect_no_leak(&g);
    locked_heap_deinit(&g.heap);
}

/* ---- every setting from every source ---- */

typedef gantry_runtime_options_t options_t;

static void growth_off(options_t *o) { o->memory_growth = GANTRY_OFF; }
static void limit_6(options_t *o) { o->memory_limit_bytes = 6 * MIB; }
static void fraction_quarter(options_t *o) { o->memory_fraction = 0.25; }
static void split_gpu(options_t *o) { o->logical_devices = "GPU:0=1M,2M"; }
static void visible_none(options_t *o) { o->visible_devices = "-1"; }
static void pinned_3(options_t *o) { o->pinned_limit_bytes = 3 * MIB; }
static void step_3(options_t *o) { o->memory_step_bytes = 3 * MIB; }
static void rest_3(options_t *o) { o->memory_split_bytes = 3 * MIB; }
static void collect_off(options_t *o) { o->memory_collect = GANTRY_OFF; }
static void retry_9(options_t *o) { o->oom_retry_ms = 9; }
static void fallback_on(options_t *o) { o->oom_fallback = GANTRY_ON; }
static void soft_off(options_t *o) { o->soft_placement = GANTRY_OFF; }
static void log_on(options_t *o) { o->log_placement = GANTRY_ON; }
static void crossover_off(options_t *o) { o->crossover = GANTRY_OFF; }
static void batch_on(options_t *o) { o->batch_invariant = GANTRY_ON; }
static void order_on(options_t *o) { o->any_order = GANTRY_ON; }
static void mode_warn(options_t *o) { o->placement_mode = GANTRY_PLACEMENT_WARN_ONCE; }
static void policy_warn(options_t *o) { o->device_policy = GANTRY_POLICY_WARN; }
static void profile_wait(options_t *o) { o->profile = GANTRY_PROFILE_WAIT; }
static void wait_block(options_t *o) { o->wait_policy = GANTRY_WAIT_BLOCK; }
static void threads_3(options_t *o) { o->cpu_threads = 3; }
static void between_none(options_t *o) { o->inter_op_threads = -1; }
static void level_error(options_t *o) { o->log_level = GANTRY_LEVEL_ERROR; }
static void cache_none(options_t *o) { o->kernel_cache = ""; }
static void opencl_gpu(options_t *o) { o->opencl_cpu_as_gpu = GANTRY_ON; }
static void backends_all(options_t *o) { o->backends = "cpu,fake,other"; }

/* NULL: the value is not compared. */
static const struct row_t {
    const char *name, *fallback;
    /* the variable's text, and the value that is reported */
    const char *variable, *environment, *environment_value;
    void (*set)(options_t *options);
    const char *option, *option_value;
} rows[] = {
    {"memory_growth", "1", "GANTRY_MEMORY_GROWTH", "on", "1", growth_off, "option memory_growth",
     "0"},
    {"memory_limit", "", "GANTRY_MEMORY_LIMIT", "5120K", "5M", limit_6, "option memory_limit_bytes",
     "6M"},
    {"memory_fraction", "", "GANTRY_MEMORY_FRACTION", "50%", "0.5", fraction_quarter,
     "option memory_fraction", "0.25"},
    {"logical_devices", "", "GANTRY_LOGICAL_DEVICES", "GPU:0=4M,5M", "4M,5M", split_gpu,
     "option logical_devices", "1M,2M"},
    {"visible_devices", "all", "GANTRY_VISIBLE_DEVICES", "0", "0", visible_none,
     "option visible_devices", "-1"},
    {"pinned_limit", "1G", "GANTRY_PINNED_LIMIT", "5M", "5M", pinned_3, "option pinned_limit_bytes",
     "3145728"},
    {"memory_step", "1G", "GANTRY_MEMORY_STEP", "5M", "5M", step_3, "option memory_step_bytes",
     "3145728"},
    {"memory_split", "64K", "GANTRY_MEMORY_SPLIT", "5M", "5M", rest_3, "option memory_split_bytes",
     "3145728"},
    {"memory_collect", "1", "GANTRY_MEMORY_COLLECT", "1", "1", collect_off, "option memory_collect",
     "0"},
    {"oom_retry_ms", "0", "GANTRY_OOM_RETRY_MS", "5", "5", retry_9, "option oom_retry_ms", "9"},
    {"oom_fallback", "off", "GANTRY_OOM_FALLBACK", "off", "off", fallback_on, "option oom_fallback",
     "cpu"},
    {"soft_placement", "1", "GANTRY_SOFT_PLACEMENT", "yes", "1", soft_off, "option soft_placement",
     "0"},
    {"log_placement", "0", "GANTRY_LOG_PLACEMENT", "0", "0", log_on, "option log_placement", "1"},
    {"placement_mode", "prefer", "GANTRY_PLACEMENT", "require", "require", mode_warn,
     "option placement_mode", "warn"},
    {"device_policy", "silent", "GANTRY_DEVICE_POLICY", "explicit", "explicit", policy_warn,
     "option device_policy", "warn"},
    {"crossover", "0", "GANTRY_CROSSOVER", "1", "1", crossover_off, "option crossover", "0"},
    {"batch_invariant", "0", "GANTRY_BATCH_INVARIANT", "no", "0", batch_on,
     "option batch_invariant", "1"},
    {"any_order", "0", "GANTRY_ANY_ORDER", "no", "0", order_on, "option any_order", "1"},
    {"profile", "off", "GANTRY_PROFILE", "on", "on", profile_wait, "option profile", "wait"},
    {"wait_policy", "auto", "GANTRY_WAIT_POLICY", "spin", "spin", wait_block, "option wait_policy",
     "block"},
    {"cpu_threads", "0", "GANTRY_CPU_THREADS", "2", "2", threads_3, "option cpu_threads", "3"},
    {"inter_op_threads", "0", "GANTRY_INTER_OP_THREADS", "2", "2", between_none,
     "option inter_op_threads", "-1"},
    {"log_level", "info", "GANTRY_LOG_LEVEL", "debug", "debug", level_error, "option log_level",
     "error"},
    {"kernel_cache", NULL, "GANTRY_KERNEL_CACHE", "", "", cache_none, "option kernel_cache", ""},
    {"opencl_cpu", "off", "GANTRY_OPENCL_CPU", "off", "off", opencl_gpu, "option opencl_cpu_as_gpu",
     "gpu"},
    {"backends", "", "GANTRY_BACKENDS", "cpu,fake", "cpu,fake", backends_all, "option backends",
     "cpu,fake,other"},
};

static void open_plain(runtime_fixture_t *f, void (*set)(options_t *options)) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.log_level = GANTRY_LEVEL_DEFAULT;
    options.backends = NULL;
    options.cpu_threads = 0;
    options.kernel_cache = NULL;
    if (set) set(&options);
    runtime_fixture_open_with(f, &options);
}

static void expect_row(const struct row_t *row, bool environment, bool option) {
    runtime_fixture_t f;
    runtime_fixture_clear();
    (void)setenv("XDG_CACHE_HOME", "relative: no folder is made", 1);
    if (environment) assert_int_equal(setenv(row->variable, row->environment, 1), 0);
    open_plain(&f, option ? row->set : NULL);
    bool per_device = ask(&f, row->name, NULL).per_device;
    gantry_setting_t setting = ask(&f, row->name, per_device ? first(&f, "GPU") : NULL);
    if (option) {
        char lost[256] = "";
        if (environment) {
            (void)snprintf(lost, sizeof lost, "%s=%s", row->variable,
                           per_device ? row->environment_value : row->environment);
        }
        expect_setting(&setting, GANTRY_FROM_OPTION, row->option_value, row->option, lost);
    } else if (environment) {
        expect_setting(&setting, GANTRY_FROM_ENVIRONMENT, row->environment_value, row->variable,
                       "");
    } else {
        if (row->fallback)
            expect_setting(&setting, GANTRY_FROM_DEFAULT, row->fallback, "default", "");
    }
    runtime_fixture_close(&f);
}

TEST(each_source_wins_over_those_below_and_is_told) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        expect_row(&rows[i], false, false);
        expect_row(&rows[i], true, false);
        expect_row(&rows[i], false, true);
        expect_row(&rows[i], true, true);
    }
}

TEST(backend_paths_of_option_and_environment_are_both_searched) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    assert_int_equal(setenv("GANTRY_BACKEND_PATH", FAKE_FOLDER("other"), 1), 0);
    options.backends = "cpu,fake,other";
    runtime_fixture_open_with(&f, &options);
    gantry_setting_t setting = ask(&f, "backend_path", NULL);
    expect_setting(&setting, GANTRY_FROM_OPTION, FAKE_FOLDER("fake") ":" FAKE_FOLDER("other"),
                   "option backend_path", "");
    bool has_other = false;
    for (size_t i = 0; i < gantry_backend_status_count(f.runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        assert_int_equal(gantry_backend_status(f.runtime, i, &status), GANTRY_OK);
        has_other = has_other || strcmp(status.name, "other") == 0;
    }
    assert_true(has_other);
    runtime_fixture_close(&f);
}

/* ---- calls ---- */

TEST(calls_win_over_all_and_name_what_lost) {
    runtime_fixture_t f;
    assert_int_equal(setenv("GANTRY_MEMORY_LIMIT", "GPU:0=2M", 1), 0);
    assert_int_equal(setenv("TF_FORCE_GPU_ALLOW_GROWTH", "false", 1), 0);
    assert_int_equal(setenv("GANTRY_SOFT_PLACEMENT", "1", 1), 0);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.memory_limit_bytes = 4 * MIB;
    options.soft_placement = GANTRY_ON;
    runtime_fixture_open_with(&f, &options);
    const gantry_physical_device_t *gpu = first(&f, "GPU"), *cpu = first(&f, "CPU");
    assert_int_equal(gantry_set_memory_limit(f.runtime, gpu, 8 * MIB), GANTRY_OK);
    gantry_setting_t setting = ask(&f, "memory_limit", gpu);
    expect_setting(&setting, GANTRY_FROM_CALL, "8M", "gantry_set_memory_limit",
                   "option memory_limit_bytes=4M; GANTRY_MEMORY_LIMIT=2M");
    assert_true(setting.per_device);
    assert_false(setting.frozen);
    setting = ask(&f, "memory_limit", cpu);
    expect_setting(&setting, GANTRY_FROM_OPTION, "4M", "option memory_limit_bytes", "");
    /* removes the call's value */
    assert_int_equal(gantry_set_memory_limit(f.runtime, gpu, 0), GANTRY_OK);
    setting = ask(&f, "memory_limit", gpu);
    expect_setting(&setting, GANTRY_FROM_OPTION, "4M", "option memory_limit_bytes",
                   "GANTRY_MEMORY_LIMIT=2M");

    setting = ask(&f, "memory_growth", gpu);
    expect_setting(&setting, GANTRY_FROM_ENVIRONMENT, "0", "TF_FORCE_GPU_ALLOW_GROWTH", "");
    assert_int_equal(gantry_set_memory_growth(f.runtime, gpu, true), GANTRY_OK);
    setting = ask(&f, "memory_growth", gpu);
    expect_setting(&setting, GANTRY_FROM_CALL, "1", "gantry_set_memory_growth",
                   "TF_FORCE_GPU_ALLOW_GROWTH=false");

    assert_int_equal(gantry_set_wait_policy(f.runtime, gpu, GANTRY_WAIT_YIELD), GANTRY_OK);
    setting = ask(&f, "wait_policy", gpu);
    expect_setting(&setting, GANTRY_FROM_CALL, "yield", "gantry_set_wait_policy", "");
    assert_int_equal(gantry_set_wait_policy(f.runtime, gpu, GANTRY_WAIT_DEFAULT), GANTRY_OK);
    setting = ask(&f, "wait_policy", gpu);
    expect_setting(&setting, GANTRY_FROM_DEFAULT, "auto", "default", "");
    assert_int_equal(gantry_set_wait_policy(f.runtime, gpu, (gantry_wait_policy_t)9),
                     GANTRY_INVALID_ARGUMENT);

    assert_int_equal(gantry_set_memory_fraction(f.runtime, cpu, 0.5), GANTRY_OK);
    setting = ask(&f, "memory_fraction", cpu);
    expect_setting(&setting, GANTRY_FROM_CALL, "0.5", "gantry_set_memory_fraction", "");
    setting = ask(&f, "memory_limit", cpu); /* the option's limit lost to the fraction */
    expect_setting(&setting, GANTRY_FROM_DEFAULT, "", "default", "option memory_limit_bytes=4M");

    gantry_logical_device_config_t parts[2] = {
        {.memory_limit_bytes = MIB, .max_work_group_size = 64}, {.memory_limit_bytes = MIB}};
    assert_int_equal(gantry_set_logical_device_configuration(f.runtime, gpu, parts, 2), GANTRY_OK);
    setting = ask(&f, "logical_devices", gpu);
    expect_setting(&setting, GANTRY_FROM_CALL, "1M/work_group=64,1M",
                   "gantry_set_logical_device_configuration", "");

    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    setting = ask(&f, "soft_placement", NULL);
    expect_setting(&setting, GANTRY_FROM_CALL, "0", "gantry_set_soft_device_placement",
                   "option soft_placement=1; GANTRY_SOFT_PLACEMENT=1");
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    setting = ask(&f, "log_placement", NULL);
    expect_setting(&setting, GANTRY_FROM_CALL, "1", "gantry_set_log_device_placement", "");
    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_SILENT_FOR_INT32),
                     GANTRY_OK);
    setting = ask(&f, "device_policy", NULL);
    expect_setting(&setting, GANTRY_FROM_CALL, "silent_for_int32", "gantry_set_device_policy", "");
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE), GANTRY_OK);
    setting = ask(&f, "placement_mode", NULL);
    expect_setting(&setting, GANTRY_FROM_CALL, "require", "gantry_set_placement_mode", "");
    runtime_fixture_close(&f);
}

TEST(visible_devices_of_a_call_are_told_as_the_variable_would_list_them) {
    runtime_fixture_t f;
    assert_int_equal(setenv("GANTRY_VISIBLE_DEVICES", "0,1", 1), 0);
    runtime_fixture_open(&f, 3);
    const gantry_physical_device_t *gpus[3];
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(f.runtime, "GPU", 3, gpus, &count), GANTRY_OK);
    const gantry_physical_device_t *turned[] = {gpus[2], gpus[0]};
    assert_int_equal(gantry_set_visible_devices(f.runtime, turned, 2, "GPU"), GANTRY_OK);
    gantry_setting_t setting = ask(&f, "visible_devices", NULL);
    expect_setting(&setting, GANTRY_FROM_CALL, "2,0", "gantry_set_visible_devices",
                   "GANTRY_VISIBLE_DEVICES=0,1");
    assert_int_equal(gantry_set_visible_devices(f.runtime, NULL, 0, "GPU"), GANTRY_OK);
    setting = ask(&f, "visible_devices", NULL);
    assert_string_equal(setting.value, "-1");
    runtime_fixture_close(&f);
}

TEST(frozen_says_what_can_still_be_changed) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_false(ask(&f, "memory_limit", NULL).frozen);
    assert_false(ask(&f, "visible_devices", NULL).frozen);
    assert_true(ask(&f, "pinned_limit", NULL).frozen); /* no call sets it */
    assert_true(ask(&f, "backends", NULL).frozen);
    assert_false(ask(&f, "soft_placement", NULL).frozen);
    assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
    assert_true(ask(&f, "memory_limit", NULL).frozen);
    assert_true(ask(&f, "logical_devices", NULL).frozen);
    assert_true(ask(&f, "visible_devices", NULL).frozen);
    assert_false(ask(&f, "soft_placement", NULL).frozen);
    runtime_fixture_close(&f);
}

/* ---- TensorFlow's variables ---- */

TEST(tensorflow_s_variables_are_told_by_name) {
    runtime_fixture_t f;
    assert_int_equal(setenv("TF_GPU_HOST_MEM_LIMIT_IN_MB", "64", 1), 0);
    assert_int_equal(setenv("TF_ENABLE_GPU_GARBAGE_COLLECTION", "false", 1), 0);
    runtime_fixture_open(&f, 1);
    gantry_setting_t setting = ask(&f, "pinned_limit", NULL);
    expect_setting(&setting, GANTRY_FROM_ENVIRONMENT, "64M", "TF_GPU_HOST_MEM_LIMIT_IN_MB", "");
    setting = ask(&f, "memory_collect", NULL);
    expect_setting(&setting, GANTRY_FROM_ENVIRONMENT, "0", "TF_ENABLE_GPU_GARBAGE_COLLECTION", "");
    runtime_fixture_close(&f);
    assert_int_equal(setenv("GANTRY_PINNED_LIMIT", "5M", 1), 0);
    runtime_fixture_open(&f, 1);
    setting = ask(&f, "pinned_limit", NULL);
    expect_setting(&setting, GANTRY_FROM_ENVIRONMENT, "5M", "GANTRY_PINNED_LIMIT",
                   "TF_GPU_HOST_MEM_LIMIT_IN_MB=64");
    runtime_fixture_close(&f);
}

/* ---- options and extra texts ---- */

static gantry_status_t try_create(runtime_fixture_t *f, const char *assignment,
                                  void (*set)(options_t *options)) {
    const char *extra[] = {assignment, NULL};
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.extra = extra;
    if (set) set(&options);
    return gantry_runtime_create(&options, &f->runtime);
}

TEST(field_and_extra_text_of_one_setting_must_agree) {
    static const struct {
        const char *assignment;
        void (*set)(options_t *options);
        const char *message; /* NULL: both agree */
    } cases[] = {
        {"GANTRY_MEMORY_LIMIT=6M", limit_6, NULL},
        {"GANTRY_MEMORY_LIMIT=6144K", limit_6, NULL},
        {"GANTRY_MEMORY_LIMIT=2G", limit_6,
         "GANTRY_MEMORY_LIMIT is given twice: \"6291456\" by option memory_limit_bytes and \"2G\" by option GANTRY_MEMORY_LIMIT"},
        {"GANTRY_MEMORY_GROWTH=off", growth_off, NULL},
        {"GANTRY_MEMORY_GROWTH=on", growth_off,
         "by option memory_growth and \"on\" by option GANTRY_MEMORY_GROWTH"},
        {"GANTRY_LOGICAL_DEVICES=GPU:0=1M,2M", split_gpu, NULL},
        {"GANTRY_LOGICAL_DEVICES=GPU:0=1M,3M", split_gpu, "by option logical_devices and"},
        {"GANTRY_MEMORY_FRACTION=0.25", fraction_quarter, NULL},
        {"GANTRY_MEMORY_FRACTION=0.5", fraction_quarter,
         "\"0.25\" by option memory_fraction and \"0.5\" by"},
        {"GANTRY_DEVICE_POLICY=silent", policy_warn,
         "\"warn\" by option device_policy and \"silent\" by"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        runtime_fixture_t f;
        fake->set_device_count(1);
        gantry_status_t status = try_create(&f, cases[i].assignment, cases[i].set);
        if ((status == GANTRY_OK) != !cases[i].message)
            fail_msg("%s: %s", cases[i].assignment, gantry_last_message());
        if (cases[i].message) {
            assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
            if (!strstr(gantry_last_message(), cases[i].message))
                fail_msg("%s", gantry_last_message());
            runtime_fixture_expect_no_leak(&f);
            locked_heap_deinit(&f.heap);
        } else {
            runtime_fixture_close(&f);
        }
    }
}

TEST(extra_text_is_an_option_too) {
    runtime_fixture_t f;
    assert_int_equal(setenv("GANTRY_MEMORY_LIMIT", "2M", 1), 0);
    if (try_create(&f, "GANTRY_MEMORY_LIMIT=50%", NULL) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_setting_t setting = ask(&f, "memory_limit", first(&f, "GPU"));
    expect_setting(&setting, GANTRY_FROM_OPTION, "50%", "option GANTRY_MEMORY_LIMIT",
                   "GANTRY_MEMORY_LIMIT=2M");
    setting = ask(&f, "memory_limit", NULL);
    expect_setting(&setting, GANTRY_FROM_OPTION, "50%", "option GANTRY_MEMORY_LIMIT",
                   "GANTRY_MEMORY_LIMIT=2M");
    runtime_fixture_close(&f);
}

TEST(fields_out_of_range_are_refused) {
    runtime_fixture_t f;
    gantry_runtime_options_t good = runtime_fixture_options(&f), bad;
    double zero = 0;
    const double fractions[] = {1.2, -0.5, zero / zero, 1e-12};
    for (size_t i = 0; i < 4; ++i) {
        bad = good;
        bad.memory_fraction = fractions[i];
        expect_failure(gantry_runtime_create(&bad, &f.runtime), GANTRY_INVALID_ARGUMENT,
                       "runtime options: memory_fraction is ");
    }
    bad = good;
    bad.oom_retry_ms = -1;
    expect_failure(gantry_runtime_create(&bad, &f.runtime), GANTRY_INVALID_ARGUMENT,
                   "oom_retry_ms is -1");
    bad = good;
    bad.oom_fallback = (gantry_choice_t)3;
    expect_failure(gantry_runtime_create(&bad, &f.runtime), GANTRY_INVALID_ARGUMENT,
                   "runtime options: oom_fallback is 3; 0 to 2 is accepted");
    bad = good;
    bad.logical_devices = "GPU:0";
    expect_failure(gantry_runtime_create(&bad, &f.runtime), GANTRY_INVALID_ARGUMENT,
                   "option logical_devices is \"GPU:0\": at column 1, ");
    assert_null(f.runtime);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
