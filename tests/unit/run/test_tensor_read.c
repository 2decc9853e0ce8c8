/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An asynchronous read returns at once, says when it has ended, and brings the elements,
 * or the error of the work before it. */
#define _XOPEN_SOURCE 700

#include "device/staging.h"
#include "runtime_fixture.h"
#include "test.h"

#include "run/scope_state.h"

#define COMPUTE (1u << GANTRY_STREAM_COMPUTE)
#define TO_HOST (1u << GANTRY_STREAM_TO_HOST)
#define BIG (32 << 10) /* elements: more than a staging block has */

static gantry_read_t *begin_read(const gantry_tensor_t *tensor, void *out) {
    gantry_read_t *read = NULL;
    assert_non_null(tensor);
    if (gantry_tensor_read_async(tensor, out, gantry_tensor_bytes(tensor), &read) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return read;
}

static bool has_ended(gantry_read_t *read) {
    bool ended = false;
    if (gantry_read_poll(read, &ended) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return ended;
}

static void wait_well(gantry_read_t *read) {
    if (gantry_read_wait(read) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    assert_true(has_ended(read));
}

/* Opens a runtime with a GPU whose driver has these flags. */
static gantry_scope_t *open_gpu(runtime_fixture_t *f, uint32_t flags) {
    fake->set_device_count(1);
    device_fixture_set_gpu(fake, 0, "", "", flags);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    runtime_fixture_open_with(f, &options);
    return runtime_fixture_scope(f, "GPU:0");
}

static void end(runtime_fixture_t *f, gantry_scope_t *scope) {
    expect_ended_well(scope);
    runtime_fixture_close(f);
}

/* ---- order ---- */

TEST(read_ends_after_the_work_before_it) {
    static const uint32_t flags[] = {0, GANTRY_DEVICE_WAITS_FOR_PAGEABLE};
    for (int i = 0; i < 2; ++i) {
        runtime_fixture_t f;
        gantry_scope_t *scope = open_gpu(&f, flags[i]);
        const gantry_tensor_t *x = F32(scope, 1, 2, 3);
        float got[3];
        assert_int_equal(gantry_tensor_wait(x), GANTRY_OK);
        fake->close_gate(0, COMPUTE);
        const gantry_tensor_t *sum = gantry_add(scope, x, x);
        gantry_read_t *read = begin_read(sum, got);
        assert_false(has_ended(read));
        assert_string_equal(gantry_read_note(read), "");
        fake->open_gate(0, COMPUTE);
        wait_well(read);
        assert_true(got[0] == 2 && got[1] == 4 && got[2] == 6);
        assert_int_equal(gantry_read_wait(read), GANTRY_OK); /* each time */
        gantry_read_release(read);
        end(&f, scope);
    }
}

TEST(polling_alone_finds_the_end) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *x = F32(scope, 5, 6);
    float got[2];
    gantry_read_t *read = begin_read(x, got);
    const struct timespec pause = {.tv_nsec = 1000000L};
    for (int ms = 0; ms < 100000 && !has_ended(read); ++ms) (void)nanosleep(&pause, NULL);
    assert_true(got[0] == 5 && got[1] == 6);
    gantry_read_release(read);
    end(&f, scope);
}

/* Each read has an event of its own. */
TEST(read_that_has_ended_is_not_delayed_by_a_later_one) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *x = F32(scope, 5, 6), *y = F32(scope, 7, 8);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, TO_HOST);
    float first[2], second[2];
    gantry_read_t *a = begin_read(x, first), *b = begin_read(y, second);
    assert_false(has_ended(a));
    fake->let_pass(0, 1);
    const struct timespec pause = {.tv_nsec = 1000000L};
    for (int ms = 0; ms < 100000 && !has_ended(a); ++ms) (void)nanosleep(&pause, NULL);
    assert_true(first[1] == 6);
    assert_false(has_ended(b));
    fake->open_gate(0, TO_HOST);
    wait_well(b);
    assert_true(second[1] == 8);
    gantry_read_release(a);
    gantry_read_release(b);
    end(&f, scope);
}

/* ---- who holds what ---- */

TEST(read_holds_the_tensor_and_the_runtime) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    fake->close_gate(0, COMPUTE);
    const gantry_tensor_t *x = F32(scope, 1, 2), *sum = gantry_add(scope, x, x);
    float got[2] = {0};
    gantry_read_t *read = begin_read(sum, got);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    fake->open_gate(0, COMPUTE);
    wait_well(read);
    assert_true(got[0] == 2 && got[1] == 4);
    gantry_runtime_release(f.runtime);
    gantry_read_release(read);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

