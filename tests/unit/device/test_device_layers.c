/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Options and variables of growth, limit, fraction and splits set the devices that their
 * text names; bad forms and random bytes are refused. */
#define _XOPEN_SOURCE 700

#include "device/physical_device.h"
#include "physical_names.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    device_fixture_set_three_gpus();
    return 0;
}

static void set_variable(const char *name, const char *value) {
    assert_int_equal(setenv(name, value, 1), 0);
}

/* ---- the named device ---- */

TEST(limit_takes_one_value_or_a_list) {
    static const struct {
        const char *text;
        uint64_t mebibytes[3]; /* limits of GPU 0, 1, 2; 0: none */
        bool cpu;              /* has a limit */
    } cases[] = {
        {"", {0, 0, 0}, false},
        {"16M", {16, 16, 16}, true},
        {"0", {0, 0, 0}, false},
        {"50%", {32, 32, 32}, true},
        {"12.5%", {8, 8, 8}, true},
        {"1T", {64, 64, 64}, true}, /* at most the device's memory */
        {"*=16M", {16, 16, 16}, true},
        {"GPU:0=16M", {16, 0, 0}, false},
        {"GPU:0=16M,GPU:1=50%,*=1M", {16, 32, 1}, true},
        {"*=1M,GPU:1=2M", {1, 2, 1}, true}, /* * means the rest, in any position */
        {"GPU:1=0,*=1M", {1, 0, 1}, true},  /* 0 removes the limit of that device */
        {" GPU:0 = 16M , * = 1M ", {16, 1, 1}, true},
        {"gpu:0=1M,/GPU:1=2M,/device:GPU:2=3M", {1, 2, 3}, false},
        {"/physical_device:GPU:2=3M", {0, 0, 3}, false},
        {"/job:localhost/replica:0/task:0/device:GPU:1=2M", {0, 2, 0}, false},
        {"fake:2=3M,fake:0=1M", {1, 0, 3}, false},
        {"GPU:1@fake=2M", {0, 2, 0}, false},
        {"GPU-bbbb=3M", {0, 0, 3}, false},
        {"UUID:bbbb=3M", {0, 0, 3}, false},
        {"0000:65:00.0=2M", {0, 2, 0}, false},
        {"17:00.0=1M", {1, 0, 0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        set_variable("GANTRY_MEMORY_LIMIT", cases[i].text);
        device_fixture_open(&f, NULL, NULL);
        for (int g = 0; g < 3; ++g) {
            uint64_t limit = gpu(&f, g)->card->settings.limit_bytes;
            if (limit != cases[i].mebibytes[g] * MIB)
                fail_msg("\"%s\": GPU %d has %ld", cases[i].text, g, (long)limit);
        }
        if ((cpu(&f)->card->settings.limit_bytes > 0) != cases[i].cpu)
            fail_msg("\"%s\": CPU", cases[i].text);
        device_fixture_close(&f);
    }
}

TEST(fraction_and_growth_take_lists_too) {
    device_fixture_t f;
    set_variable("GANTRY_MEMORY_FRACTION", "GPU:0=0.25,GPU:2=50%");
    set_variable("GANTRY_MEMORY_GROWTH", "GPU:0=off,*=on");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 16 * MIB);
    assert_int_equal(gpu(&f, 1)->card->settings.limit_bytes, 0);
    assert_int_equal(gpu(&f, 2)->card->settings.limit_bytes, 32 * MIB);
    assert_false(gpu(&f, 0)->card->settings.growth);
    assert_true(gpu(&f, 1)->card->settings.growth);
    assert_true(cpu(&f)->card->settings.growth);
    device_fixture_close(&f);
}

TEST(option_s_list_leaves_other_devices_to_the_environment) {
    device_fixture_t f;
    static const char *const extra[] = {"GANTRY_MEMORY_LIMIT=GPU:0=1M", NULL};
    gantry_runtime_options_t options = {.struct_size = sizeof options, .extra = extra};
    set_variable("GANTRY_MEMORY_LIMIT", "*=2M");
    device_fixture_open(&f, NULL, &options);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 1 * MIB);
    assert_int_equal(gpu(&f, 1)->card->settings.limit_bytes, 2 * MIB);
    device_fixture_close(&f);
}

