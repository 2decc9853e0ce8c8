/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every public call that takes a device's name accepts all its spellings, and refuses
 * other text with a reason. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

/* Spellings of the second of three fake cards, and of the CPU. */
static const char *const of_card[] = {"GPU:1",
                                      "gpu:1",
                                      "/GPU:1",
                                      "/gpu:1",
                                      "/Gpu:1",
                                      "device:GPU:1",
                                      "/device:GPU:1",
                                      "/device:gpu:1",
                                      "/job:localhost/replica:0/task:0/device:GPU:1",
                                      "/job:localhost/replica:0/task:0/gpu:1",
                                      "/task:0/device:GPU:1",
                                      "/physical_device:GPU:1",
                                      "physical_device:GPU:1",
                                      "fake:1",
                                      "FAKE:1",
                                      "/fake:1",
                                      "/device:fake:1",
                                      "GPU:1@fake",
                                      "/GPU:1@fake",
                                      "/job:localhost/replica:0/task:0/device:GPU:1@fake",
                                      "GPU-aaaa2222-0000-0000-0000-000000000000",
                                      "GPU-aaaa2",
                                      "gpu-AAAA2",
                                      "UUID:aaaa2",
                                      "UUID:GPU-aaaa2",
                                      "0000:65:00.0",
                                      "65:00.0",
                                      "PCI:0000:65:00.0",
                                      "pci:65:00.0"};
static const char *const of_cpu[] = {"CPU:0",
                                     "cpu:0",
                                     "/CPU:0",
                                     "/cpu:0",
                                     "CPU",
                                     "cpu",
                                     "/device:CPU:0",
                                     "/device:CPU",
                                     "/job:localhost/replica:0/task:0/device:CPU:0",
                                     "/job:localhost/device:CPU:*",
                                     "/physical_device:CPU:0",
                                     "CPU:0@cpu"};
static const struct {
    const char *text, *why;
} bad[] = {{"GPU:7", "unknown device"},
           {"fake:7", "unknown device"},
           {"GPU-cccc", "unknown device"},
           {"0000:01:00.0", "unknown device"},
           {"/job:worker/device:GPU:1", "unknown device"},
           {"GPU:1@cpu", "unknown device"},
           {"GPU:x", "Malformed device specification"},
           {"/GPU:1/", "Malformed device specification"},
           {"GPU:1@nobody", "an unknown backend"},
           {"nobody:0", "Malformed device specification"},
           {"GPU", "Multiple devices match"},
           {"fake", "Multiple devices match"},
           {"GPU-aaaa", "Multiple devices match"}};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void open_with(runtime_fixture_t *f, const gantry_runtime_options_t *given) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    device_fixture_set_three_gpus();
    options.logical_devices = given->logical_devices;
    options.visible_devices = given->visible_devices;
    options.extra = given->extra;
    runtime_fixture_open_with(f, &options);
}

static void open_three(runtime_fixture_t *f) { open_with(f, &(gantry_runtime_options_t){0}); }

/* ---- calls: the logical device that a name means to each; NULL with a message if refused ---- */

typedef gantry_status_t (*call_fn)(runtime_fixture_t *f, const char *name, const char **out_meant);

static const char *name_of_physical(runtime_fixture_t *f, const gantry_physical_device_t *device) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    assert_int_equal(gantry_get_device_details(f->runtime, device, &details), GANTRY_OK);
    return strcmp(details.alias, "fake:1") == 0 ? "/device:GPU:1" : "/device:CPU:0";
}

static gantry_status_t find_logical(runtime_fixture_t *f, const char *name,
                                    const char **out_meant) {
    const gantry_logical_device_t *device;
    gantry_status_t status = gantry_find_logical_device(f->runtime, name, &device);
    if (status == GANTRY_OK) *out_meant = gantry_logical_device_name(device);
    return status;
}

static gantry_status_t find_physical(runtime_fixture_t *f, const char *name,
                                     const char **out_meant) {
    const gantry_physical_device_t *device;
    gantry_status_t status = gantry_find_physical_device(f->runtime, name, &device);
    if (status == GANTRY_OK) *out_meant = name_of_physical(f, device);
    return status;
}

