/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Setters before and after initialisation follow the rules and texts of TensorFlow's
 * config_test.py and config_vgpu_test.py.
 *
 * "Gantry:" marks a deviation. Tests that run ops cover soft placement and device policy. */
#define _XOPEN_SOURCE 700

#include "physical_names.h"
#include "test.h"

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    fake->set_device_count(2);
    return 0;
}

static void freeze(device_fixture_t *f) {
    assert_int_equal(gantry__device_table_freeze(&f->table, "gantry_matmul"), GANTRY_OK);
}

#define MODIFIED(what) \
    what " cannot be modified after being initialized (initialized by gantry_matmul)"

/* ---- visible devices ---- */

static void expect_visible(const device_fixture_t *f, size_t count,
                           const physical_device_t *devices) {
    assert_int_equal(f->table.visible_count, count);
    for (size_t i = 0; i < count; ++i) assert_ptr_equal(f->table.visible[i], devices[i]);
}

TEST(visible_list_of_a_type_keeps_the_order_given) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t turned[] = {gpu(&f, 1), gpu(&f, 0)};
    assert_int_equal(gantry__device_set_visible(&f.table, turned, 2, "GPU"), GANTRY_OK);
    expect_visible(&f, 3, (physical_device_t[]){cpu(&f), gpu(&f, 1), gpu(&f, 0)});
    freeze(&f); /* Gantry: logical numbers follow the order given; TensorFlow's setter ignores it */
    assert_string_equal(device_fixture_find(&f, "GPU:0", NULL)->physical->alias, "fake:1");
    assert_string_equal(device_fixture_find(&f, "GPU:1", NULL)->physical->alias, "fake:0");
    assert_string_equal(device_fixture_find(&f, "/physical_device:GPU:0", NULL)->physical->alias,
                        "fake:0");
    device_fixture_close(&f);
}

TEST(visible_list_without_type_replaces_all) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t only_cpu[] = {cpu(&f)};
    assert_int_equal(gantry__device_set_visible(&f.table, only_cpu, 1, NULL), GANTRY_OK);
    expect_visible(&f, 1, only_cpu);
    /* CPUs come first in any order of the call */
    physical_device_t mixed[] = {gpu(&f, 1), cpu(&f)};
    assert_int_equal(gantry__device_set_visible(&f.table, mixed, 2, NULL), GANTRY_OK);
    expect_visible(&f, 2, (physical_device_t[]){cpu(&f), gpu(&f, 1)});
    assert_false(gantry__device_is_visible(&f.table, gpu(&f, 0)));
    assert_int_equal(gantry__device_set_visible(&f.table, NULL, 0, "GPU"), GANTRY_OK);
    expect_visible(&f, 1, only_cpu);
    device_fixture_close(&f);
}

TEST(visible_list_without_cpu_is_refused) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t gpus[] = {gpu(&f, 0), gpu(&f, 1)};
    /* Gantry: TensorFlow's setter accepts it, and its initialisation fails */
    expect_failure(gantry__device_set_visible(&f.table, gpus, 2, NULL), GANTRY_INVALID_ARGUMENT,
                   "the visible list has no CPU device");
    expect_failure(gantry__device_set_visible(&f.table, NULL, 0, NULL), GANTRY_INVALID_ARGUMENT,
                   "/physical_device:CPU:0");
    expect_failure(gantry__device_set_visible(&f.table, NULL, 0, "CPU"), GANTRY_INVALID_ARGUMENT,
                   "no CPU device");
    assert_int_equal(f.table.visible_count, 3); /* unchanged */
    device_fixture_close(&f);
}