TEST(device_that_is_not_there_is_warned_of_or_refused) {
    static const char *const texts[] = {"GPU:9=1M,GPU:0=2M",
                                        "GPU-cccc=1M,GPU:0=2M",
                                        "0000:01:00.0=1M,GPU:0=2M",
                                        "fake:7=1M,GPU:0=2M",
                                        "/job:worker/device:GPU:1=1M,GPU:0=2M",
                                        "TPU:0=1M,GPU:0=2M"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        device_fixture_t f;
        char assignment[128];
        const char *extra[] = {assignment, NULL};
        gantry_runtime_options_t options = {.struct_size = sizeof options, .extra = extra};
        set_variable("GANTRY_MEMORY_LIMIT", texts[i]);
        device_fixture_open(&f, NULL, NULL);
        /* the limit of an existing device is still set */
        assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 2 * MIB);
        assert_int_equal(log_lines_with(&f.log, "GANTRY_MEMORY_LIMIT: ", "is not on this machine"),
                         1);
        device_fixture_close(&f);
        (void)unsetenv("GANTRY_MEMORY_LIMIT");
        (void)snprintf(assignment, sizeof assignment, "GANTRY_MEMORY_LIMIT=%s", texts[i]);
        expect_failure(device_fixture_try_open(&f, NULL, &options, -1), GANTRY_INVALID_ARGUMENT,
                       "is not on this machine");
        assert_non_null(strstr(gantry__message(), "option GANTRY_MEMORY_LIMIT is \""));
    }
}

TEST(device_of_an_unused_backend_is_missed_with_the_reason) {
    static const char ignored[] =
        "opencl:0 is not on this machine; its value is ignored. Backend opencl is not used: ";
    static const char refused[] = "opencl:0 is not on this machine. Backend opencl is not used: ";
    static const char *const extra[] = {"GANTRY_MEMORY_GROWTH=opencl:0=on", NULL};
    device_fixture_t f;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .extra = extra};
    set_variable("GANTRY_MEMORY_LIMIT", "opencl:0=1M");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(log_lines_with(&f.log, "GANTRY_MEMORY_LIMIT: ", ignored), 1);
    device_fixture_close(&f);
    (void)unsetenv("GANTRY_MEMORY_LIMIT");
    expect_failure(device_fixture_try_open(&f, NULL, &options, -1), GANTRY_INVALID_ARGUMENT,
                   refused);
}

TEST(unlisted_view_cannot_be_split) {
    device_fixture_t f;
    device_fixture_set_type(fake, 2, GANTRY_DEVICE_TYPE_CPU);
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .logical_devices = "fake:2=1M,1M"};
    set_variable("GANTRY_LOGICAL_DEVICES", "fake:2=1M,1M");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(device_fixture_physical(&f, "fake:2")->card->part_count, 0);
    assert_int_equal(
        log_lines_with(&f.log, "GANTRY_LOGICAL_DEVICES: fake:2 cannot be configured", "a CPU"), 1);
    gantry_logical_device_config_t two[2] = {{.memory_limit_bytes = MIB},
                                             {.memory_limit_bytes = MIB}};
    expect_failure(
        gantry__device_set_logical(&f.table, device_fixture_physical(&f, "fake:2"), two, 2),
        GANTRY_INVALID_ARGUMENT,
        "fake:2 cannot be split: a CPU: the CPU backend serves the same cores");
    device_fixture_close(&f);
    (void)unsetenv("GANTRY_LOGICAL_DEVICES");
    expect_failure(
        device_fixture_try_open(&f, NULL, &options, -1), GANTRY_INVALID_ARGUMENT,
        "option logical_devices is \"fake:2=1M,1M\": at column 1, fake:2 cannot be configured");
}