/* The card's limit is 3 MiB below the others', so a report on another device would show. */
static gantry_status_t memory_info(runtime_fixture_t *f, const char *name, const char **out_meant) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    gantry_status_t status = gantry_get_memory_info(f->runtime, name, &info);
    if (status == GANTRY_OK)
        *out_meant = info.limit_bytes == 61 * MIB ? "/device:GPU:1" : "/device:CPU:0";
    return status;
}

static gantry_status_t reset_stats(runtime_fixture_t *f, const char *name, const char **out_meant) {
    gantry_status_t status = gantry_reset_memory_stats(f->runtime, name);
    return status == GANTRY_OK ? memory_info(f, name, out_meant) : status;
}

static gantry_status_t trim(runtime_fixture_t *f, const char *name, const char **out_meant) {
    gantry_status_t status = gantry_trim_memory(f->runtime, name, 0, NULL);
    return status == GANTRY_OK ? memory_info(f, name, out_meant) : status;
}

static gantry_status_t pin(runtime_fixture_t *f, const char *name, const char **out_meant) {
    void *data;
    gantry_status_t status = gantry_pinned_alloc(f->runtime, name, 64, &data);
    if (status == GANTRY_OK) assert_int_equal(gantry_pinned_free(f->runtime, data), GANTRY_OK);
    return status == GANTRY_OK ? memory_info(f, name, out_meant) : status;
}

static gantry_status_t report(runtime_fixture_t *f, const char *name, const char **out_meant) {
    char text[4096];
    gantry_status_t status =
        gantry_get_memory_report(f->runtime, name, GANTRY_REPORT_TEXT, text, sizeof text, NULL);
    if (status == GANTRY_OK) *out_meant = strstr(text, "GPU") ? "/device:GPU:1" : "/device:CPU:0";
    return status;
}

static gantry_status_t oom_report(runtime_fixture_t *f, const char *name, const char **out_meant) {
    char text[64];
    gantry_status_t status =
        gantry_get_oom_report(f->runtime, name, GANTRY_REPORT_TEXT, text, sizeof text, NULL);
    bool had_none = status == GANTRY_NOT_FOUND && !strstr(gantry_last_message(), "unknown device");
    return status == GANTRY_OK || had_none ? memory_info(f, name, out_meant) : status;
}

/* A scope's device is a wish: without soft placement, an op in the scope runs there or fails. */
static gantry_status_t run_in(gantry_scope_t *scope, const char **out_meant) {
    if (!scope) return GANTRY_INVALID_ARGUMENT;
    const gantry_tensor_t *x = gantry_scope_status(scope) == GANTRY_OK ? F32(scope, 1, 2) : NULL;
    if (x) *out_meant = gantry_logical_device_name(gantry_tensor_device(x));
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", gantry_scope_message(scope));
    gantry_status_t status = gantry_scope_end(scope);
    return x ? GANTRY_OK : gantry__fail(status, "%s", text);
}

static gantry_status_t scope(runtime_fixture_t *f, const char *name, const char **out_meant) {
    return run_in(gantry_scope_begin(f->runtime, name), out_meant);
}

static gantry_status_t inner_scope(runtime_fixture_t *f, const char *name, const char **out_meant) {
    gantry_scope_t *outer = runtime_fixture_scope(f, NULL);
    gantry_status_t status = run_in(gantry_scope_begin_in(outer, name), out_meant);
    (void)gantry_scope_end(outer);
    return status;
}

static const struct {
    const char *name;
    call_fn call;
    /* a pattern may match several devices; if none has a kernel, the op's error gives the reason */
    bool is_wish;
} calls[] = {{"gantry_find_logical_device", find_logical, false},
             {"gantry_find_physical_device", find_physical, false},
             {"gantry_get_memory_info", memory_info, false},
             {"gantry_reset_memory_stats", reset_stats, false},
             {"gantry_trim_memory", trim, false},
             {"gantry_pinned_alloc", pin, false},
             {"gantry_get_memory_report", report, false},
             {"gantry_get_oom_report", oom_report, false},
             {"gantry_scope_begin", scope, true},
             {"gantry_scope_begin_in", inner_scope, true}};