TEST(visible_list_of_wrong_devices_is_refused) {
    device_fixture_t f, g;
    fake->set_device_count(3);
    device_fixture_set_type(fake, 2, GANTRY_DEVICE_TYPE_CPU);
    device_fixture_open(&f, NULL, NULL);
    device_fixture_open(&g, NULL, NULL);
    physical_device_t foreign[] = {gpu(&g, 0)}, twice[] = {gpu(&f, 0), gpu(&f, 0)},
                      of_cpu[] = {cpu(&f)}, none[] = {NULL}, many[8];
    physical_device_t unlisted[] = {device_fixture_physical(&f, "fake:2")};
    expect_failure(gantry__device_set_visible(&f.table, foreign, 1, "GPU"), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    expect_failure(gantry__device_set_visible(&f.table, none, 1, "GPU"), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    expect_failure(gantry__device_set_visible(&f.table, of_cpu, 1, "GPU"), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: /physical_device:CPU:0 is no GPU device");
    expect_failure(
        gantry__device_set_visible(&f.table, twice, 2, "GPU"), GANTRY_INVALID_ARGUMENT,
        "gantry_set_visible_devices: /physical_device:GPU:0 is given twice, as devices 0 and 1");
    for (size_t i = 0; i < 8; ++i) many[i] = gpu(&f, i % 2); /* more than there are */
    expect_failure(gantry__device_set_visible(&f.table, many, 8, "GPU"), GANTRY_INVALID_ARGUMENT,
                   "/physical_device:GPU:0 is given twice, as devices 0 and 2");
    expect_failure(gantry__device_set_visible(&f.table, unlisted, 1, "CPU"),
                   GANTRY_INVALID_ARGUMENT, "fake:2 cannot be made visible: a CPU");
    assert_int_equal(f.table.visible_count, 3);
    device_fixture_close(&g);
    device_fixture_close(&f);
}

TEST(visible_list_is_frozen_by_initialisation) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t only_cpu[] = {cpu(&f)}, gpus[] = {gpu(&f, 0), gpu(&f, 1)},
                      foreign[] = {(physical_device_t)(const void *)&f};
    assert_int_equal(gantry__device_set_visible(&f.table, only_cpu, 1, NULL), GANTRY_OK);
    freeze(&f);
    expect_failure(gantry__device_set_visible(&f.table, gpus, 2, "GPU"), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Visible devices"));
    /* an equal value is fine */
    assert_int_equal(gantry__device_set_visible(&f.table, only_cpu, 1, NULL), GANTRY_OK);
    assert_int_equal(gantry__device_set_visible(&f.table, NULL, 0, "GPU"), GANTRY_OK);
    expect_visible(&f, 1, only_cpu);
    /* the device is checked before the state */
    expect_failure(gantry__device_set_visible(&f.table, foreign, 1, NULL), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device");
    device_fixture_close(&f);
}

TEST(visible_order_is_frozen_too) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    physical_device_t as_is[] = {gpu(&f, 0), gpu(&f, 1)}, turned[] = {gpu(&f, 1), gpu(&f, 0)};
    freeze(&f);
    assert_int_equal(gantry__device_set_visible(&f.table, as_is, 2, "GPU"), GANTRY_OK);
    expect_failure(gantry__device_set_visible(&f.table, turned, 2, "GPU"),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Visible devices"));
    device_fixture_close(&f);
}

/* ---- growth ---- */

TEST(growth_is_on_by_default) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL); /* Gantry: TensorFlow's default is to take all memory */
    assert_true(gpu(&f, 0)->card->settings.growth);
    assert_true(cpu(&f)->card->settings.growth);
    device_fixture_close(&f);
}

TEST(growth_call_wins_over_option_and_environment) {
    static const struct {
        gantry_choice_t option;
        const char *gantry, *tensorflow;
        bool growth;
    } cases[] = {
        {GANTRY_DEFAULT, "0", NULL, false},     {GANTRY_DEFAULT, "1", NULL, true},
        {GANTRY_DEFAULT, NULL, "false", false}, {GANTRY_DEFAULT, NULL, "true", true},
        {GANTRY_DEFAULT, "1", "false", false},  {GANTRY_DEFAULT, "0", "true", true},
        {GANTRY_DEFAULT, "0", "", false},       {GANTRY_ON, "0", NULL, true},
        {GANTRY_OFF, "1", "true", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        gantry_runtime_options_t options = {.struct_size = sizeof options,
                                            .memory_growth = cases[i].option};
        device_fixture_clear();
        if (cases[i].gantry)
            assert_int_equal(setenv("GANTRY_MEMORY_GROWTH", cases[i].gantry, 1), 0);
        if (cases[i].tensorflow)
            assert_int_equal(setenv("TF_FORCE_GPU_ALLOW_GROWTH", cases[i].tensorflow, 1), 0);
        device_fixture_open(&f, NULL, &options);
        if (gpu(&f, 0)->card->settings.growth != cases[i].growth) fail_msg("case %d", (int)i);
        assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), !cases[i].growth),
                         GANTRY_OK);
        assert_int_equal(gpu(&f, 0)->card->settings.growth, !cases[i].growth);
        device_fixture_close(&f);
    }
}

