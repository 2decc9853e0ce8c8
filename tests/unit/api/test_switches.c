/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every on-off variable takes 0 and 1, off and on, false and true, no and yes, in any
 * case. The variables are those of environment.def whose values name one of these words. */
#define _XOPEN_SOURCE 700

#include <strings.h>

#include "runtime_fixture.h"
#include "test.h"

static const struct {
    const char *name, *values;
} variables[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) {name, values},
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
};

static const char *const offs[] = {"0", "off", "false", "no", "OFF", "False"};
static const char *const ons[] = {"1", "on", "true", "yes", "ON", "True"};

/* Whether the values, a list with commas, have one of the words. */
static bool has_word(const char *values, const char *const *words) {
    for (const char *at = values; *at;) {
        const size_t length = strcspn(at, ",");
        for (size_t i = 0; i < 4; ++i)
            if (length == strlen(words[i]) && strncmp(at, words[i], length) == 0) return true;
        at += length;
        at += strspn(at, ", ");
    }
    return false;
}

/* The setting that shows the effect of a variable. */
static const char *shown_by(const char *variable) {
    static const char *const foreign[][2] = {{"TF_ENABLE_GPU_GARBAGE_COLLECTION", "memory_collect"},
                                             {"TF_FORCE_GPU_ALLOW_GROWTH", "memory_growth"}};
    for (size_t i = 0; i < 2; ++i)
        if (strcmp(foreign[i][0], variable) == 0) return foreign[i][1];
    for (size_t i = 0; i < gantry_setting_count(); ++i) {
        runtime_fixture_t f;
        gantry_setting_t setting = {.struct_size = sizeof setting};
        runtime_fixture_open(&f, 1);
        const gantry_status_t status =
            gantry_get_setting(f.runtime, gantry_setting_name(i), NULL, &setting);
        runtime_fixture_close(&f);
        assert_int_equal(status, GANTRY_OK);
        if (strcmp(setting.variable, variable) == 0) return gantry_setting_name(i);
    }
    fail_msg("%s is no setting", variable);
    return NULL;
}

/* The value of the setting under this text of the variable. */
static void value_with(const char *variable, const char *setting_name, const char *text,
                       char out[256]) {
    runtime_fixture_t f;
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    assert_int_equal(setenv(variable, text, 1), 0);
    if (gantry_runtime_create(&options, &f.runtime) != GANTRY_OK)
        fail_msg("%s=%s: %s", variable, text, gantry_last_message());
    const gantry_physical_device_t *gpu = NULL;
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(f.runtime, "GPU", 1, &gpu, &count), GANTRY_OK);
    gantry_setting_t setting = {.struct_size = sizeof setting};
    assert_int_equal(gantry_get_setting(f.runtime, setting_name, NULL, &setting), GANTRY_OK);
    if (setting.per_device)
        assert_int_equal(gantry_get_setting(f.runtime, setting_name, gpu, &setting), GANTRY_OK);
    for (int i = 0; i < f.log.count && i < LOG_LINES; ++i)
        if (strstr(f.log.lines[i], variable)) fail_msg("%s", f.log.lines[i]);
    (void)snprintf(out, 256, "%s", setting.value);
    runtime_fixture_close(&f);
    assert_int_equal(unsetenv(variable), 0);
}

static void expect_one_value(const char *variable, const char *const *words, char out[256]) {
    const char *setting = shown_by(variable);
    char value[256];
    value_with(variable, setting, words[0], out);
    for (size_t i = 1; i < sizeof offs / sizeof offs[0]; ++i) {
        value_with(variable, setting, words[i], value);
        if (strcmp(value, out) != 0)
            fail_msg("%s=%s is \"%s\", not \"%s\"", variable, words[i], value, out);
    }
}

TEST(every_variable_takes_every_spelling) {
    size_t tried = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
        char off[256], on[256];
        if (!has_word(variables[i].values, offs) && !has_word(variables[i].values, ons)) continue;
        expect_one_value(variables[i].name, offs, off);
        expect_one_value(variables[i].name, ons, on);
        if (strcmp(off, on) == 0) fail_msg("%s: off and on are \"%s\"", variables[i].name, off);
        ++tried;
    }
    assert_true(tried >= 14);
}

TEST(a_word_that_is_none_is_refused) {
    static const char *const names[] = {"GANTRY_PROFILE", "GANTRY_OPENCL_CPU",
                                        "GANTRY_OOM_FALLBACK", "GANTRY_SOFT_PLACEMENT",
                                        "GANTRY_DEVICE_PROBE"};
    static const char *const words[] = {"2", "01", "offf", "o", "-1", "maybe"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        for (size_t w = 0; w < sizeof words / sizeof words[0]; ++w) {
            runtime_fixture_t f;
            gantry_runtime_options_t options = runtime_fixture_options(&f);
            assert_int_equal(setenv(names[i], words[w], 1), 0);
            assert_int_equal(gantry_runtime_create(&options, &f.runtime), GANTRY_INVALID_ARGUMENT);
            assert_non_null(strstr(gantry_last_message(), names[i]));
            assert_non_null(strstr(gantry_last_message(), "off"));
            assert_non_null(strstr(gantry_last_message(), "0"));
            assert_non_null(strstr(gantry_last_message(), "false"));
            locked_heap_deinit(&f.heap);
        }
        assert_int_equal(unsetenv(names[i]), 0);
    }
}

/* Settings without on and off do not take them. */
TEST(a_setting_that_is_no_switch_takes_none) {
    static const char *const names[] = {"GANTRY_PLACEMENT", "GANTRY_DEVICE_POLICY",
                                        "GANTRY_LOG_LEVEL"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        options.log_level = GANTRY_LEVEL_DEFAULT;
        assert_int_equal(setenv(names[i], "off", 1), 0);
        assert_int_equal(gantry_runtime_create(&options, &f.runtime), GANTRY_INVALID_ARGUMENT);
        locked_heap_deinit(&f.heap);
        assert_int_equal(unsetenv(names[i]), 0);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
