/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Options win over the environment, and booleans, words and bytes are read by their
 * rules. */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "failing_heap.h"
#include "test.h"

#define NAME "GANTRY_TEST_SETTING"

typedef struct fixture_t {
    failing_heap_t heap;
    gantry__settings_t settings;
} fixture_t;

static void open_settings(fixture_t *f) {
    failing_heap_init(&f->heap, -1);
    assert_int_equal(gantry__settings_init(&f->settings, &f->heap.heap), GANTRY_OK);
}

static void close_settings(fixture_t *f) {
    gantry__settings_deinit(&f->settings);
    assert_int_equal(f->heap.live_blocks, 0);
    assert_false(f->heap.wrong_size);
    (void)unsetenv(NAME);
}

TEST(option_wins_over_the_environment) {
    fixture_t f;
    gantry__setting_source_t source;
    open_settings(&f);
    assert_int_equal(setenv(NAME, "environment", 1), 0);
    assert_int_equal(gantry__settings_put(&f.settings, NAME, "option"), GANTRY_OK);
    assert_string_equal(gantry__settings_get(&f.settings, NAME, &source), "option");
    assert_int_equal(source, GANTRY__SOURCE_OPTION);
    close_settings(&f);
    open_settings(&f);
    assert_int_equal(setenv(NAME, "environment", 1), 0);
    assert_string_equal(gantry__settings_get(&f.settings, NAME, &source), "environment");
    assert_int_equal(source, GANTRY__SOURCE_ENVIRONMENT);
    close_settings(&f);
}

TEST(unset_name_has_no_value) {
    fixture_t f;
    gantry__setting_source_t source = GANTRY__SOURCE_CALL;
    open_settings(&f);
    assert_null(gantry__settings_get(&f.settings, NAME, &source));
    assert_int_equal(source, GANTRY__SOURCE_DEFAULT);
    assert_null(gantry__settings_get(&f.settings, NAME, NULL));
    close_settings(&f);
}

TEST(value_stays_as_it_was_first_read) {
    fixture_t f;
    open_settings(&f);
    assert_int_equal(setenv(NAME, "first", 1), 0);
    const char *value = gantry__settings_get(&f.settings, NAME, NULL);
    assert_int_equal(setenv(NAME, "second", 1), 0);
    for (int i = 0; i < 100; ++i) { /* the table grows while the value is in use */
        char other[32];
        (void)snprintf(other, sizeof other, "GANTRY_TEST_OTHER_%d", i);
        (void)gantry__settings_get(&f.settings, other, NULL);
    }
    assert_ptr_equal(gantry__settings_get(&f.settings, NAME, NULL), value);
    assert_string_equal(value, "first");
    close_settings(&f);
}

TEST(assignments_are_split_at_the_first_equals_sign) {
    fixture_t f;
    static const char *const good[] = {"A=1", "B=", "C=x=y", NULL},
                             *const bad[] = {"A2=1", "=1", NULL}, *const worse[] = {"plain", NULL};
    open_settings(&f);
    assert_int_equal(gantry__settings_put_all(&f.settings, NULL), GANTRY_OK);
    assert_int_equal(gantry__settings_put_all(&f.settings, good), GANTRY_OK);
    assert_string_equal(gantry__settings_get(&f.settings, "A", NULL), "1");
    assert_string_equal(gantry__settings_get(&f.settings, "B", NULL), "");
    assert_string_equal(gantry__settings_get(&f.settings, "C", NULL), "x=y");
    assert_int_equal(gantry__settings_put_all(&f.settings, bad), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "\"=1\" is not of the form NAME=VALUE"));
    assert_int_equal(gantry__settings_put_all(&f.settings, worse), GANTRY_INVALID_ARGUMENT);
    close_settings(&f);
}

