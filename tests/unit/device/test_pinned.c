/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The backend allocates pinned host memory for programs; a limit bounds it, and its
 * address identifies it. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

static void *pinned(const runtime_fixture_t *f, const char *device, size_t bytes) {
    void *data = NULL;
    if (gantry_pinned_alloc(f->runtime, device, bytes, &data) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_non_null(data);
    return data;
}

static void expect_refused(const runtime_fixture_t *f, const char *device, size_t bytes,
                           gantry_status_t status, const char *words) {
    void *data = &data;
    assert_int_equal(gantry_pinned_alloc(f->runtime, device, bytes, &data), status);
    assert_null(data);
    if (!strstr(gantry_last_message(), words))
        fail_msg("\"%s\" has no \"%s\"", gantry_last_message(), words);
}

TEST(memory_comes_from_the_backend_and_goes_back) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    /* this call opens the device */
    assert_int_equal(gantry_pinned_free(f.runtime, pinned(&f, "GPU:0", 1)), GANTRY_OK);
    uint64_t made = fake->calls("host_alloc"), ended = fake->calls("host_free");
    void *data = pinned(&f, "GPU:0", MIB);
    assert_int_equal(fake->calls("host_alloc"), made + 1);
    assert_int_equal(gantry_pinned_free(f.runtime, data), GANTRY_OK);
    assert_int_equal(fake->calls("host_free"), ended + 1);
    assert_int_equal(gantry_pinned_free(f.runtime, NULL), GANTRY_OK);
    runtime_fixture_close(&f);
}

TEST(tensors_are_made_from_it_and_read_into_it) {
    static const char *const devices[] = {"GPU:0", "CPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        size_t count = MIB / sizeof(int32_t);
        int32_t *data = pinned(&f, devices[d], MIB);
        for (size_t i = 0; i < count; ++i) data[i] = (int32_t)i;
        const gantry_tensor_t *tensor = make_i32(scope, (int64_t)count, data);
        memset(data, 0, MIB);
        assert_int_equal(gantry_tensor_read(tensor, data, MIB), GANTRY_OK);
        for (size_t i = 0; i < count; ++i) assert_int_equal(data[i], i);
        assert_int_equal(gantry_pinned_free(f.runtime, data), GANTRY_OK);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

TEST(more_than_the_bound_is_refused_with_the_numbers) {
    runtime_fixture_t f;
    fake->set_device_count(2);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.pinned_limit_bytes = 4 * MIB;
    runtime_fixture_open_with(&f, &options);
    void *first = pinned(&f, "GPU:0", 3 * MIB);
    expect_refused(
        &f, "GPU:1", MIB + 1, GANTRY_RESOURCE_EXHAUSTED,
        "gantry_pinned_alloc: 1048577 bytes of pinned memory for /device:GPU:1 are not available: of at most 4194304 for all devices (pinned_limit) 3145728 are taken");
    expect_refused(&f, "GPU:1", SIZE_MAX, GANTRY_RESOURCE_EXHAUSTED, "are not available");
    void *second = pinned(&f, "GPU:1", MIB);
    assert_int_equal(gantry_pinned_free(f.runtime, first), GANTRY_OK);
    assert_int_equal(gantry_pinned_free(f.runtime, second), GANTRY_OK);
    assert_int_equal(gantry_pinned_free(f.runtime, pinned(&f, "GPU:0", 4 * MIB)), GANTRY_OK);
    runtime_fixture_close(&f);
}

TEST(wrong_calls_are_refused) {
    runtime_fixture_t f;
    int mine = 0;
    runtime_fixture_open(&f, 1);
    expect_refused(&f, "GPU:0", 0, GANTRY_INVALID_ARGUMENT, "bytes is 0; 1 or more are accepted");
    expect_refused(&f, "GPU:7", 1, GANTRY_NOT_FOUND, "GPU:7");
    assert_int_equal(gantry_pinned_alloc(f.runtime, "GPU:0", 1, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_pinned_free(f.runtime, &mine), GANTRY_INVALID_ARGUMENT);
    void *data = pinned(&f, "GPU:0", 1);
    assert_int_equal(gantry_pinned_free(f.runtime, data), GANTRY_OK);
    assert_int_equal(gantry_pinned_free(f.runtime, data), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "was freed before"));
    runtime_fixture_close(&f);
}

TEST(what_is_left_ends_with_the_runtime) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    (void)pinned(&f, "GPU:0", MIB);
    (void)pinned(&f, "CPU:0", MIB);
    (void)pinned(&f, "GPU:0", 5);
    runtime_fixture_close(&f);
}

/* A failed host or driver allocation changes nothing: the next call succeeds. */
TEST(running_out_leaks_nothing) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_pinned_free(f.runtime, pinned(&f, "GPU:0", MIB)), GANTRY_OK);
    f.heap.inner.fail_at = f.heap.inner.calls;
    expect_refused(&f, "GPU:0", MIB, GANTRY_RESOURCE_EXHAUSTED, "");
    f.heap.inner.fail_at = -1;
    assert_true(fake->fail_calls("host_alloc", 1, 1, GANTRY_RESOURCE_EXHAUSTED, "no more"));
    expect_refused(&f, "GPU:0", MIB, GANTRY_RESOURCE_EXHAUSTED, "are not available");
    assert_int_equal(gantry_pinned_free(f.runtime, pinned(&f, "GPU:0", MIB)), GANTRY_OK);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