/* ---- splits ---- */

TEST(splits_are_read_with_all_their_keys) {
    device_fixture_t f;
    set_variable(
        "GANTRY_LOGICAL_DEVICES",
        "GPU:0=16M / work_group=64 / local=16K/ordinal=0,8M/allocation=2M/ordinal=0;CPU:0=,;"
        "fake:1=4M/ordinal=2/priority=0,8M/priority=0/ordinal=1");
    device_fixture_open(&f, NULL, NULL);
    const struct gantry_physical_device_t *first = gpu(&f, 0), *second = gpu(&f, 1);
    assert_int_equal(first->card->part_count, 2);
    assert_int_equal(first->card->parts[0].memory_limit_bytes, 16 * MIB);
    assert_int_equal(first->card->parts[0].max_work_group_size, 64);
    assert_int_equal(first->card->parts[0].local_memory_bytes, 16384);
    assert_int_equal(first->card->parts[0].largest_allocation_bytes, 0);
    assert_int_equal(first->card->parts[1].memory_limit_bytes, 8 * MIB);
    assert_int_equal(first->card->parts[1].largest_allocation_bytes, 2 * MIB);
    assert_false(first->card->parts[1].has_priority);
    assert_int_equal(cpu(&f)->card->part_count, 2);
    assert_int_equal(cpu(&f)->card->parts[1].memory_limit_bytes, 0);
    assert_int_equal(second->card->part_count, 2);
    assert_true(second->card->parts[0].has_ordinal && second->card->parts[0].ordinal == 2);
    assert_true(second->card->parts[1].has_priority && second->card->parts[1].priority == 0);
    device_fixture_close(&f);
}

TEST(texts_of_splits_read_back) {
    static const char *const texts[] = {
        "16M",       "16M,8M",
        ",",         "1G/priority=-1/ordinal=3/work_group=64/local=16K/allocation=512M,2M",
        "1,1K,1025", "/work_group=7,"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        gantry_logical_device_config_t parts[GANTRY__MOST_PARTS], again[GANTRY__MOST_PARTS];
        size_t count = 0, again_count = 0;
        char out[256];
        gantry__config_text_t text = {"test", texts[i]};
        gantry__config_item_t item = {
            .at = texts[i], .value = texts[i], .length = strlen(texts[i])};
        assert_int_equal(gantry__config_parts(&text, &item, parts, &count), GANTRY_OK);
        gantry__format_parts(parts, count, out, sizeof out);
        assert_string_equal(out, texts[i]);
        item.value = item.at = text.text = out;
        assert_int_equal(gantry__config_parts(&text, &item, again, &again_count), GANTRY_OK);
        assert_true(gantry__parts_equal(parts, count, again, again_count));
        gantry__format_parts(parts, count, out, 5); /* cut to the device's memory */
        assert_true(strlen(out) < 5);
    }
}

/* ---- bad forms ---- */