TEST(truth_is_read_in_several_words) {
    static const struct {
        const char *text;
        int value; /* -1: refused, 2: unchanged */
    } cases[] = {{"0", 0},    {"off", 0}, {"False", 0}, {"NO", 0},   {"1", 1},   {"on", 1},
                 {"TRUE", 1}, {"yes", 1}, {"", 2},      {"2", -1},   {"of", -1}, {"offf", -1},
                 {" 1", -1},  {"y", -1},  {"-1", -1},   {"null", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int before = 0; before < 2; ++before) {
            fixture_t f;
            bool value = before;
            open_settings(&f);
            assert_int_equal(gantry__settings_put(&f.settings, NAME, cases[i].text), GANTRY_OK);
            gantry_status_t status = gantry__settings_get_bool(&f.settings, NAME, &value);
            if (status != (cases[i].value < 0 ? GANTRY_INVALID_ARGUMENT : GANTRY_OK))
                fail_msg("\"%s\"", cases[i].text);
            assert_int_equal(value,
                             cases[i].value == 0 || cases[i].value == 1 ? cases[i].value : before);
            if (status != GANTRY_OK) assert_non_null(strstr(gantry__message(), NAME " is \""));
            close_settings(&f);
        }
    }
}

TEST(word_is_one_of_those_accepted) {
    static const char *const words[] = {"explicit", "warn", "silent"};
    fixture_t f;
    int value = 7;
    open_settings(&f);
    assert_int_equal(gantry__settings_get_word(&f.settings, "GANTRY_TEST_UNSET", words, 3, &value),
                     GANTRY_OK);
    assert_int_equal(value, 7);
    assert_int_equal(gantry__settings_put(&f.settings, "W1", "Silent"), GANTRY_OK);
    assert_int_equal(gantry__settings_get_word(&f.settings, "W1", words, 3, &value), GANTRY_OK);
    assert_int_equal(value, 2);
    assert_int_equal(gantry__settings_put(&f.settings, "W2", "sil"), GANTRY_OK);
    assert_int_equal(gantry__settings_get_word(&f.settings, "W2", words, 3, &value),
                     GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry__message(),
                        "option W2 is \"sil\"; accepted are explicit, warn, silent");
    assert_int_equal(value, 2);
    close_settings(&f);
}

TEST(bytes_take_a_unit) {
    static const struct {
        const char *text;
        bool good;
        uint64_t bytes;
    } cases[] = {
        {"0", true, 0},
        {"1048576", true, 1048576},
        {"512M", true, UINT64_C(512) << 20},
        {"2g", true, UINT64_C(2) << 30},
        {"3k", true, 3072},
        {"1T", true, UINT64_C(1) << 40},
        {"18446744073709551615", true, UINT64_MAX},
        {"16777215T", true, UINT64_C(16777215) << 40},
        {"16777216T", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"M", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 M", false, 0},
        {"1MB", false, 0},
        {"1.5G", false, 0},
        {"0x10", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t f;
        uint64_t bytes = 4711;
        open_settings(&f);
        assert_int_equal(gantry__settings_put(&f.settings, NAME, cases[i].text), GANTRY_OK);
        gantry_status_t status = gantry__settings_get_bytes(&f.settings, NAME, &bytes);
        if ((status == GANTRY_OK) != cases[i].good) fail_msg("\"%s\"", cases[i].text);
        assert_int_equal(bytes, cases[i].good ? cases[i].bytes : 4711);
        close_settings(&f);
    }
}

TEST(memory_running_out_leaks_nothing) {
    for (long at = 0; at < 12; ++at) {
        fixture_t f;
        static const char *const assignments[] = {"A=1", "B=2", NULL};
        open_settings(&f);
        f.heap.fail_at = at;
        gantry_status_t status = gantry__settings_put_all(&f.settings, assignments);
        assert_true(status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED);
        (void)gantry__settings_get(&f.settings, "PATH", NULL);
        f.heap.fail_at = -1;
        assert_non_null(gantry__settings_get(&f.settings, "PATH", NULL));
        close_settings(&f);
    }
}

static void *read_many(void *user) {
    fixture_t *f = user;
    for (int i = 0; i < 200; ++i) {
        char name[32];
        (void)snprintf(name, sizeof name, "GANTRY_TEST_T%d", i % 20);
        (void)gantry__settings_get(&f->settings, name, NULL);
    }
    return NULL;
}

TEST(threads_read_the_same_values) {
    fixture_t f;
    pthread_t threads[4];
    open_settings(&f);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &f), 0);
    for (int i = 0; i < 4; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(f.settings.count, 20);
    close_settings(&f);
}

int main(void) { return test_main(); }
