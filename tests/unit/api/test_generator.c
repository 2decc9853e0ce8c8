/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Generators keep their state, serve several threads at once, and refuse bad arguments.
 * Promise: Generators and stateful draws have TensorFlow's states and numbers, the same on the CPU
 * backend and on another device.
 *
 * conformance_draws.c shows that the numbers are TensorFlow's on every device. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "runtime_fixture.h"
#include "test.h"

static gantry_generator_t *make_generator(runtime_fixture_t *f, int64_t seed) {
    gantry_generator_t *generator;
    if (gantry_generator_from_seed(f->runtime, seed, GANTRY_RANDOM_PHILOX, &generator) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return generator;
}

static void expect_state(gantry_generator_t *generator, uint64_t low, uint64_t high, uint64_t key) {
    uint64_t got[3];
    assert_int_equal(gantry_generator_get_state(generator, got), GANTRY_OK);
    assert_int_equal(got[0], low);
    assert_int_equal(got[1], high);
    assert_int_equal(got[2], key);
}

/* ---- the state ---- */

TEST(state_begins_as_tensorflows) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_generator_t *g = make_generator(&f, 1234), *negative = make_generator(&f, -5), *second;
    expect_state(g, 1234, 0, 0);
    expect_state(negative, (uint64_t)-5, UINT64_MAX, UINT64_MAX);
    const uint64_t numbers[] = {1, 2, 3};
    assert_int_equal(gantry_generator_from_state(f.runtime, numbers, GANTRY_RANDOM_AUTO, &second),
                     GANTRY_OK);
    expect_state(second, 1, 2, 3);
    uint64_t key = 0;
    assert_int_equal(gantry_generator_key(second, &key), GANTRY_OK);
    assert_int_equal(key, 3);
    assert_int_equal(gantry_generator_reset_from_seed(second, 8), GANTRY_OK);
    expect_state(second, 8, 0, 0);
    gantry_generator_release(g);
    gantry_generator_release(negative);
    gantry_generator_release(second);
    gantry_generator_release(NULL);
    runtime_fixture_close(&f);
}

TEST(skip_moves_as_tensorflows) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_generator_t *g = make_generator(&f, 1234);
    /* the product wraps */
    assert_int_equal(gantry_generator_skip(g, (UINT64_C(1) << 57) + 3), GANTRY_OK);
    expect_state(g, 2002, 0, 0);
    assert_int_equal(gantry_generator_set_state(g, (const uint64_t[]){UINT64_MAX - 4, 7, 9}),
                     GANTRY_OK);
    assert_int_equal(gantry_generator_skip(g, 3), GANTRY_OK);
    expect_state(g, 763, 8, 9);
    gantry_generator_release(g);
    runtime_fixture_close(&f);
}

TEST(draws_move_by_their_number_of_values) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_generator_t *g = make_generator(&f, 0);
    assert_non_null(gantry_generator_uniform(scope, g, GANTRY_SHAPE(2, 3), GANTRY_FLOAT32));
    expect_state(g, 6 * 256, 0, 0);
    assert_non_null(gantry_generator_normal(scope, g, GANTRY_SCALAR, GANTRY_FLOAT64));
    expect_state(g, 7 * 256, 0, 0);
    assert_non_null(
        gantry_generator_truncated_normal(scope, g, GANTRY_SHAPE(0, 3), GANTRY_FLOAT16));
    expect_state(g, 7 * 256, 0, 0);
    assert_non_null(gantry_generator_shuffle(scope, g, I32(scope, 1, 2, 3)));
    expect_state(g, 10 * 256, 0, 0);
    assert_null(gantry_generator_uniform(scope, g, GANTRY_SHAPE(-2, 3), GANTRY_FLOAT32));
    expect_state(g, 10 * 256, 0, 0);
    gantry_scope_clear(scope);
    expect_ended_well(scope);
    gantry_generator_release(g);
    runtime_fixture_close(&f);
}

TEST(split_keys_are_tensorflows) {
    static const uint64_t keys[] = {UINT64_C(6679402142117448868), UINT64_C(684265014234019051),
                                    UINT64_C(5892734326067077929)};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_generator_t *g = make_generator(&f, 1), *parts[3];
    assert_int_equal(gantry_generator_split(g, 3, parts), GANTRY_OK);
    expect_state(g, 769, 0, 0);
    for (int i = 0; i < 3; ++i) {
        expect_state(parts[i], 0, 0, keys[i]);
        gantry_generator_release(parts[i]);
    }
    assert_int_equal(gantry_generator_split(g, 0, NULL), GANTRY_OK);
    gantry_generator_release(g);
    runtime_fixture_close(&f);
}

