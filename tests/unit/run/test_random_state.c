/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Streams of random numbers begin where TensorFlow's Python begins them for the same
 * seeds, and continue where the last draw ended. */
#include <string.h>
#include <pthread.h>

#include "locked_heap.h"
#include "run/random_state.h"
#include "test.h"

/* ---- the generator ---- */

TEST(philox_known_answers_are_met) {
    /* kat_vectors of the Random123 distribution: counter, key, words */
    static const uint32_t cases[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t c = 0; c < 3; ++c) {
        const uint32_t *k = cases[c];
        uint32_t words[4];
        gantry__philox_words(
            (gantry__philox_t){{(uint64_t)k[1] << 32 | k[0], (uint64_t)k[3] << 32 | k[2]},
                               (uint64_t)k[5] << 32 | k[4]},
            words);
        assert_memory_equal(words, k + 6, sizeof words);
    }
}

static void expect_place(gantry__philox_t got, uint64_t low, uint64_t high, uint64_t key) {
    assert_int_equal(got.counter[0], low);
    assert_int_equal(got.counter[1], high);
    assert_int_equal(got.key, key);
}

TEST(philox_skip_carries_through_128_bits) {
    const gantry__philox_t start = {{5, 7}, 9};
    expect_place(gantry__philox_skip(start, 0), 5, 7, 9);
    expect_place(gantry__philox_skip(start, UINT64_C(1) << 40), (UINT64_C(1) << 40) + 5, 7, 9);
    expect_place(gantry__philox_skip(start, UINT64_MAX - 5), UINT64_MAX, 7, 9);
    expect_place(gantry__philox_skip(start, UINT64_MAX - 4), 0, 8, 9);
    expect_place(gantry__philox_skip(start, UINT64_MAX), 4, 8, 9);
    expect_place(gantry__philox_skip((gantry__philox_t){{UINT64_MAX, UINT64_MAX}, 9}, 3), 2, 0, 9);
}

TEST(philox_of_seed_is_what_tensorflow_makes_of_it) {
    expect_place(gantry__philox_of_seed(1, 2), 0, UINT64_C(17830669156045600267),
                 UINT64_C(10413732777507651514));
}

/* More than 2^32 values advance the counter by more than 2^40. */
TEST(blocks_of_many_values_do_not_wrap) {
    assert_int_equal(gantry__random_blocks(INT64_C(3)), 768);
    assert_int_equal(gantry__random_blocks(INT64_C(1) << 33), UINT64_C(1) << 41);
    assert_int_equal(gantry__random_blocks((INT64_C(1) << 55) + 1), (UINT64_C(1) << 63) + 256);
}

/* ---- seeds ---- */

TEST(op_seeds_are_pythons) {
    /* the first, second and 1000th random.Random(seed).randint(0, 2**31 - 1) */
    static const int64_t cases[][4] = {
        {0, 1654615998, 1806341205, 1042159197},
        {1, 577090037, 271041745, 549421921},
        {1234, 1892932127, 501869158, 346334678},
        {-7, 1390851128, 647892279, 1665997138},
        {INT64_C(1) << 40 | 5, 1153647273, 117802120, 835491780},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        gantry__op_seeds_t seeds;
        gantry__op_seeds_init(&seeds, cases[c][0]);
        assert_int_equal(gantry__op_seeds_next(&seeds), cases[c][1]);
        assert_int_equal(gantry__op_seeds_next(&seeds), cases[c][2]);
        for (int i = 2; i < 999; ++i) (void)gantry__op_seeds_next(&seeds);
        assert_int_equal(gantry__op_seeds_next(&seeds), cases[c][3]);
    }
}

typedef struct fixture_t {
    locked_heap_t heap;
    gantry__random_state_t random;
} fixture_t;

static void open_case(fixture_t *f) {
    locked_heap_init(&f->heap, -1);
    assert_int_equal(gantry__random_state_init(&f->random, &f->heap.heap), GANTRY_OK);
}