TEST(growth_from_tensorflow_s_variable_is_strict) {
    device_fixture_t f;
    assert_int_equal(setenv("TF_FORCE_GPU_ALLOW_GROWTH", "Truth", 1), 0);
    assert_int_equal(setenv("GANTRY_MEMORY_GROWTH", "0", 1), 0);
    device_fixture_open(&f, NULL, NULL);
    /* a value that does not parse counts as not set */
    assert_false(gpu(&f, 0)->card->settings.growth);
    assert_int_equal(
        log_lines_with(
            &f.log,
            "TF_FORCE_GPU_ALLOW_GROWTH environment variable is set but could not be parsed: \"Truth\"",
            "Valid values are \"true\" or \"false\""),
        1);
    device_fixture_close(&f);
    assert_int_equal(setenv("GANTRY_MEMORY_GROWTH", "2", 1), 0);
    expect_failure(
        device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_INVALID_ARGUMENT,
        "GANTRY_MEMORY_GROWTH is \"2\": at column 1, \"2\" is not understood; accepted are 0, off");
}

TEST(growth_set_twice_before_initialisation_last_wins) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), false), GANTRY_OK);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), true), GANTRY_OK);
    assert_true(gpu(&f, 0)->card->settings.growth);
    device_fixture_close(&f);
}

TEST(growth_is_frozen_by_initialisation) {
    device_fixture_t f, g;
    device_fixture_open(&f, NULL, NULL);
    device_fixture_open(&g, NULL, NULL);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), true), GANTRY_OK);
    freeze(&f);
    expect_failure(gantry__device_set_growth(&f.table, gpu(&f, 0), false),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Physical devices"));
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), true), GANTRY_OK);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 1), true),
                     GANTRY_OK); /* Gantry: never set and True are equal */
    expect_failure(gantry__device_set_growth(&f.table, gpu(&g, 0), false), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    device_fixture_close(&g);
    device_fixture_close(&f);
}

TEST(growth_may_differ_between_devices) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), true), GANTRY_OK);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 1), false), GANTRY_OK);
    /* Gantry: CPUs have growth, too */
    assert_int_equal(gantry__device_set_growth(&f.table, cpu(&f), false), GANTRY_OK);
    freeze(&f); /* Gantry: TensorFlow says "Memory growth cannot differ between GPU devices" here */
    assert_true(gpu(&f, 0)->card->settings.growth);
    assert_false(gpu(&f, 1)->card->settings.growth);
    device_fixture_close(&f);
}

/* ---- limits and logical devices ---- */

TEST(limit_beyond_the_card_is_refused) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    expect_failure(
        gantry__device_set_limit(&f.table, gpu(&f, 0), (64 << 20) + 1), GANTRY_INVALID_ARGUMENT,
        "memory limit 67108865 of /physical_device:GPU:0 is more than the device has: at most 67108864 bytes");
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 64 << 20), GANTRY_OK);
    /* the type's default */
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 0), GANTRY_OK);
    device_fixture_close(&f);
}

