/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime over the CPU backend and fake GPUs, with a heap that counts and fails, and a log that
 * is kept. Header only. */
#ifndef TESTS_RUNTIME_FIXTURE_H
#define TESTS_RUNTIME_FIXTURE_H

#include <gantry/gantry.h>
#include <limits.h>

#include "device_fixture.h"
#include "run/runtime_state.h"
#include "sanitized.h"

#define RUNTIME_FIXTURE_GATE (1u << GANTRY_STREAM_COMPUTE)

typedef struct runtime_fixture_t {
    locked_heap_t heap;
    log_lines_t log;
    gantry_runtime_t *runtime;
} runtime_fixture_t;

/* No variable of the table has a value, and fake and other have one GPU each. */
static inline void runtime_fixture_clear(void) {
    static const char *const names[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) name,
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unsetenv(names[i]);
    device_fixture_clear();
}

/* The state at each test's start: the CPU backend with two threads and the fake one, no kernel
 * cache, and all log lines kept. */
static inline gantry_runtime_options_t runtime_fixture_options(runtime_fixture_t *f) {
    locked_heap_init(&f->heap, -1);
    log_lines_init(&f->log);
    f->runtime = NULL;
    return (gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                      .log_level = GANTRY_LEVEL_DEBUG,
                                      .log = log_lines_write,
                                      .log_user = &f->log,
                                      .reallocate = locked_heap_reallocate,
                                      .reallocate_user = &f->heap,
                                      .backend_path = FAKE_FOLDER("fake"),
                                      .backends = "cpu,fake",
                                      .cpu_threads = 2,
                                      .kernel_cache = ""};
}