static void close_case(fixture_t *f) {
    gantry__random_state_deinit(&f->random);
    assert_int_equal(f->heap.inner.live_blocks, 0);
    assert_false(f->heap.inner.wrong_size);
    locked_heap_deinit(&f->heap);
}

TEST(op_seeds_join_the_global_one_as_in_tensorflow) {
    fixture_t f;
    int64_t seeds[2];
    open_case(&f);
    gantry__random_op_seeds(&f.random, 7, seeds);
    assert_int_equal(seeds[0], 87654321);
    assert_int_equal(seeds[1], 7);
    gantry__random_set_seed(&f.random, -1);
    gantry__random_op_seeds(&f.random, INT64_C(1) << 31, seeds);
    assert_int_equal(seeds[0], 2147483646);
    assert_int_equal(seeds[1], 1);
    gantry__random_set_seed(&f.random, 0);
    gantry__random_op_seeds(&f.random, 2147483647, seeds);
    assert_int_equal(seeds[0], 0);
    assert_int_equal(seeds[1], 2147483647); /* 0, 0 would mean no seed */
    close_case(&f);
}

/* ---- streams ---- */

static gantry_status_t take(fixture_t *f, gantry__op_id_t op, gantry_dtype_t dtype, int64_t seed,
                            int64_t seed2, uint64_t blocks, gantry__philox_t *out_place) {
    gantry__infer_t call = {.op = gantry__op_get(op)};
    for (uint32_t i = 0; i < call.op->attr_count; ++i) {
        const gantry__op_attr_t *attr = &call.op->attrs[i];
        call.attrs[i] = (gantry_attr_t){
            .struct_size = sizeof call.attrs[i], .kind = attr->kind, .name = attr->name};
        if (attr->kind == GANTRY_ATTR_TYPE) call.attrs[i].i = (int64_t)dtype;
        if (strcmp(attr->name, "seed") == 0) call.attrs[i].i = seed;
        if (strcmp(attr->name, "seed2") == 0) call.attrs[i].i = seed2;
    }
    return gantry__random_take(&f->random, &call, NULL, blocks, out_place);
}

#define TAKE(f, dtype, seed, seed2, blocks, place)                                            \
    assert_int_equal(take(f, GANTRY__OP_ID_RandomUniform, dtype, seed, seed2, blocks, place), \
                     GANTRY_OK)

TEST(take_goes_on_where_the_last_one_ended) {
    fixture_t f;
    gantry__philox_t place;
    open_case(&f);
    TAKE(&f, GANTRY_FLOAT32, 1, -2, 256, &place);
    expect_place(place, 0, (uint64_t)-2, 1);
    TAKE(&f, GANTRY_FLOAT32, 1, -2, UINT64_MAX, &place);
    expect_place(place, 256, (uint64_t)-2, 1);
    TAKE(&f, GANTRY_FLOAT32, 1, -2, 1, &place);
    expect_place(place, 255, (uint64_t)-1, 1);
    close_case(&f);
}

TEST(take_streams_differ_by_op_types_and_seeds) {
    fixture_t f;
    gantry__philox_t place;
    open_case(&f);
    TAKE(&f, GANTRY_FLOAT32, 1, 2, 256, &place);
    TAKE(&f, GANTRY_FLOAT64, 1, 2, 256, &place);
    assert_int_equal(place.counter[0], 0);
    TAKE(&f, GANTRY_FLOAT32, 2, 1, 256, &place);
    assert_int_equal(place.counter[0], 0);
    assert_int_equal(take(&f, GANTRY__OP_ID_TruncatedNormal, GANTRY_FLOAT32, 1, 2, 256, &place),
                     GANTRY_OK);
    assert_int_equal(place.counter[0], 0);
    /* many streams in each bucket */
    for (int64_t seed = 10; seed < 1000; ++seed) TAKE(&f, GANTRY_FLOAT32, seed, 3, 256, &place);
    for (int64_t seed = 10; seed < 1000; ++seed) {
        TAKE(&f, GANTRY_FLOAT32, seed, 3, 256, &place);
        expect_place(place, 256, 3, (uint64_t)seed);
    }
    close_case(&f);
}