static void expect_meant(runtime_fixture_t *f, size_t call, const char *name, const char *wanted) {
    const char *meant = "nothing";
    if (calls[call].call(f, name, &meant) != GANTRY_OK)
        fail_msg("%s \"%s\": %s", calls[call].name, name, gantry_last_message());
    if (strcmp(meant, wanted) != 0) fail_msg("%s \"%s\" is %s", calls[call].name, name, meant);
}

TEST(every_call_takes_every_spelling) {
    runtime_fixture_t f;
    open_three(&f);
    const gantry_physical_device_t *card;
    assert_int_equal(gantry_find_physical_device(f.runtime, "fake:1", &card), GANTRY_OK);
    assert_int_equal(gantry_set_memory_limit(f.runtime, card, 61 * MIB), GANTRY_OK);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    for (size_t c = 0; c < COUNT(calls); ++c) {
        for (size_t i = 0; i < COUNT(of_card); ++i)
            expect_meant(&f, c, of_card[i], "/device:GPU:1");
        for (size_t i = 0; i < COUNT(of_cpu); ++i) expect_meant(&f, c, of_cpu[i], "/device:CPU:0");
    }
    runtime_fixture_close(&f);
}

/* The message of a call that refuses the text. */
static const char *refusal(runtime_fixture_t *f, size_t c, const char *text) {
    const char *meant;
    gantry_status_t status = calls[c].call(f, text, &meant);
    assert_true(status == GANTRY_NOT_FOUND || status == GANTRY_INVALID_ARGUMENT);
    return gantry_last_message();
}

TEST(every_call_says_why_a_backend_is_not_used) {
    static const char *const texts[] = {"cuda:0", "CUDA", "GPU:0@cuda"};
    runtime_fixture_t f;
    open_three(&f);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    for (size_t c = 0; c < COUNT(calls); ++c) {
        for (size_t i = 0; i < COUNT(texts); ++i) {
            const char *message = refusal(&f, c, texts[i]);
            if (!strstr(message, "Backend cuda is not used: "))
                fail_msg("%s \"%s\": %s", calls[c].name, texts[i], message);
        }
    }
    runtime_fixture_close(&f);
}

TEST(every_call_says_why_it_takes_no_other) {
    runtime_fixture_t f;
    open_three(&f);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    for (size_t c = 0; c < COUNT(calls); ++c) {
        for (size_t i = 0; i < COUNT(bad); ++i) {
            bool is_several = strcmp(bad[i].why, "Multiple devices match") == 0;
            bool is_nowhere = strcmp(bad[i].why, "unknown device") == 0;
            if (calls[c].is_wish && is_several) continue;
            const char *message = refusal(&f, c, bad[i].text);
            bool is_unmet = calls[c].is_wish && is_nowhere &&
                            strstr(message, "Could not satisfy device specification");
            if (!is_unmet && !strstr(message, bad[i].why))
                fail_msg("%s \"%s\": %s", calls[c].name, bad[i].text, message);
        }
    }
    runtime_fixture_close(&f);
}

/* ---- settings ---- */

/* Checks the card's setting after "<setting>=<name>=<value>". */
static void expect_setting(const char *variable, const char *setting, const char *name,
                           const char *value, const char *wanted, const char *alias,
                           bool is_option) {
    char text[160], assignment[256];
    runtime_fixture_t f;
    const char *const extra[] = {assignment, NULL};
    const gantry_physical_device_t *card;
    gantry_setting_t got = {.struct_size = sizeof got};
    (void)snprintf(text, sizeof text, "%s=%s", name, value);
    (void)snprintf(assignment, sizeof assignment, "%s=%s", variable, text);
    runtime_fixture_clear();
    if (!is_option) assert_int_equal(setenv(variable, text, 1), 0);
    open_with(&f, &(gantry_runtime_options_t){.extra = is_option ? extra : NULL});
    assert_int_equal(gantry_find_physical_device(f.runtime, alias, &card), GANTRY_OK);
    assert_int_equal(gantry_get_setting(f.runtime, setting, card, &got), GANTRY_OK);
    if (strcmp(got.value, wanted) != 0)
        fail_msg("%s=%s: %s is \"%s\"", variable, text, alias, got.value);
    runtime_fixture_close(&f);
}

