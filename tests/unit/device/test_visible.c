/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A call, an option or a variable selects the GPUs of a runtime and their order, here on
 * fake cards.
 * Promise: An error about a hidden device names the setting that hides it.
 *
 * test_visible_list.c tests the grammar. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "test.h"

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    device_fixture_set_three_gpus();
    return 0;
}

/* "2 0" for the visible fake cards in order, without the CPU, which is always there. */
static const char *visible_cards(const device_fixture_t *f) {
    static char text[64];
    size_t used = 0;
    text[0] = '\0';
    bool has_cpu = false;
    for (size_t i = 0; i < f->table.visible_count; ++i) {
        physical_device_t device = f->table.visible[i];
        has_cpu = has_cpu || strcmp(device->type, "CPU") == 0;
        if (strcmp(device->type, "CPU") == 0) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used ? " " : "",
                                 device->backend_index);
    }
    assert_true(has_cpu);
    return text;
}

static void set_variable(const char *name, const char *value) {
    if (value) {
        assert_int_equal(setenv(name, value, 1), 0);
    } else {
        (void)unsetenv(name);
    }
}

TEST(variable_selects_and_orders) {
    static const struct {
        const char *text, *cards;
        int warnings;
    } cases[] = {
        {NULL, "0 1 2", 0},
        {"2,0", "2 0", 0},
        {"", "", 1},
        {"-1", "", 1},
        {"\"1\"", "1", 0},
        {"0,2,-1,1", "0 2", 1}, /* the first bad entry ends the list */
        {"7,0", "", 1},
        {"GPU-bbbb,GPU-aaaa1", "2 0", 0},
        {"GPU-aaaa", "", 1}, /* two cards begin like this */
        {"0000:65:00.0,17:00.0", "1 0", 0},
        {"fake:2", "2", 0},
        {"GPU:1,/physical_device:GPU:0", "1 0", 0},
        {"fake", "0 1 2", 0},
        {"^1", "0 2", 0},
        {"^fake:0", "1 2", 0},
        {"auto", "0 1 2", 0},
        {"2,auto", NULL, 0}, /* the list names a device twice */
        {"1,1", NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        set_variable("GANTRY_VISIBLE_DEVICES", cases[i].text);
        gantry_status_t status = device_fixture_try_open(&f, NULL, NULL, -1);
        if (!cases[i].cards) {
            expect_failure(status, GANTRY_INVALID_ARGUMENT, "GANTRY_VISIBLE_DEVICES names device");
            continue;
        }
        assert_int_equal(status, GANTRY_OK);
        if (strcmp(visible_cards(&f), cases[i].cards) != 0)
            fail_msg("%s: %s", cases[i].text, visible_cards(&f));
        if (log_lines_with(&f.log, "GANTRY_VISIBLE_DEVICES", "") != cases[i].warnings)
            fail_msg("%s: log", cases[i].text);
        device_fixture_close(&f);
    }
}

TEST(option_wins_over_the_variable) {
    device_fixture_t f;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .visible_devices = "1"};
    set_variable("GANTRY_VISIBLE_DEVICES", "2");
    device_fixture_open(&f, NULL, &options);
    assert_string_equal(visible_cards(&f), "1");
    device_fixture_close(&f);
    options.visible_devices = ""; /* set, but empty: no GPU */
    device_fixture_open(&f, NULL, &options);
    assert_string_equal(visible_cards(&f), "");
    device_fixture_close(&f);
    options.visible_devices = "1,1";
    expect_failure(device_fixture_try_open(&f, NULL, &options, -1), GANTRY_INVALID_ARGUMENT,
                   "option visible_devices names device");
}

TEST(call_wins_over_the_variable) {
    device_fixture_t f;
    set_variable("GANTRY_VISIBLE_DEVICES", "2");
    device_fixture_open(&f, NULL, NULL);
    physical_device_t wanted[] = {device_fixture_physical(&f, "fake:1"),
                                  device_fixture_physical(&f, "fake:0")};
    assert_int_equal(gantry__device_set_visible(&f.table, wanted, 2, "GPU"), GANTRY_OK);
    assert_string_equal(visible_cards(&f), "1 0");
    device_fixture_close(&f);
}

TEST(logical_numbers_follow_the_list) {
    device_fixture_t f;
    set_variable("GANTRY_VISIBLE_DEVICES", "2,1");
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(gantry__device_table_freeze(&f.table, "this test"), GANTRY_OK);
    assert_string_equal(device_fixture_find(&f, "GPU:0", NULL)->physical->name,
                        "/physical_device:GPU:2");
    assert_string_equal(device_fixture_find(&f, "GPU:1", NULL)->physical->name,
                        "/physical_device:GPU:1");
    assert_string_equal(device_fixture_find(&f, "/physical_device:GPU:2", NULL)->name,
                        "/device:GPU:0");
    assert_string_equal(device_fixture_find(&f, "fake:2", NULL)->name, "/device:GPU:0");
    gantry_status_t status;
    assert_null(device_fixture_find(&f, "fake:0", &status)); /* hidden */
    assert_int_equal(status, GANTRY_NOT_FOUND);
    assert_null(device_fixture_find(&f, "GPU:2", &status));
    device_fixture_close(&f);
}

