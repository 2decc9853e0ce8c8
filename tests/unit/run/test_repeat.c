/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A call that repeats is kept at its second time, gives the same results and leaves a
 * placement record each time, and one of other types, shapes or settings is another call.
 * Promise: A call that fails is not kept, the calls that are kept have a limit, and each allocation
 * that fails loses nothing.
 * Promise: An eager add that repeats takes three locks of the core and one allocation on an
 * asynchronous device, and none of both for a small result on a CPU. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "runtime_fixture.h"
#include "test.h"

#define OPS 10

/* ---- counts of locks: the program is linked with --wrap ---- */

static _Thread_local long locks;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    ++locks;
    return __real_pthread_mutex_lock(mutex);
}

static long allocations;

static void *counted(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    (void)old_bytes;
    if (new_bytes > 0) {
        ++allocations;
        return realloc(ptr, new_bytes);
    }
    free(ptr);
    return NULL;
}

static void count_ops(const char *device, long most_locks, long most_allocations) {
    runtime_fixture_t f;
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.reallocate = counted;
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, device);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4), *y = F32(scope, 1, 1, 1, 1);
    for (int i = 0; i < 3; ++i) gantry_tensor_drop(scope, gantry_add(scope, x, y));
    locks = allocations = 0;
    for (int i = 0; i < OPS; ++i) gantry_tensor_drop(scope, gantry_add(scope, x, y));
    const long locked = locks, allocated = allocations;
    expect_ended_well(scope);
    gantry_runtime_release(f.runtime);
    locked_heap_deinit(&f.heap);
    assert_in_range(locked, 0, most_locks * OPS);
    assert_in_range(allocated, 0, most_allocations * OPS);
}

/* the fake driver allocates its command, the core a buffer */
TEST(an_add_on_an_asynchronous_device_takes_three_locks_and_an_allocation) {
    count_ops("GPU:0", 3, 2);
}

TEST(a_small_add_on_a_cpu_takes_no_lock_and_no_allocation) { count_ops("CPU:0", 0, 0); }

/* ---- what is kept ---- */

static unsigned kept(const runtime_fixture_t *f) { return atomic_load(&f->runtime->repeats.made); }

static uint64_t placements(const runtime_fixture_t *f) {
    return atomic_load(&f->runtime->placements.sequence);
}

static void keep_at_second_time(const char *device) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, device);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4), *y = F32(scope, 10, 20, 30, 40);
    for (unsigned i = 0; i < 5; ++i) {
        const uint64_t before = placements(&f);
        const gantry_tensor_t *sum = i % 2 ? gantry_add(scope, y, x) : gantry_add(scope, x, y);
        assert_int_equal(placements(&f), before + 1);
        assert_int_equal(kept(&f), i > 0);
        EXPECT_F32(sum, 11, 22, 33, 44);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(call_is_kept_at_its_second_time_on_a_cpu) { keep_at_second_time("CPU:0"); }
TEST(call_is_kept_at_its_second_time_on_an_asynchronous_device) { keep_at_second_time("GPU:0"); }

TEST(other_types_and_shapes_are_other_calls) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4), *one = F32(scope, 100),
                          *i = I32(scope, 1, 2, 3, 4);
    const gantry_tensor_t *square = gantry_reshape(scope, x, GANTRY_SHAPE(2, 2));
    for (int round = 0; round < 3; ++round) {
        EXPECT_F32(gantry_add(scope, x, x), 2, 4, 6, 8);
        EXPECT_F32(gantry_add(scope, x, one), 101, 102, 103, 104);
        EXPECT_F32(gantry_add(scope, one, x), 101, 102, 103, 104);
        EXPECT_F32(gantry_mul(scope, x, x), 1, 4, 9, 16);
        EXPECT_I32(gantry_add(scope, i, i), 2, 4, 6, 8);
        const gantry_tensor_t *sum = gantry_add(scope, square, square);
        EXPECT_F32(sum, 2, 4, 6, 8);
        assert_int_equal(gantry_tensor_shape(sum)->rank, 2);
    }
    assert_in_range(kept(&f), 3, 6); /* three calls of one slot in turn are not kept */
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(another_request_is_another_call) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *host = runtime_fixture_scope(&f, "CPU:0");
    gantry_scope_t *card = runtime_fixture_scope(&f, "GPU:0");
    for (int round = 0; round < 3; ++round) {
        const gantry_tensor_t *x = F32(host, 1, 2), *y = F32(card, 1, 2);
        const gantry_tensor_t *on_host = gantry_add(host, x, x), *on_card = gantry_add(card, y, y);
        assert_string_equal(gantry_tensor_device(on_host)->name, "/device:CPU:0");
        assert_string_equal(gantry_tensor_device(on_card)->name, "/device:GPU:0");
        EXPECT_F32(on_card, 2, 4);
    }
    assert_int_equal(kept(&f), 2);
    expect_ended_well(card);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