static const struct {
    const char *variable, *text, *message;
} bad_texts[] = {
    {"GANTRY_MEMORY_LIMIT", "2X",
     "at column 1, \"2X\" is not understood; accepted is a number of bytes"},
    {"GANTRY_MEMORY_LIMIT", "-1", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", " ", "at column 2, \"\" is not understood"},
    {"GANTRY_MEMORY_LIMIT", "101%", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", "0%", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", "1.5G", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", "99999999999T", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", "1M,2M", "at column 1, \"1M\" is not of the form DEVICE=VALUE"},
    {"GANTRY_MEMORY_LIMIT", "GPU:0=1M,2M", "at column 10, \"2M\" is not of the form DEVICE=VALUE"},
    {"GANTRY_MEMORY_LIMIT", "GPU:0=1M,", "at column 10, \"\" is not of the form"},
    {"GANTRY_MEMORY_LIMIT", ",GPU:0=1M", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", "GPU:0=", "at column 7, \"\" is not understood"},
    {"GANTRY_MEMORY_LIMIT", "=1M", "at column 1, there is no device in front of '='"},
    {"GANTRY_MEMORY_LIMIT", "GPU:0==1M", "at column 7, \"=1M\""},
    {"GANTRY_MEMORY_LIMIT", "GPU:0=1M,GPU:0=2M",
     "at column 10, /physical_device:GPU:0 is given twice"},
    {"GANTRY_MEMORY_LIMIT", "GPU:0=1M,fake:0=2M",
     "at column 10, /physical_device:GPU:0 is given twice"},
    {"GANTRY_MEMORY_LIMIT", "*=1M,*=2M", "at column 6, * is given twice"},
    {"GANTRY_MEMORY_LIMIT", "GPU=1M", "at column 1, "},
    {"GANTRY_MEMORY_LIMIT", "GPU:*=1M",
     "at column 1, GPU:* names both /physical_device:GPU:0 and "},
    {"GANTRY_MEMORY_LIMIT", "GPU-aaaa=1M", "at column 1, GPU-aaaa names both"},
    {"GANTRY_MEMORY_LIMIT", "GPU::0=1M", "at column 1, Malformed device specification 'GPU::0'"},
    {"GANTRY_MEMORY_LIMIT", "GPU:-1=1M", "Malformed device specification"},
    {"GANTRY_MEMORY_FRACTION", "1.2",
     "over 0 up to 1, such as 0.25 or 25%; oversubscription is not supported"},
    {"GANTRY_WAIT_POLICY", "GPU:0=sleep",
     "at column 7, \"sleep\" is not understood; accepted are auto, spin, yield, block, adaptive"},
    {"GANTRY_WAIT_POLICY", "*=spin,*=block", "* is given twice"},
    {"GANTRY_MEMORY_FRACTION", "0", "at column 1, \"0\" is not understood"},
    {"GANTRY_MEMORY_FRACTION", "GPU:1=nan", "at column 7, \"nan\""},
    {"GANTRY_MEMORY_FRACTION", "512M", "at column 1, "},
    {"GANTRY_MEMORY_GROWTH", "GPU:0=2",
     "at column 7, \"2\" is not understood; accepted are 0, off, false, no, 1"},
    {"GANTRY_LOGICAL_DEVICES", "1024M,1024M",
     "at column 1, \"1024M,1024M\" is not of the form DEVICE=VALUE"},
    {"GANTRY_LOGICAL_DEVICES", "*=1M,1M",
     "at column 1, * is not accepted here; a split needs a device's name"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M,1M;", "at column 13, "},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M,1M;GPU:0=1M",
     "at column 13, /physical_device:GPU:0 is given twice"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M,1X", "at column 10, the part \"1X\" is not understood"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M,50%", "at column 10, the part \"50%\""},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/speed=3",
     "at column 10, \"speed=3\" is not understood; accepted are priority="},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/", "at column 10, \"\" is not understood"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/priority", "at column 10, \"priority\" is not understood"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/priority=x",
     "at column 19, priority is \"x\"; a whole number is accepted"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/local=1/local=2",
     "at column 18, local is given twice for one part"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/work_group=0",
     "work_group is \"0\"; a number over 0 is accepted"},
    {"GANTRY_LOGICAL_DEVICES", "GPU:0=1M/work_group=4294967296", "work_group is"},
    {"GANTRY_LOGICAL_DEVICES",
     "CPU:0=,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
     "CPU:0 gets more than 64 parts"},
    {"GANTRY_LOGICAL_DEVICES", "CPU:0=1M;GPU:0=40M,40M",
     "at column 10, the memory limits of the 2 parts of /physical_device:GPU:0 add up to 83886080 bytes; it has 67108864"},
    {"GANTRY_MEMORY_COLLECT", "maybe", "GANTRY_MEMORY_COLLECT is \"maybe\"; accepted are 0, off"},
    {"GANTRY_MEMORY_STEP", "1X", "GANTRY_MEMORY_STEP is \"1X\"; accepted is a number of bytes"},
    {"GANTRY_MEMORY_SPLIT", "-1", "GANTRY_MEMORY_SPLIT is \"-1\""},
    {"GANTRY_PINNED_LIMIT", "50%", "GANTRY_PINNED_LIMIT is \"50%\""},
    {"GANTRY_OOM_RETRY_MS", "1s",
     "GANTRY_OOM_RETRY_MS is \"1s\"; a number of milliseconds from 0 to 2147483647"},
    {"GANTRY_OOM_RETRY_MS", "2147483648", "GANTRY_OOM_RETRY_MS is"},
    {"GANTRY_OOM_FALLBACK", "gpu",
     "GANTRY_OOM_FALLBACK is \"gpu\"; accepted are off (0, false, no), cpu"},
};