TEST(hidden_card_is_hidden_under_every_name) {
    device_fixture_t f;
    gantry_status_t status;
    /* it serves the card of fake:1, too */
    device_fixture_set_gpu(other, 0, "0000:65:00.0", "", 0);
    set_variable("GANTRY_VISIBLE_DEVICES", "0");
    device_fixture_open(&f, FAKE_FOLDER("fake") ":" FAKE_FOLDER("other"), NULL);
    assert_int_equal(gantry__device_table_freeze(&f.table, "this test"), GANTRY_OK);
    static const char *const names[] = {"GPU:1", "other:0", "fake:1", "0000:65:00.0", "GPU:1@fake"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (device_fixture_find(&f, names[i], &status)) fail_msg("%s", names[i]);
        assert_int_equal(status, GANTRY_NOT_FOUND);
    }
    assert_non_null(device_fixture_find(&f, "GPU:0", NULL));
    device_fixture_close(&f);
}

/* A card is visible, whichever backend serves it. */
TEST(card_is_named_by_any_of_its_views) {
    static const char *const texts[] = {"fake:1", "other:0", "0000:65:00.0", "1"};
    device_fixture_set_gpu(other, 0, "0000:65:00.0", "", 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        device_fixture_t f;
        set_variable("GANTRY_VISIBLE_DEVICES", texts[i]);
        device_fixture_open(&f, FAKE_FOLDER("fake") ":" FAKE_FOLDER("other"), NULL);
        assert_int_equal(f.table.visible_count, 2);
        assert_string_equal(f.table.visible[1]->alias, "other:0");
        device_fixture_close(&f);
    }
}

TEST(cuda_s_variable_hides_the_vendor_s_cards_only) {
    static const struct {
        const char *text, *cards;
    } cases[] = {{NULL, "0 1 2"},
                 {"-1", "0 2"},
                 {"", "0 2"},
                 {"\"\"", "0 2"},
                 /* the first card is hidden */
                 {" -1 ", "0 2"},
                 {"'-1'", "0 2"},
                 {"0", "0 1 2"},
                 {"1,0", "0 2"}};
    gantry_fake_device_t settings;
    fake->get_device(1, &settings);
    (void)snprintf(settings.vendor, sizeof settings.vendor, "NVIDIA Corporation");
    fake->set_device(1, &settings);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        set_variable("CUDA_VISIBLE_DEVICES", cases[i].text);
        device_fixture_open(&f, NULL, NULL);
        if (strcmp(visible_cards(&f), cases[i].cards) != 0)
            fail_msg("%s: %s", cases[i].text, visible_cards(&f));
        device_fixture_close(&f);
    }
}

static const char *hidden_by(device_fixture_t *f, const char *alias) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    gantry__device_details(&f->table, device_fixture_physical(f, alias), &details);
    assert_true((*details.hidden_by == '\0') == (details.visible || !details.listed));
    return details.hidden_by;
}

/* hidden_by names the one cause of four that applies. */
TEST(hidden_card_tells_what_hides_it) {
    static const struct {
        const char *ours, *cuda_s, *option, *extra, *by;
    } cases[] = {{NULL, NULL, NULL, NULL, ""},
                 {"0,2", NULL, NULL, NULL, "GANTRY_VISIBLE_DEVICES"},
                 {NULL, "-1", NULL, NULL, "CUDA_VISIBLE_DEVICES"},
                 {"1", "-1", NULL, NULL, "CUDA_VISIBLE_DEVICES"},
                 {NULL, NULL, "0", NULL, "option visible_devices"},
                 {"1", NULL, "0", NULL, "option visible_devices"},
                 {NULL, NULL, NULL, "CUDA_VISIBLE_DEVICES=-1", "option CUDA_VISIBLE_DEVICES"}};
    gantry_fake_device_t settings;
    fake->get_device(1, &settings);
    (void)snprintf(settings.vendor, sizeof settings.vendor, "NVIDIA Corporation");
    fake->set_device(1, &settings);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        const char *const extra[] = {cases[i].extra, NULL};
        gantry_runtime_options_t options = {
            .struct_size = sizeof options, .visible_devices = cases[i].option, .extra = extra};
        set_variable("GANTRY_VISIBLE_DEVICES", cases[i].ours);
        set_variable("CUDA_VISIBLE_DEVICES", cases[i].cuda_s);
        device_fixture_open(&f, NULL, &options);
        assert_string_equal(hidden_by(&f, "fake:1"), cases[i].by);
        physical_device_t wanted[] = {device_fixture_physical(&f, "fake:0")};
        assert_int_equal(gantry__device_set_visible(&f.table, wanted, 1, "GPU"), GANTRY_OK);
        assert_string_equal(hidden_by(&f, "fake:1"), "gantry_set_visible_devices");
        assert_string_equal(hidden_by(&f, "fake:0"), "");
        device_fixture_close(&f);
    }
}

int main(void) { return test_main_each(set_up, device_fixture_tear_down); }
