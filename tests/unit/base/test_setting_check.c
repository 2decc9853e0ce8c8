/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Gantry warns of settings, backends and variables that do not exist, and suggests the
 * nearest name. */
#define _XOPEN_SOURCE 700

#include "base/nearest.h"
#include "runtime_fixture.h"
#include "test.h"

static void set(const char *name, const char *value) {
    assert_int_equal(setenv(name, value, 1), 0);
}

static int warnings_of(const runtime_fixture_t *f, const char *text) {
    int found = 0;
    for (int i = 0; i < f->log.count && i < LOG_LINES; ++i)
        found += f->log.levels[i] == GANTRY_LEVEL_WARNING && strstr(f->log.lines[i], text);
    return found;
}

static void expect_warning(const char *const *extra, const char *text) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    fake->set_device_count(1);
    options.extra = extra;
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
    if (warnings_of(&f, "is no setting of Gantry") != (text != NULL) ||
        (text && warnings_of(&f, text) != 1))
        fail_msg("%s: %d warnings, %s", text ? text : "none", warnings_of(&f, ""), f.log.lines[0]);
    runtime_fixture_close(&f);
}

TEST(unknown_variable_is_warned_of_once) {
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"GANTRY_OPENCL_CPUS",
         "GANTRY_OPENCL_CPUS is no setting of Gantry and does nothing; did you mean GANTRY_OPENCL_CPU?"},
        {"GANTRY_OPENCL_CPU_AS_GPU", "did you mean GANTRY_OPENCL_CPU?"},
        {"GANTRY_MEMORY_LIMIT_BYTES", "did you mean GANTRY_MEMORY_LIMIT?"},
        {"GANTRY_MEMROY_LIMIT", "did you mean GANTRY_MEMORY_LIMIT?"},
        {"GANTRY_VISIBLE_DEVICE", "did you mean GANTRY_VISIBLE_DEVICES?"},
        {"GANTRY_opencl_cpu", "did you mean GANTRY_OPENCL_CPU?"},
        {"GANTRY_QUANTUM_TUNNEL",
         "GANTRY_QUANTUM_TUNNEL is no setting of Gantry and does nothing; docs/environment.md lists them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char assignment[128], by[160];
        const char *const extra[] = {assignment, NULL};
        (void)snprintf(assignment, sizeof assignment, "%s=1", cases[i].name);
        (void)snprintf(by, sizeof by, "option %s is no setting", cases[i].name);
        set(cases[i].name, "1");
        expect_warning(NULL, cases[i].text);
        expect_warning(extra, by); /* the environment's warning is not repeated */
        (void)unsetenv(cases[i].name);
    }
    static const char *const foreign[] = {"NO_SUCH_THING=1", NULL};
    expect_warning(foreign, "option NO_SUCH_THING is no setting of Gantry");
}

TEST(what_somebody_may_read_is_not_warned_of) {
    static const char *const names[] = {
        "GANTRY_TEST_ANYTHING",       "GANTRY_STAND_IN_CUDA",  "GANTRY_FAKE_OPTION",
        "GANTRY_CUDA_NVML",           "GANTRY_OPENCL_LIBRARY", "OTHER_OPENCL_CPUS",
        "TF_FORCE_GPU_ALLOW_GROWTHS", "XGANTRY_OPENCL_CPUS",   "GANTRY_TF_REPORT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) set(names[i], "");
    expect_warning(NULL, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unsetenv(names[i]);
}

TEST(unknown_backend_is_warned_of) {
    static const struct {
        const char *list, *text;
    } cases[] = {
        {"cpu,fak",
         "names the unknown backend \"fak\"; known are cpu, cuda, opencl, fake; did you mean fake?"},
        {"opncl",
         "names the unknown backend \"opncl\"; known are cpu, cuda, opencl, fake; did you mean opencl?"},
        {" quantum , fake",
         "names the unknown backend \"quantum\"; known are cpu, cuda, opencl, fake"},
        {"cpu,opencl,cuda,fake", NULL}, /* a build may lack these */
        {",", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int is_option = 0; is_option < 2; ++is_option) {
            runtime_fixture_t f;
            gantry_runtime_options_t options = runtime_fixture_options(&f);
            options.backends = is_option ? cases[i].list : NULL;
            if (!is_option) set("GANTRY_BACKENDS", cases[i].list);
            runtime_fixture_open_with(&f, &options);
            assert_int_equal(warnings_of(&f, "the unknown backend"), cases[i].text != NULL);
            if (cases[i].text)
                assert_int_equal(
                    log_lines_with(&f.log, is_option ? "option backends " : "GANTRY_BACKENDS ",
                                   cases[i].text),
                    1);
            (void)unsetenv("GANTRY_BACKENDS");
            runtime_fixture_close(&f);
        }
    }
}

TEST(nearest_is_near) {
    static const char *const names[] = {"cpu", "cuda", "opencl"};
    assert_string_equal(gantry__nearest("opencl", names, 3), "opencl");
    assert_string_equal(gantry__nearest("OPENCL", names, 3), "opencl");
    assert_string_equal(gantry__nearest("opnecl", names, 3), "opencl");
    assert_string_equal(gantry__nearest("cud", names, 3), "cuda");
    assert_string_equal(gantry__nearest("opencl_more_and_more", names, 3), "opencl");
    assert_null(gantry__nearest("metal", names, 3));
    assert_null(gantry__nearest("", names, 0));
    char longest[200];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(gantry__nearest(longest, names, 3));
    const char *const long_names[] = {longest};
    assert_null(gantry__nearest("x", long_names, 1));
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