TEST(bad_text_is_named_with_its_place) {
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; ++i) {
        device_fixture_t f;
        set_variable(bad_texts[i].variable, bad_texts[i].text);
        gantry_status_t status = device_fixture_try_open(&f, NULL, NULL, -1);
        if (status != GANTRY_INVALID_ARGUMENT)
            fail_msg("%s=%s: %d", bad_texts[i].variable, bad_texts[i].text, (int)status);
        if (!strstr(gantry__message(), bad_texts[i].message)) fail_msg("%s", gantry__message());
        if (!strstr(gantry__message(), bad_texts[i].text) ||
            !strstr(gantry__message(), bad_texts[i].variable))
            fail_msg("it does not name what it is about: %s", gantry__message());
        (void)unsetenv(bad_texts[i].variable);
    }
}

TEST(bad_text_is_refused_though_an_option_overrules_it) {
    device_fixture_t f;
    gantry_runtime_options_t options = {
        .struct_size = sizeof options, .memory_limit_bytes = MIB, .memory_step_bytes = MIB};
    set_variable("GANTRY_MEMORY_LIMIT", "2X");
    expect_failure(device_fixture_try_open(&f, NULL, &options, -1), GANTRY_INVALID_ARGUMENT,
                   "GANTRY_MEMORY_LIMIT is \"2X\"");
    (void)unsetenv("GANTRY_MEMORY_LIMIT");
    set_variable("GANTRY_MEMORY_STEP", "2X");
    expect_failure(device_fixture_try_open(&f, NULL, &options, -1), GANTRY_INVALID_ARGUMENT,
                   "GANTRY_MEMORY_STEP is \"2X\"");
}

static uint64_t random_state = 88172645463325252u;

static uint32_t next_random(uint32_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % below;
}

/* Pieces of the grammar and random bytes in any order: the status is OK or InvalidArgument, and
 * nothing leaks (the fixture checks). */