static inline void runtime_fixture_open_with(runtime_fixture_t *f,
                                             const gantry_runtime_options_t *options) {
    if (gantry_runtime_create(options, &f->runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

/* `gpus` fake GPUs of 64 MiB. */
static inline void runtime_fixture_open(runtime_fixture_t *f, uint32_t gpus) {
    fake->set_device_count(gpus);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    runtime_fixture_open_with(f, &options);
}

static inline void runtime_fixture_expect_no_leak(runtime_fixture_t *f) {
    assert_int_equal(f->heap.inner.live_blocks, 0);
    assert_int_equal(f->heap.inner.live_bytes, 0);
    assert_false(f->heap.inner.wrong_size);
    fake_expect_nothing_lives(fake);
}

/* All objects must have been freed before. */
static inline void runtime_fixture_close(runtime_fixture_t *f) {
    f->heap.inner.fail_at = -1;
    gantry_runtime_release(f->runtime);
    runtime_fixture_expect_no_leak(f);
    locked_heap_deinit(&f->heap);
}

/* For cmocka, before each test. */
static inline int runtime_fixture_set_up(void **state) {
    (void)state;
    runtime_fixture_clear();
    return 0;
}

/* For cmocka, after each test: a failed test must not hold up the next ones. */
static inline int runtime_fixture_tear_down(void **state) {
    (void)state;
    for (uint32_t device = 0; device < GANTRY_FAKE_DEVICES; ++device)
        fake->open_gate(device, UINT32_MAX);
    return 0;
}

/* ---- helpers for tests ---- */

static inline gantry_scope_t *runtime_fixture_scope(runtime_fixture_t *f, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(f->runtime, device);
    if (!scope || gantry_scope_status(scope) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return scope;
}

static inline const gantry_tensor_t *make_f32(gantry_scope_t *scope, int64_t count,
                                              const float *values) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(count), values,
                           (size_t)count * sizeof *values);
}

static inline const gantry_tensor_t *make_i32(gantry_scope_t *scope, int64_t count,
                                              const int32_t *values) {
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(count), values,
                           (size_t)count * sizeof *values);
}

#define F32(scope, ...)                                                        \
    make_f32(scope, (int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), \
             (const float[]){__VA_ARGS__})
#define I32(scope, ...)                                                            \
    make_i32(scope, (int64_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), \
             (const int32_t[]){__VA_ARGS__})

static inline void expect_f32(const gantry_tensor_t *tensor, size_t count, const float *values) {
    float got[256];
    assert_non_null(tensor);
    assert_in_range(count, 0, 256);
    if (gantry_tensor_read(tensor, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) {
        if (got[i] < values[i] || got[i] > values[i])
            fail_msg("element %zu is %g, not %g", i, (double)got[i], (double)values[i]);
    }
}

#define EXPECT_F32(tensor, ...) \
    expect_f32(tensor, sizeof((float[]){__VA_ARGS__}) / sizeof(float), (const float[]){__VA_ARGS__})

static inline void expect_i32(const gantry_tensor_t *tensor, size_t count, const int32_t *values) {
    int32_t got[256];
    assert_non_null(tensor);
    assert_in_range(count, 0, 256);
    if (gantry_tensor_read(tensor, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) assert_int_equal(got[i], values[i]);
}

#define EXPECT_I32(tensor, ...)                                            \
    expect_i32(tensor, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), \
               (const int32_t[]){__VA_ARGS__})

static inline void expect_on(const gantry_tensor_t *tensor, const char *device) {
    assert_non_null(tensor);
    assert_string_equal(gantry_logical_device_name(gantry_tensor_device(tensor)), device);
}

static inline void expect_ended_well(gantry_scope_t *scope) {
    if (gantry_scope_status(scope) != GANTRY_OK) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* Expects this failure of the scope, and clears it. */
#define expect_scope_failure(scope, code, text)                   \
    do {                                                          \
        assert_int_equal(gantry_scope_status(scope), code);       \
        if (!strstr(gantry_scope_message(scope), text))           \
            fail_msg("message: %s", gantry_scope_message(scope)); \
        gantry_scope_clear(scope);                                \
    } while (0)

/* ---- memory runs out ---- */

/* From here on, the allocation with number n, from 0, and all later ones fail. */
static inline void runtime_fixture_starve(runtime_fixture_t *f, long n) {
    f->heap.inner.calls = 0;
    f->heap.inner.fail_at = n;
}

/* All allocations succeed again. Returns whether one has failed. */
static inline bool runtime_fixture_feed(runtime_fixture_t *f) {
    bool has_failed = f->heap.inner.calls > f->heap.inner.fail_at;
    f->heap.inner.fail_at = -1;
    return has_failed;
}

typedef gantry_status_t (*runtime_fixture_program_fn)(gantry_scope_t *scope);

/* Runs the program in a scope on the device; returns its result, or the reason why there is no
 * scope. `message` gets the error's text. */
static inline gantry_status_t runtime_fixture_run(runtime_fixture_t *f, const char *device,
                                                  runtime_fixture_program_fn program,
                                                  char message[1024]) {
    gantry_scope_t *scope = gantry_scope_begin(f->runtime, device);
    gantry_status_t status = scope ? program(scope) : GANTRY_RESOURCE_EXHAUSTED;
    (void)snprintf(message, 1024, "%s", gantry_last_message());
    if (scope) (void)gantry_scope_end(scope);
    return status;
}

/* One run on a new runtime, in which allocation n and all later ones fail. It is out of memory or
 * right, and leaks nothing. Returns the number of allocations; *out_failed tells whether
 * one failed. sites, site_count: as in failing_heap.h. */
static inline long runtime_fixture_starve_once(uint32_t gpus, const char *device,
                                               runtime_fixture_program_fn program, long n,
                                               uint64_t *sites, long site_count, bool *out_failed) {
    runtime_fixture_t f;
    char message[1024];
    runtime_fixture_open(&f, gpus);
    f.heap.inner.sites = sites;
    f.heap.inner.site_count = site_count;
    runtime_fixture_starve(&f, n);
    const gantry_status_t status = runtime_fixture_run(&f, device, program, message);
    const long calls = f.heap.inner.calls;
    *out_failed = runtime_fixture_feed(&f);
    if (status != GANTRY_OK && !(*out_failed && status == GANTRY_RESOURCE_EXHAUSTED))
        fail_msg("allocation %ld: %d, %s", n, (int)status, message);
    runtime_fixture_close(&f);
    return calls;
}

/* Whether the site of allocation n has allocated before, and will again. */
static inline bool runtime_fixture_is_between(const uint64_t *sites, long n, long count) {
    bool is_before = false, is_after = false;
    for (long i = 0; i < n; ++i) is_before |= sites[i] == sites[n];
    for (long i = n + 1; i < count; ++i) is_after |= sites[i] == sites[n];
    return is_before && is_after;
}

/* Runs the program again and again on a new runtime: without memory from the first allocation on,
 * from the second, and so on, until it needs no more. Under sanitizers, which look at each failing
 * path, the first and the last allocation of each call stack fail. */
static inline void runtime_fixture_starve_each(uint32_t gpus, const char *device,
                                               runtime_fixture_program_fn program) {
    enum { SITES = FEWER_FOR_SANITIZERS(1, 20000) };
    uint64_t sites[SITES] = {0};
    bool has_failed = true;
    long count = 0;
    if (IS_SANITIZED) {
        count =
            runtime_fixture_starve_once(gpus, device, program, LONG_MAX, sites, SITES, &has_failed);
        assert_in_range(count, 1, SITES);
        assert_false(has_failed);
    }
    has_failed = true;
    for (long n = 0; has_failed; ++n) {
        if (n < count && runtime_fixture_is_between(sites, n, count)) continue;
        (void)runtime_fixture_starve_once(gpus, device, program, n, NULL, 0, &has_failed);
    }
}

/* The record of the newest placement. */
static inline gantry_placement_record_t last_placement(const runtime_fixture_t *f) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(f->runtime, 1, &record, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    return record;
}

#endif