TEST(every_setting_takes_every_spelling) {
    static const struct {
        const char *variable, *setting, *value, *wanted;
    } settings[] = {{"GANTRY_MEMORY_LIMIT", "memory_limit", "9M", "9M"},
                    {"GANTRY_MEMORY_FRACTION", "memory_fraction", "0.25", "0.25"},
                    {"GANTRY_MEMORY_GROWTH", "memory_growth", "0", "0"},
                    {"GANTRY_LOGICAL_DEVICES", "logical_devices", "1M,2M", "1M,2M"}};
    for (size_t s = 0; s < COUNT(settings); ++s) {
        for (size_t i = 0; i < COUNT(of_card); ++i)
            expect_setting(settings[s].variable, settings[s].setting, of_card[i], settings[s].value,
                           settings[s].wanted, "fake:1", i % 2);
        for (size_t i = 0; i < COUNT(of_cpu); ++i)
            expect_setting(settings[s].variable, settings[s].setting, of_cpu[i], settings[s].value,
                           settings[s].wanted, "cpu:0", i % 2);
    }
}

TEST(every_setting_says_why_it_takes_no_other) {
    static const char *const variables[] = {"GANTRY_MEMORY_LIMIT", "GANTRY_MEMORY_FRACTION",
                                            "GANTRY_MEMORY_GROWTH", "GANTRY_LOGICAL_DEVICES"};
    for (size_t v = 0; v < COUNT(variables); ++v) {
        for (size_t i = 0; i < COUNT(bad); ++i) {
            char assignment[256];
            runtime_fixture_t f;
            const char *const extra[] = {assignment, NULL};
            gantry_runtime_options_t options = runtime_fixture_options(&f);
            (void)snprintf(assignment, sizeof assignment, "%s=%s=1", variables[v], bad[i].text);
            device_fixture_set_three_gpus();
            options.extra = extra;
            const char *why = strcmp(bad[i].why, "unknown device") == 0 ? "is not on this machine"
                              : strcmp(bad[i].why, "Multiple devices match") == 0 ? "names both"
                                                                                  : bad[i].why;
            expect_failure(gantry_runtime_create(&options, &f.runtime), GANTRY_INVALID_ARGUMENT,
                           why);
            locked_heap_deinit(&f.heap);
        }
    }
}

/* "fake:1" if it is the only GPU that the list shows. */
static const char *only_visible(runtime_fixture_t *f) {
    const gantry_physical_device_t *devices[4];
    gantry_device_details_t details = {.struct_size = sizeof details};
    size_t count;
    assert_int_equal(gantry_get_visible_devices(f->runtime, "GPU", 4, devices, &count), GANTRY_OK);
    if (count != 1) return count ? "several" : "none";
    assert_int_equal(gantry_get_device_details(f->runtime, devices[0], &details), GANTRY_OK);
    return details.alias;
}

TEST(visible_list_takes_every_spelling) {
    for (size_t i = 0; i < COUNT(of_card); ++i) {
        runtime_fixture_t f;
        open_with(&f, &(gantry_runtime_options_t){.visible_devices = of_card[i]});
        if (strcmp(only_visible(&f), "fake:1") != 0)
            fail_msg("\"%s\" shows %s", of_card[i], only_visible(&f));
        runtime_fixture_close(&f);
    }
}

TEST(visible_list_says_why_it_takes_no_other) {
    for (size_t i = 0; i < COUNT(bad); ++i) {
        runtime_fixture_t f;
        /* these texts mean every GPU in this list */
        if (strcmp(bad[i].text, "GPU") == 0 || strcmp(bad[i].text, "fake") == 0) continue;
        open_with(&f, &(gantry_runtime_options_t){.visible_devices = bad[i].text});
        if (strcmp(only_visible(&f), "none") != 0)
            fail_msg("\"%s\" shows %s", bad[i].text, only_visible(&f));
        assert_int_equal(
            log_lines_with(&f.log, "option visible_devices: entry 1", "ends the list: "), 1);
        runtime_fixture_close(&f);
    }
}

/* ---- types ---- */

