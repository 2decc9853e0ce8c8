/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_last_message belongs to a failed call: a successful call leaves it or empties it,
 * even after internal failures. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "runtime_fixture.h"
#include "test.h"

/* Refused modules, one after the other, and one good module. */
static const char several[] = FAKE_FOLDER("newer") ":" FAKE_FOLDER("rude") ":" FAKE_FOLDER(
    "incomplete") ":" FAKE_FOLDER("empty") ":" FAKE_FOLDER("fake");

static void expect_no_message(const char *after) {
    if (*gantry_last_message()) fail_msg("after %s: \"%s\"", after, gantry_last_message());
}

/* Runs in a thread without earlier failures. cmocka's assertions belong to the main thread. */
typedef struct fresh_t {
    runtime_fixture_t f;
    gantry_runtime_options_t options;
    size_t refused; /* refused backends */
    char complaint[512];
} fresh_t;

static bool is_silent(fresh_t *fresh, const char *after, bool succeeded) {
    if (succeeded && !*gantry_last_message()) return true;
    (void)snprintf(fresh->complaint, sizeof fresh->complaint, "%s %s: \"%.300s\"", after,
                   succeeded ? "leaves" : "fails", gantry_last_message());
    return false;
}

static void *use_a_runtime(void *argument) {
    fresh_t *fresh = argument;
    gantry_status_t status = gantry_runtime_create(&fresh->options, &fresh->f.runtime);
    if (!is_silent(fresh, "gantry_runtime_create", status == GANTRY_OK)) return NULL;
    for (size_t i = 0; i < gantry_backend_status_count(fresh->f.runtime); ++i) {
        gantry_backend_status_t backend = {.struct_size = sizeof backend};
        (void)gantry_backend_status(fresh->f.runtime, i, &backend);
        fresh->refused += backend.state != GANTRY_BACKEND_USABLE;
    }
    status = gantry_runtime_initialize(fresh->f.runtime);
    if (!is_silent(fresh, "gantry_runtime_initialize", status == GANTRY_OK)) return NULL;
    gantry_scope_t *scope = gantry_scope_begin(fresh->f.runtime, NULL);
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 2);
    float sum = 0;
    bool is_right = gantry_tensor_read(gantry_add(scope, x, x), &sum, sizeof sum) == GANTRY_OK;
    if (!is_silent(fresh, "gantry_add", is_right && sum > 3 && sum < 5)) return NULL;
    if (!is_silent(fresh, "gantry_scope_end", gantry_scope_end(scope) == GANTRY_OK)) return NULL;
    gantry_runtime_release(fresh->f.runtime);
    (void)is_silent(fresh, "gantry_runtime_release", true);
    return NULL;
}

TEST(thread_on_which_nothing_failed_has_no_message) {
    static fresh_t fresh;
    pthread_t thread;
    fake->set_device_count(1);
    fresh.options = runtime_fixture_options(&fresh.f);
    fresh.options.backend_path = several;
    assert_int_equal(pthread_create(&thread, NULL, use_a_runtime, &fresh), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(fresh.complaint, "");
    assert_in_range(fresh.refused, 3, 8); /* some modules were refused on the way */
    fresh.f.runtime = NULL;
    runtime_fixture_close(&fresh.f);
}

TEST(create_that_succeeds_leaves_no_message) {
    runtime_fixture_t f;
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    assert_int_equal(gantry_runtime_create(&options, NULL), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "out_runtime is NULL"));
    options.backend_path = several;
    assert_int_equal(gantry_runtime_create(&options, &f.runtime), GANTRY_OK);
    expect_no_message("gantry_runtime_create");
    runtime_fixture_close(&f);
}

TEST(call_that_succeeds_at_once_leaves_the_message) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_runtime_initialize(f.runtime), GANTRY_OK);
    assert_int_equal(gantry_set_placement_mode(f.runtime, (gantry_placement_mode_t)7),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    expect_ended_well(scope);
    assert_non_null(strstr(gantry_last_message(), "placement mode is 7"));
    runtime_fixture_close(&f);
}

/* The driver refuses a region, and gives a smaller one. */
TEST(memory_that_is_found_in_the_end_leaves_no_message) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    assert_int_equal(gantry_set_placement_mode(f.runtime, (gantry_placement_mode_t)7),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(
        fake->fail_calls("region_alloc", 1, 1, GANTRY_RESOURCE_EXHAUSTED, "no region of that size"),
        1);
    static float values[1 << 16];
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 16), values, sizeof values);
    if (!x) fail_msg("%s", gantry_scope_message(scope));
    expect_no_message("an allocation that the driver refused at first");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