TEST(input_on_another_device_is_refused_as_the_policy_says) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *host = runtime_fixture_scope(&f, "CPU:0");
    gantry_scope_t *card = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(host, 1, 2), *y = F32(card, 1, 2);
    for (int round = 0; round < 3; ++round) EXPECT_F32(gantry_add(card, y, y), 2, 4);
    assert_int_equal(gantry_set_device_policy(f.runtime, GANTRY_POLICY_EXPLICIT), GANTRY_OK);
    assert_null(gantry_add(card, y, x));
    expect_scope_failure(card, GANTRY_INVALID_ARGUMENT, "Tensors on conflicting devices");
    (void)gantry_scope_end(card);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

TEST(call_that_fails_is_not_kept) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (int round = 0; round < 4; ++round) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        const gantry_tensor_t *x = I32(scope, 1, 2), *zero = I32(scope, 0, 1);
        assert_null(gantry_floor_div(scope, x, zero));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "ivision by zero");
        (void)gantry_scope_end(scope);
    }
    assert_int_equal(kept(&f), 0);
    runtime_fixture_close(&f);
}

/* Changes the setting between the steps that make key and plan, on the thread of the call. */
static _Thread_local gantry_runtime_t *changing;

static void *change_at_record(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    if (changing && new_bytes == sizeof(gantry__repeat_t))
        assert_int_equal(gantry_set_soft_device_placement(changing, true), GANTRY_OK);
    return counted(user, ptr, old_bytes, new_bytes);
}

TEST(plan_of_settings_that_changed_meanwhile_is_not_kept) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.reallocate = change_at_record;
    runtime_fixture_open_with(&f, &options);
    for (int round = 0; round < 4; ++round) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        const gantry_tensor_t *x = F32(scope, 1, 2);
        assert_int_equal(gantry_device_begin(scope, "GPU:7"), GANTRY_OK);
        assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
        changing = round == 1 ? f.runtime : NULL;
        const gantry_tensor_t *sum = gantry_add(scope, x, x);
        changing = NULL;
        if (round == 1) {
            EXPECT_F32(sum, 2, 4);
        } else {
            expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "GPU:7");
        }
        (void)gantry_scope_end(scope);
    }
    assert_int_equal(kept(&f), 0);
    gantry_runtime_release(f.runtime);
    locked_heap_deinit(&f.heap);
}

TEST(kept_calls_have_a_limit) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    static const float values[GANTRY__MOST_REPEATS + 40];
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (int64_t n = 1; n <= GANTRY__MOST_REPEATS + 40; ++n) {
        const gantry_tensor_t *x = make_f32(scope, n, values);
        for (int round = 0; round < 3; ++round) {
            const gantry_tensor_t *sum = gantry_add(scope, x, x);
            assert_int_equal(gantry_tensor_elements(sum), n);
            gantry_tensor_drop(scope, sum);
        }
        gantry_tensor_drop(scope, x);
    }
    assert_int_equal(kept(&f), GANTRY__MOST_REPEATS);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(each_allocation_that_fails_leaves_later_calls_right) {
    for (int n = 0; n < 12; ++n) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
        const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4);
        EXPECT_F32(gantry_add(scope, x, x), 2, 4, 6, 8);
        f.heap.inner.calls = 0;
        f.heap.inner.fail_at = n;
        const gantry_tensor_t *sum = gantry_add(scope, x, x);
        f.heap.inner.fail_at = -1;
        if (sum) {
            EXPECT_F32(sum, 2, 4, 6, 8);
            EXPECT_F32(gantry_add(scope, x, x), 2, 4, 6, 8);
        } else {
            expect_scope_failure(scope, GANTRY_RESOURCE_EXHAUSTED, "");
        }
        (void)gantry_scope_end(scope);
        runtime_fixture_close(&f);
    }
}

/* ---- threads ---- */

static void *add_often(void *argument) {
    const runtime_fixture_t *f = argument;
    gantry_scope_t *scope = gantry_scope_begin(f->runtime, "CPU:0");
    bool well = scope != NULL;
    for (int64_t i = 0; i < 200 && well; ++i) {
        float values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum[8] = {0};
        const int64_t n = 1 + i % 8;
        const gantry_tensor_t *x = make_f32(scope, n, values), *y = gantry_add(scope, x, x);
        well = y && gantry_tensor_read(y, sum, (size_t)n * sizeof *sum) == GANTRY_OK;
        for (int64_t k = 0; k < n && well; ++k)
            well = sum[k] > values[k] * 2 - 0.5F && sum[k] < values[k] * 2 + 0.5F;
    }
    return gantry_scope_end(scope) == GANTRY_OK && well ? NULL : argument;
}

TEST(threads_share_what_is_kept) {
    runtime_fixture_t f;
    pthread_t threads[4];
    runtime_fixture_open(&f, 0);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, add_often, &f), 0);
    for (int i = 0; i < 4; ++i) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_in_range(kept(&f), 1, 32);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