typedef gantry_status_t (*list_fn)(gantry_runtime_t *runtime, const char *type, size_t *out_count);

static gantry_status_t list_physical(gantry_runtime_t *runtime, const char *type,
                                     size_t *out_count) {
    return gantry_list_physical_devices(runtime, type, 0, NULL, out_count);
}
static gantry_status_t list_visible(gantry_runtime_t *runtime, const char *type,
                                    size_t *out_count) {
    return gantry_get_visible_devices(runtime, type, 0, NULL, out_count);
}
static gantry_status_t list_logical(gantry_runtime_t *runtime, const char *type,
                                    size_t *out_count) {
    return gantry_list_logical_devices(runtime, type, 0, NULL, out_count);
}

TEST(lists_take_a_type_in_any_case_and_refuse_a_name) {
    static const list_fn lists[] = {list_physical, list_visible, list_logical};
    static const char *const names[] = {"/GPU", "GPU:0", "/device:GPU:0", "", "GPU "};
    runtime_fixture_t f;
    size_t count;
    open_three(&f);
    for (size_t i = 0; i < COUNT(lists); ++i) {
        assert_int_equal(lists[i](f.runtime, "GPU", &count), GANTRY_OK);
        assert_int_equal(count, 3);
        assert_int_equal(lists[i](f.runtime, "gpu", &count), GANTRY_OK);
        assert_int_equal(count, 3);
        assert_int_equal(lists[i](f.runtime, "TPU", &count), GANTRY_OK);
        assert_int_equal(count, 0);
        for (size_t n = 0; n < COUNT(names); ++n)
            expect_failure(lists[i](f.runtime, names[n], &count), GANTRY_INVALID_ARGUMENT,
                           "a type such as \"GPU\"");
    }
    expect_failure(gantry_set_visible_devices(f.runtime, NULL, 0, "GPU:0"), GANTRY_INVALID_ARGUMENT,
                   "a type such as");
    runtime_fixture_close(&f);
}

/* ---- cards and logical devices ---- */

TEST(card_behind_a_number_is_the_visible_one) {
    runtime_fixture_t f;
    const gantry_physical_device_t *card;
    size_t count;
    open_with(&f, &(gantry_runtime_options_t){.visible_devices = "2,0",
                                              .logical_devices = "fake:2=1M,1M"});
    gantry_device_details_t details = {.struct_size = sizeof details};
    static const struct {
        const char *before, *after, *alias;
    } cases[] = {{"GPU:0", "GPU:0", "fake:2"}, {"GPU:1", "GPU:2", "fake:0"}};
    for (int is_after = 0; is_after < 2; ++is_after) {
        for (size_t i = 0; i < COUNT(cases); ++i) {
            const char *name = is_after ? cases[i].after : cases[i].before;
            assert_int_equal(gantry_find_physical_device(f.runtime, name, &card), GANTRY_OK);
            assert_int_equal(gantry_get_device_details(f.runtime, card, &details), GANTRY_OK);
            assert_string_equal(details.alias, cases[i].alias);
        }
        assert_int_equal(gantry_list_logical_devices(f.runtime, "GPU", 0, NULL, &count), GANTRY_OK);
        assert_int_equal(count, 3);
    }
    /* this is the second part */
    assert_int_equal(gantry_find_physical_device(f.runtime, "GPU:1", &card), GANTRY_OK);
    assert_int_equal(gantry_get_device_details(f.runtime, card, &details), GANTRY_OK);
    assert_string_equal(details.alias, "fake:2");
    expect_failure(gantry_find_physical_device(f.runtime, NULL, &card), GANTRY_INVALID_ARGUMENT,
                   "the device is NULL");
    expect_failure(gantry_find_physical_device(f.runtime, "GPU:0", NULL), GANTRY_INVALID_ARGUMENT,
                   "out_device is NULL");
    expect_failure(gantry_find_physical_device(NULL, "GPU:0", &card), GANTRY_INVALID_ARGUMENT,
                   "the runtime is NULL");
    expect_failure(gantry_find_physical_device(f.runtime, "GPU:9", &card), GANTRY_NOT_FOUND,
                   "GPU:9 unknown device. All available devices [/physical_device:CPU:0 = cpu:0, ");
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