/* The memory belongs to the program again. */
TEST(release_waits_for_the_end) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    float got[2] = {0};
    gantry_read_release(begin_read(x, got));
    assert_true(got[0] == 1 && got[1] == 2);
    gantry_read_release(NULL);
    end(&f, scope);
}

/* ---- ways ---- */

TEST(elements_of_the_host_are_copied_at_once) {
    static const int64_t counts[] = {0, 3, 1000};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    for (int i = 0; i < 3; ++i) {
        float got[1000] = {0};
        const gantry_tensor_t *x =
            gantry_fill(scope, GANTRY_SHAPE(counts[i]), gantry_scalar_f32(scope, 7));
        gantry_read_t *read = begin_read(x, got);
        for (int64_t k = 0; k < counts[i]; ++k) assert_int_equal((int)got[k], 7);
        assert_true(has_ended(read));
        assert_non_null(strstr(gantry_read_note(read), "copied at once"));
        gantry_read_release(read);
    }
    end(&f, scope);
}

/* A driver that waits for copies to other memory: a staging block, pinned memory, or at once. */
TEST(large_read_to_memory_that_is_not_pinned_is_made_at_once) {
    static float values[BIG], got[BIG];
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, GANTRY_DEVICE_WAITS_FOR_PAGEABLE);
    for (int i = 0; i < BIG; ++i) values[i] = (float)i;
    const gantry_tensor_t *x = make_f32(scope, BIG, values);
    assert_true(gantry_tensor_bytes(x) > GANTRY__STAGING_BLOCK_BYTES);
    gantry_read_t *read = begin_read(x, got);
    assert_true(has_ended(read));
    assert_non_null(strstr(gantry_read_note(read), "gantry_pinned_alloc gives memory"));
    assert_memory_equal(got, values, sizeof got);
    gantry_read_release(read);
    end(&f, scope);
}

TEST(large_read_to_pinned_memory_is_not_waited_for) {
    static float values[BIG];
    runtime_fixture_t f;
    void *pinned;
    gantry_scope_t *scope = open_gpu(&f, GANTRY_DEVICE_WAITS_FOR_PAGEABLE);
    for (int i = 0; i < BIG; ++i) values[i] = (float)i;
    const gantry_tensor_t *x = make_f32(scope, BIG, values);
    assert_int_equal(gantry_pinned_alloc(f.runtime, "GPU:0", sizeof values + 4, &pinned),
                     GANTRY_OK);
    float *got = (float *)pinned + 1; /* anywhere inside */
    assert_int_equal(gantry_tensor_wait(x), GANTRY_OK);
    fake->close_gate(0, TO_HOST);
    gantry_read_t *read = begin_read(x, got);
    assert_false(has_ended(read));
    assert_string_equal(gantry_read_note(read), "");
    fake->open_gate(0, TO_HOST);
    wait_well(read);
    assert_memory_equal(got, values, sizeof values);
    gantry_read_release(read);
    assert_int_equal(gantry_pinned_free(f.runtime, pinned), GANTRY_OK);
    end(&f, scope);
}

/* Staging has no block any more: the next read is made at once, and then there are blocks again. */
TEST(reads_without_a_staging_block_are_made_at_once) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, GANTRY_DEVICE_WAITS_FOR_PAGEABLE);
    const gantry_tensor_t *x = F32(scope, 3);
    gantry_read_t *reads[GANTRY__STAGING_BLOCKS + 1];
    float got[GANTRY__STAGING_BLOCKS + 1] = {0};
    int at_once = 0;
    for (int i = 0; i <= GANTRY__STAGING_BLOCKS; ++i) {
        reads[i] = begin_read(x, &got[i]);
        at_once += *gantry_read_note(reads[i]) != '\0';
    }
    assert_in_range(at_once, 1, GANTRY__STAGING_BLOCKS);
    for (int i = 0; i <= GANTRY__STAGING_BLOCKS; ++i) {
        wait_well(reads[i]);
        assert_int_equal((int)got[i], 3);
        gantry_read_release(reads[i]);
    }
    gantry_read_t *read = begin_read(x, got);
    assert_string_equal(gantry_read_note(read), "");
    gantry_read_release(read);
    end(&f, scope);
}

/* ---- errors ---- */