TEST(random_texts_do_no_harm) {
    static const char *const variables[] = {"GANTRY_MEMORY_LIMIT",  "GANTRY_MEMORY_FRACTION",
                                            "GANTRY_MEMORY_GROWTH", "GANTRY_LOGICAL_DEVICES",
                                            "GANTRY_OOM_RETRY_MS",  "GANTRY_MEMORY_STEP"};
    static const char *const pieces[] = {"GPU:0",
                                         "GPU:1",
                                         "CPU:0",
                                         "fake:2",
                                         "*",
                                         "=",
                                         ",",
                                         ";",
                                         "/",
                                         "priority=",
                                         "ordinal=",
                                         "local=",
                                         "work_group=",
                                         "allocation=",
                                         "1M",
                                         "50%",
                                         "0.5",
                                         "1",
                                         "0",
                                         "-1",
                                         " ",
                                         "GPU-aaaa1",
                                         "65:00.0",
                                         "%",
                                         "99999999999999999999",
                                         "on",
                                         ".",
                                         "K"};
    int good = 0, bad = 0;
    for (int i = 0; i < 6000; ++i) {
        char text[512] = "";
        size_t used = 0;
        for (uint32_t n = next_random(12); n > 0; --n) {
            bool is_piece = i % 3 != 0;
            const char *piece = pieces[next_random(sizeof pieces / sizeof pieces[0])];
            char byte[2] = {(char)(1 + next_random(255)), '\0'};
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s", is_piece ? piece : byte);
        }
        const char *variable = variables[i % 6];
        set_variable(variable, text);
        device_fixture_t f;
        gantry_status_t status = device_fixture_try_open(&f, NULL, NULL, -1);
        if (status != GANTRY_OK && status != GANTRY_INVALID_ARGUMENT)
            fail_msg("%s=%s: %d", variable, text, (int)status);
        if (status != GANTRY_OK && !strstr(gantry__message(), variable))
            fail_msg("%s=%s: %s", variable, text, gantry__message());
        if (status == GANTRY_OK) {
            ++good;
            device_fixture_close(&f);
        } else {
            ++bad;
        }
        (void)unsetenv(variable);
    }
    assert_true(good > 100 && bad > 1000);
}

TEST(memory_running_out_leaves_no_half_table) {
    set_variable("GANTRY_LOGICAL_DEVICES", "GPU:0=1M,1M;GPU:1=1M,2M;CPU:0=,");
    set_variable("GANTRY_MEMORY_LIMIT", "GPU:0=16M,*=32M");
    for (long at = 0;; ++at) {
        device_fixture_t f;
        gantry_status_t status = device_fixture_try_open(&f, NULL, NULL, at);
        if (status == GANTRY_OK) {
            device_fixture_close(&f);
            assert_true(at > 20);
            return;
        }
        if (status != GANTRY_RESOURCE_EXHAUSTED)
            fail_msg("allocation %ld: %s", at, gantry__message());
    }
}

/* ---- the policy ---- */

TEST(policy_is_read_from_environment_and_option) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    const gantry__memory_policy_t *policy = &f.table.policy;
    assert_int_equal(policy->step_bytes, 1024 * MIB);
    assert_int_equal(policy->split_bytes, 64 << 10);
    assert_true(policy->collect);
    assert_int_equal(policy->retry_ms, 10000);
    assert_false(policy->explicit_retry);
    assert_int_equal(policy->pinned_limit_bytes, 1024 * MIB);
    assert_false(policy->oom_fallback);
    device_fixture_close(&f);
    set_variable("GANTRY_MEMORY_STEP", "32M");
    set_variable("GANTRY_MEMORY_SPLIT", "4M");
    set_variable("GANTRY_MEMORY_COLLECT", "0");
    set_variable("GANTRY_OOM_RETRY_MS", "250");
    set_variable("GANTRY_PINNED_LIMIT", "16M");
    set_variable("GANTRY_OOM_FALLBACK", "cpu");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(policy->step_bytes, 32 * MIB);
    assert_int_equal(policy->split_bytes, 4 * MIB);
    assert_false(policy->collect);
    assert_int_equal(policy->retry_ms, 250);
    assert_true(policy->explicit_retry);
    assert_int_equal(policy->pinned_limit_bytes, 16 * MIB);
    assert_true(policy->oom_fallback);
    device_fixture_close(&f);
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .memory_step_bytes = MIB,
                                        .memory_split_bytes = 2 * MIB,
                                        .memory_collect = GANTRY_ON,
                                        .oom_retry_ms = 7,
                                        .pinned_limit_bytes = 3 * MIB,
                                        .oom_fallback = GANTRY_OFF};
    device_fixture_open(&f, NULL, &options);
    assert_int_equal(policy->step_bytes, MIB);
    assert_int_equal(policy->split_bytes, 2 * MIB);
    assert_true(policy->collect);
    assert_int_equal(policy->retry_ms, 7);
    assert_int_equal(policy->pinned_limit_bytes, 3 * MIB);
    assert_false(policy->oom_fallback);
    device_fixture_close(&f);
}