TEST(entropy_gives_generators_that_differ) {
    runtime_fixture_t f;
    uint64_t states[2][3];
    runtime_fixture_open(&f, 0);
    for (int i = 0; i < 2; ++i) {
        gantry_generator_t *g;
        assert_int_equal(gantry_generator_from_entropy(f.runtime, GANTRY_RANDOM_PHILOX, &g),
                         GANTRY_OK);
        assert_int_equal(gantry_generator_get_state(g, states[i]), GANTRY_OK);
        gantry_generator_release(g);
    }
    assert_memory_not_equal(states[0], states[1], sizeof states[0]);
    runtime_fixture_close(&f);
}

/* ---- threads ---- */

enum { THREADS = 4, DRAWS = 100, EACH = 6, ALL = THREADS * DRAWS * EACH };

typedef struct drawer_t {
    runtime_fixture_t *f;
    gantry_generator_t *generator;
    uint64_t *drawn; /* DRAWS * EACH */
    bool failed;
} drawer_t;

static void *draw_many(void *context) {
    drawer_t *drawer = context;
    gantry_scope_t *scope = gantry_scope_begin(drawer->f->runtime, "CPU:0");
    for (int i = 0; i < DRAWS; ++i) {
        const gantry_tensor_t *t = gantry_generator_uniform_full_int(
            scope, drawer->generator, GANTRY_SHAPE(EACH), GANTRY_UINT64);
        if (!t ||
            gantry_tensor_read(t, drawer->drawn + i * EACH, EACH * sizeof(uint64_t)) != GANTRY_OK)
            drawer->failed = true;
    }
    if (gantry_scope_end(scope) != GANTRY_OK) drawer->failed = true;
    return NULL;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

TEST(draws_of_many_threads_are_those_of_one) {
    static uint64_t drawn[ALL], alone[ALL];
    runtime_fixture_t f;
    pthread_t threads[THREADS];
    drawer_t drawers[THREADS];
    runtime_fixture_open(&f, 0);
    gantry_generator_t *shared = make_generator(&f, 3), *single = make_generator(&f, 3);
    for (int t = 0; t < THREADS; ++t) {
        drawers[t] = (drawer_t){&f, shared, drawn + t * DRAWS * EACH, false};
        assert_int_equal(pthread_create(&threads[t], NULL, draw_many, &drawers[t]), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        (void)pthread_join(threads[t], NULL);
        assert_false(drawers[t].failed);
        drawer_t drawer = {&f, single, alone + t * DRAWS * EACH, false};
        (void)draw_many(&drawer);
        assert_false(drawer.failed);
    }
    qsort(drawn, ALL, sizeof *drawn, compare);
    qsort(alone, ALL, sizeof *alone, compare);
    assert_memory_equal(drawn, alone, sizeof drawn);
    for (int i = 1; i < ALL; ++i) assert_int_not_equal(alone[i - 1], alone[i]);
    gantry_generator_release(shared);
    gantry_generator_release(single);
    runtime_fixture_close(&f);
}

/* ---- refusals ---- */

TEST(wrong_arguments_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_generator_t *g, *none = make_generator(&f, 1);
    uint64_t word;
    assert_int_equal(gantry_generator_from_seed(f.runtime, 1, (gantry_random_algorithm_t)2, &g),
                     GANTRY_UNIMPLEMENTED);
    assert_null(g);
    assert_int_equal(gantry_generator_from_seed(f.runtime, 1, (gantry_random_algorithm_t)9, &g),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_from_seed(f.runtime, 1, GANTRY_RANDOM_PHILOX, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_from_state(f.runtime, NULL, GANTRY_RANDOM_PHILOX, &g),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_get_state(none, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_set_state(none, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_key(none, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_key(NULL, &word), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_skip(NULL, 1), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_generator_split(none, 2, NULL), GANTRY_INVALID_ARGUMENT);
    gantry_generator_release(none);
    runtime_fixture_close(&f);
}

TEST(wrong_states_and_strangers_fail_the_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_generator_t *g = make_generator(&f, 4);
    const gantry_tensor_t *narrow = I32(scope, 1, 2, 3),
                          *wrong[] = {NULL, narrow, gantry_scalar_i64(scope, 1)};
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(gantry_generator_assign_state(scope, g, wrong[i]),
                         GANTRY_INVALID_ARGUMENT);
        assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
        gantry_scope_clear(scope);
    }
    expect_state(g, 4, 0, 0);
    assert_null(gantry_generator_uniform(scope, NULL, GANTRY_SHAPE(2), GANTRY_FLOAT32));
    /* the scope has failed */
    assert_null(gantry_generator_uniform(scope, g, GANTRY_SHAPE(2), GANTRY_FLOAT32));
    gantry_scope_clear(scope);
    assert_null(gantry_generator_uniform(scope, g, GANTRY_SHAPE(2), GANTRY_INT32));
    gantry_scope_clear(scope);
    assert_null(gantry_generator_categorical(scope, g, narrow, 2, GANTRY_INT64));
    gantry_scope_clear(scope);
    gantry_runtime_t *second;
    gantry_generator_t *stranger;
    assert_int_equal(gantry_runtime_create(NULL, &second), GANTRY_OK);
    assert_int_equal(gantry_generator_from_seed(second, 1, GANTRY_RANDOM_PHILOX, &stranger),
                     GANTRY_OK);
    assert_null(gantry_generator_uniform(scope, stranger, GANTRY_SHAPE(2), GANTRY_FLOAT32));
    assert_non_null(strstr(gantry_scope_message(scope), "another runtime"));
    gantry_scope_clear(scope);
    gantry_generator_release(stranger);
    gantry_runtime_release(second);
    expect_ended_well(scope);
    gantry_generator_release(g);
    runtime_fixture_close(&f);
}

TEST(after_the_runtime_only_release_is_left) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_generator_t *g = make_generator(&f, 4), *second;
    gantry_runtime_t *runtime = f.runtime;
    gantry_runtime_release(runtime);
    assert_int_equal(gantry_generator_skip(g, 1), GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry_generator_from_seed(runtime, 1, GANTRY_RANDOM_PHILOX, &second),
                     GANTRY_FAILED_PRECONDITION);
    assert_int_equal(gantry_set_seed(runtime, 1), GANTRY_FAILED_PRECONDITION);
    gantry_generator_release(g);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

TEST(without_memory_nothing_is_left_behind) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_generator_t *g = make_generator(&f, 4), *parts[4];
    const gantry_tensor_t *value =
        I32(scope, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
    for (long fail_at = 0;; ++fail_at) { /* each allocation of each call fails once */
        runtime_fixture_starve(&f, fail_at);
        gantry_status_t split = gantry_generator_split(g, 4, parts);
        const gantry_tensor_t *shuffled = gantry_generator_shuffle(scope, g, value);
        const gantry_tensor_t *drawn =
            gantry_random_uniform(scope, GANTRY_SHAPE(3), GANTRY_FLOAT32, &(int64_t){fail_at});
        f.heap.inner.fail_at = -1;
        bool is_done = split == GANTRY_OK && shuffled && drawn;
        for (int i = 0; i < 4; ++i) {
            if (split != GANTRY_OK) assert_null(parts[i]);
            gantry_generator_release(parts[i]);
        }
        if (is_done) break;
        if (!shuffled || !drawn)
            assert_int_equal(gantry_scope_status(scope), GANTRY_RESOURCE_EXHAUSTED);
        gantry_scope_clear(scope);
        assert_in_range(fail_at, 0, 200);
    }
    expect_ended_well(scope);
    gantry_generator_release(g);
    runtime_fixture_close(&f);
}

/* ---- functions by seed that no other test calls ---- */

TEST(key_and_counter_draw_what_the_seed_draws) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *inputs[4] = {
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1), &(int32_t){5}, 4)};
    assert_int_equal(gantry_stateless_random_get_key_counter(scope, 3, -4, &inputs[1], &inputs[2]),
                     GANTRY_OK);
    inputs[3] = gantry_scalar_i32(scope, GANTRY_RANDOM_PHILOX);
    const gantry_tensor_t *by_key = NULL, *by_seed = gantry_stateless_random_uniform(
                                              scope, GANTRY_SHAPE(5), GANTRY_FLOAT32, 3, -4);
    size_t count = 1;
    assert_int_equal(
        gantry_op_call(scope, "StatelessRandomUniformV2", inputs, 4, NULL, 0, &by_key, &count),
        GANTRY_OK);
    float a[5], b[5];
    assert_int_equal(gantry_tensor_read(by_key, a, sizeof a), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(by_seed, b, sizeof b), GANTRY_OK);
    assert_memory_equal(a, b, sizeof a);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