TEST(error_that_a_kernel_finds_reaches_the_waiter) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *bad = gantry_gather(scope, F32(scope, 10, 20, 30), I32(scope, 0, 3), 0);
    float got[2];
    gantry_read_t *read = begin_read(bad, got);
    expect_failure(gantry_read_wait(read), GANTRY_INVALID_ARGUMENT, "is not in [0, 3): op Gather");
    bool ended = false;
    expect_failure(gantry_read_poll(read, &ended), GANTRY_INVALID_ARGUMENT, "op Gather");
    assert_true(ended);
    gantry_read_release(read);
    end(&f, scope);
}

/* Work of the stream fails: an op before the read, or the copy. polls: the caller polls, and else
 * waits. */
static void expect_failed_work(uint32_t stream, bool polls) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, stream);
    float got[2] = {0};
    gantry_read_t *read = begin_read(stream == COMPUTE ? gantry_add(scope, x, x) : x, got);
    assert_int_equal(fake->fail_calls("work", 1, 1, GANTRY_INTERNAL, "the bus broke"), 1);
    fake->open_gate(0, stream);
    bool ended = false;
    gantry_status_t status = GANTRY_OK;
    while (polls && !ended) status = gantry_read_poll(read, &ended);
    if (!polls) status = gantry_read_wait(read);
    expect_failure(status, GANTRY_INTERNAL, "the bus broke");
    expect_failure(gantry_read_wait(read), GANTRY_INTERNAL, "the bus broke");
    gantry_read_release(read);
    gantry_read_t *again = begin_read(x, got); /* what is read later is well */
    wait_well(again);
    assert_true(got[0] == 1 && got[1] == 2);
    gantry_read_release(again);
    end(&f, scope);
}

TEST(failed_work_reaches_the_waiter_and_the_poller) {
    expect_failed_work(TO_HOST, false);
    expect_failed_work(TO_HOST, true);
    expect_failed_work(COMPUTE, false);
    expect_failed_work(COMPUTE, true);
}

TEST(read_that_cannot_be_submitted_fails_at_once) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    float got[3] = {0};
    gantry_read_t *read = (gantry_read_t *)&f;
    (void)fake->fail_calls("to_host", 1, 1, GANTRY_INTERNAL, "the bus broke");
    expect_failure(gantry_tensor_read_async(x, got, 8, &read), GANTRY_INTERNAL, "the bus broke");
    assert_null(read);
    expect_failure(gantry_tensor_read_async(x, got, 12, &read), GANTRY_INVALID_ARGUMENT,
                   "reading a tensor of 8 bytes into 12 bytes");
    expect_failure(gantry_tensor_read_async(x, NULL, 8, &read), GANTRY_INVALID_ARGUMENT,
                   "out is NULL");
    /* without an event, the read waits for the stream, and has ended */
    (void)fake->fail_calls("event_record", 1, 1, GANTRY_RESOURCE_EXHAUSTED, "no event");
    read = begin_read(x, got);
    assert_true(has_ended(read));
    assert_true(got[0] == 1 && got[1] == 2);
    gantry_read_release(read);
    end(&f, scope);
}

TEST(lost_device_ends_the_read) {
    runtime_fixture_t f;
    gantry_scope_t *scope = open_gpu(&f, 0);
    const gantry_tensor_t *x = F32(scope, 1, 2);
    assert_int_equal(gantry_runtime_synchronize(f.runtime), GANTRY_OK);
    fake->close_gate(0, TO_HOST);
    float got[2];
    gantry_read_t *polled = begin_read(x, got), *waited = begin_read(x, got);
    fake->set_lost(0, 1);
    bool ended = false;
    gantry_status_t status = GANTRY_OK;
    while (!ended) status = gantry_read_poll(polled, &ended);
    assert_int_equal(status, GANTRY_UNAVAILABLE);
    assert_int_equal(gantry_read_wait(waited), GANTRY_UNAVAILABLE);
    gantry_read_release(polled);
    gantry_read_release(waited);
    (void)gantry_scope_end(scope);
    runtime_fixture_close(&f);
}

static gantry_status_t read_program(gantry_scope_t *scope) {
    const float values[] = {1, 2, 3, 4};
    const gantry_tensor_t *x = make_f32(scope, 4, values);
    gantry_read_t *read;
    float got[4];
    if (!x) return gantry_scope_status(scope);
    gantry_status_t status = gantry_tensor_read_async(x, got, sizeof got, &read);
    if (status != GANTRY_OK) return status;
    status = gantry_read_wait(read);
    if (status == GANTRY_OK) assert_true(got[3] == 4);
    gantry_read_release(read);
    return status;
}

TEST(read_without_host_memory_fails_and_leaks_nothing) {
    runtime_fixture_starve_each(1, "GPU:0", read_program);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