TEST(limit_is_frozen_by_initialisation) {
    device_fixture_t f;
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 1 << 20), GANTRY_OK);
    freeze(&f);
    assert_int_equal(gantry__device_set_limit(&f.table, gpu(&f, 0), 1 << 20), GANTRY_OK);
    expect_failure(gantry__device_set_limit(&f.table, gpu(&f, 0), 2 << 20),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Physical devices"));
    expect_failure(gantry__device_set_limit(&f.table, gpu(&f, 0), 0), GANTRY_FAILED_PRECONDITION,
                   MODIFIED("Physical devices"));
    device_fixture_close(&f);
}

TEST(limit_of_all_devices_comes_from_option_or_environment) {
    device_fixture_t f;
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .memory_limit_bytes = 3 << 20};
    assert_int_equal(setenv("GANTRY_MEMORY_LIMIT", "5M", 1), 0);
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 5 << 20);
    device_fixture_close(&f);
    device_fixture_open(&f, NULL, &options);
    assert_int_equal(gpu(&f, 0)->card->settings.limit_bytes, 3 << 20);
    device_fixture_close(&f);
    assert_int_equal(setenv("GANTRY_MEMORY_LIMIT", "5 apples", 1), 0);
    expect_failure(
        device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_INVALID_ARGUMENT,
        "GANTRY_MEMORY_LIMIT is \"5 apples\": at column 1, \"5 apples\" is not understood; accepted is a number");
}

TEST(logical_configuration_of_one_sets_the_limit) {
    device_fixture_t f;
    gantry_logical_device_config_t one = {.memory_limit_bytes = 10 << 20},
                                   other_one = {.memory_limit_bytes = 20 << 20};
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 0), &one, 1), GANTRY_OK);
    /* Gantry: a CPU may have a limit, too */
    assert_int_equal(gantry__device_set_logical(&f.table, cpu(&f), &one, 1), GANTRY_OK);
    freeze(&f);
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 0), &one, 1), GANTRY_OK);
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), &other_one, 1),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Virtual devices"));
    gantry_logical_device_t *device = device_fixture_find(&f, "GPU:0", NULL);
    assert_int_equal(gantry__logical_device_open(device), GANTRY_OK);
    gantry__bfc_stats_t stats;
    gantry__allocator_stats(&device->allocator, &stats);
    assert_int_equal(stats.bytes_limit, 10 << 20);
    device_fixture_close(&f);
}

TEST(logical_configuration_is_checked_at_once) {
    device_fixture_t f;
    gantry_logical_device_config_t two[2] = {{.memory_limit_bytes = 10 << 20},
                                             {.memory_limit_bytes = 10 << 20}},
                                   too_much = {.memory_limit_bytes = UINT64_MAX};
    device_fixture_open(&f, NULL, NULL);
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), two, 0),
                   GANTRY_INVALID_ARGUMENT, "is empty");
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), NULL, 1),
                   GANTRY_INVALID_ARGUMENT, "is NULL");
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), &too_much, 1),
                   GANTRY_INVALID_ARGUMENT, "more than the device has");
    expect_failure(gantry__device_set_logical(&f.table, NULL, two, 2), GANTRY_INVALID_ARGUMENT,
                   "Unrecognized device: ");
    freeze(&f);
    expect_failure(gantry__device_set_logical(&f.table, gpu(&f, 0), two, 2),
                   GANTRY_FAILED_PRECONDITION, MODIFIED("Virtual devices"));
    device_fixture_close(&f);
}

TEST(growth_and_limit_may_be_combined) {
    device_fixture_t f;
    gantry_logical_device_config_t one = {.memory_limit_bytes = 10 << 20};
    device_fixture_open(&f, NULL, NULL);
    /* Gantry: TensorFlow drops growth in one order and refuses it in the other */
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 0), true), GANTRY_OK);
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 0), &one, 1), GANTRY_OK);
    assert_true(gpu(&f, 0)->card->settings.growth);
    assert_int_equal(gantry__device_set_logical(&f.table, gpu(&f, 1), &one, 1), GANTRY_OK);
    assert_int_equal(gantry__device_set_growth(&f.table, gpu(&f, 1), false), GANTRY_OK);
    assert_false(gpu(&f, 1)->card->settings.growth);
    device_fixture_close(&f);
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