TEST(set_seed_begins_all_streams_anew) {
    fixture_t f;
    gantry__philox_t place, first[3];
    open_case(&f);
    for (int round = 0; round < 2; ++round) {
        gantry__random_set_seed(&f.random, 1234);
        TAKE(&f, GANTRY_FLOAT32, 5, 6, 256, &place);
        assert_int_equal(place.counter[0], 0);
        for (int i = 0; i < 3; ++i) {
            TAKE(&f, GANTRY_FLOAT32, 0, 0, 256, &place);
            if (round == 0) first[i] = place;
            assert_memory_equal(&place, &first[i], sizeof place);
        }
    }
    expect_place(first[0], 0, 1892932127, 1234);
    expect_place(first[1], 0, 501869158, 1234);
    close_case(&f);
}

TEST(take_without_any_seed_never_repeats) {
    fixture_t f;
    gantry__philox_t places[64];
    open_case(&f);
    for (int i = 0; i < 64; ++i) {
        TAKE(&f, GANTRY_FLOAT32, 0, 0, 256, &places[i]);
        for (int k = 0; k < i; ++k)
            assert_memory_not_equal(&places[i], &places[k], sizeof places[i]);
    }
    close_case(&f);
}

TEST(take_without_memory_fails_and_leaves_the_stream) {
    fixture_t f;
    gantry__philox_t place;
    open_case(&f);
    TAKE(&f, GANTRY_FLOAT32, 1, 2, 256, &place);
    f.heap.inner.fail_at = 0;
    assert_int_equal(take(&f, GANTRY__OP_ID_RandomUniform, GANTRY_FLOAT32, 3, 4, 256, &place),
                     GANTRY_RESOURCE_EXHAUSTED);
    TAKE(&f, GANTRY_FLOAT32, 1, 2, 256, &place); /* an existing stream needs no memory */
    expect_place(place, 256, 2, 1);
    f.heap.inner.fail_at = -1;
    TAKE(&f, GANTRY_FLOAT32, 3, 4, 256, &place);
    expect_place(place, 0, 4, 3);
    close_case(&f);
}

enum { THREADS = 4, TAKES = 2000 };

typedef struct taker_t {
    fixture_t *f;
    unsigned char *seen; /* one flag per place, for all threads */
    bool failed;
} taker_t;

static void *take_many(void *context) {
    taker_t *taker = context;
    for (int i = 0; i < TAKES; ++i) {
        gantry__philox_t place;
        if (take(taker->f, GANTRY__OP_ID_RandomUniform, GANTRY_FLOAT32, 1, 2, 1, &place) !=
            GANTRY_OK) {
            taker->failed = true;
        } else {
            /* no other thread has this place; otherwise ThreadSanitizer reports a race */
            ++taker->seen[place.counter[0]];
        }
    }
    return NULL;
}

TEST(take_by_many_threads_gives_each_place_once) {
    static unsigned char seen[THREADS * TAKES];
    fixture_t f;
    pthread_t threads[THREADS];
    taker_t takers[THREADS];
    memset(seen, 0, sizeof seen);
    open_case(&f);
    for (int t = 0; t < THREADS; ++t) {
        takers[t] = (taker_t){&f, seen, false};
        assert_int_equal(pthread_create(&threads[t], NULL, take_many, &takers[t]), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        (void)pthread_join(threads[t], NULL);
        assert_false(takers[t].failed);
    }
    for (size_t i = 0; i < sizeof seen; ++i) assert_int_equal(seen[i], 1);
    close_case(&f);
}

int main(void) { return test_main(); }