TEST(tensorflow_s_variables_hold_below_ours) {
    device_fixture_t f;
    set_variable("TF_ENABLE_GPU_GARBAGE_COLLECTION", "false");
    set_variable("TF_GPU_HOST_MEM_LIMIT_IN_MB", "64");
    device_fixture_open(&f, NULL, NULL);
    assert_false(f.table.policy.collect);
    assert_int_equal(f.table.policy.pinned_limit_bytes, 64 * MIB);
    device_fixture_close(&f);
    set_variable("GANTRY_MEMORY_COLLECT", "1");
    set_variable("GANTRY_PINNED_LIMIT", "5M");
    device_fixture_open(&f, NULL, NULL);
    assert_true(f.table.policy.collect);
    assert_int_equal(f.table.policy.pinned_limit_bytes, 5 * MIB);
    device_fixture_close(&f);
    device_fixture_clear();
    set_variable("TF_ENABLE_GPU_GARBAGE_COLLECTION", "maybe");
    set_variable("TF_GPU_HOST_MEM_LIMIT_IN_MB", "much");
    /* TensorFlow's variables: a bad value is logged and ignored */
    device_fixture_open(&f, NULL, NULL);
    assert_true(f.table.policy.collect);
    assert_int_equal(f.table.policy.pinned_limit_bytes, 1024 * MIB);
    assert_int_equal(log_lines_with(&f.log, "is set but could not be parsed", "\"maybe\""), 1);
    assert_int_equal(log_lines_with(&f.log, "is set but could not be parsed", "\"much\""), 1);
    device_fixture_close(&f);
}

TEST(forced_growth_is_for_gpus_and_beats_our_variable) {
    device_fixture_t f;
    set_variable("TF_FORCE_GPU_ALLOW_GROWTH", "true");
    set_variable("GANTRY_MEMORY_GROWTH", "GPU:1=1,*=0");
    device_fixture_open(&f, NULL, NULL);
    assert_true(gpu(&f, 0)->card->settings.growth);
    assert_false(cpu(&f)->card->settings.growth);
    assert_int_equal(
        log_lines_with(&f.log, "TF_FORCE_GPU_ALLOW_GROWTH overrules GANTRY_MEMORY_GROWTH", "GPU:"),
        2);
    /* a call overrides it */
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), false), GANTRY_OK);
    assert_false(gpu(&f, 0)->card->settings.growth);
    assert_int_equal(
        log_lines_with(&f.log, "gantry_set_memory_growth overrules TF_FORCE_GPU_ALLOW_GROWTH",
                       "off"),
        1);
    /* both agree: no log line */
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 1), true), GANTRY_OK);
    assert_int_equal(log_lines_with(&f.log, "gantry_set_memory_growth overrules", ""), 1);
    device_fixture_close(&f);
    gantry_runtime_options_t options = {.struct_size = sizeof options, .memory_growth = GANTRY_OFF};
    device_fixture_open(&f, NULL, &options); /* and so does an option */
    assert_false(gpu(&f, 0)->card->settings.growth);
    assert_int_equal(
        log_lines_with(&f.log, "option memory_growth overrules TF_FORCE_GPU_ALLOW_GROWTH", "off"),
        3);
    device_fixture_close(&f);
    device_fixture_clear();
    fake->set_device_count(1);
    set_variable("TF_FORCE_GPU_ALLOW_GROWTH", "maybe");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(
        log_lines_with(
            &f.log,
            "The TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: \"maybe\". Valid values are \"true\" or \"false\".",
            "Using original config value of 1."),
        1);
    device_fixture_close(&f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
