/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The hash of programs and settings is XXH3, and keeps the parts of a text apart. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "test.h"

static gantry__hash128_t hash_of_two(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    gantry__hasher_t hasher;
    gantry__hasher_init(&hasher);
    gantry__hasher_add(&hasher, a, a_bytes);
    gantry__hasher_add(&hasher, b, b_bytes);
    return hasher.state;
}

static bool is_equal(gantry__hash128_t a, gantry__hash128_t b) {
    return a.low == b.low && a.high == b.high;
}

/* The published values of XXH3 with seed 0: a new version of the library must not change file names
 * in a cache. */
TEST(short_hash_is_xxh3) {
    assert_true(gantry__hash64("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(gantry__hash64("a", 1, 0) != gantry__hash64("a", 1, 1));
    assert_true(gantry__hash64("a", 1, 0) != gantry__hash64("b", 1, 0));
    assert_true(gantry__hash64("ab", 1, 0) == gantry__hash64("ac", 1, 0));
}

TEST(pieces_do_not_run_together) {
    gantry__hash128_t hash = hash_of_two("ab", 2, "c", 1);
    assert_true(is_equal(hash, hash_of_two("ab", 2, "c", 1)));
    assert_false(is_equal(hash, hash_of_two("a", 1, "bc", 2)));
    assert_false(is_equal(hash, hash_of_two("abc", 3, "", 0)));
    assert_false(is_equal(hash, hash_of_two("", 0, "abc", 3)));
    assert_false(is_equal(hash, hash_of_two("c", 1, "ab", 2)));
    gantry__hasher_t one;
    gantry__hasher_init(&one);
    gantry__hasher_add_text(&one, "abc");
    assert_false(is_equal(hash, one.state));
}

TEST(text_is_hashed_without_its_end) {
    gantry__hasher_t a, b;
    gantry__hasher_init(&a);
    gantry__hasher_init(&b);
    gantry__hasher_add_text(&a, "text");
    gantry__hasher_add(&b, "text", 4);
    assert_true(is_equal(a.state, b.state));
}

static int compare_hashes(const void *left, const void *right) {
    const gantry__hash128_t *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

TEST(similar_inputs_differ) {
    static gantry__hash128_t hashes[4096];
    for (uint32_t i = 0; i < 4096; ++i) {
        gantry__hasher_t hasher;
        gantry__hasher_init(&hasher);
        gantry__hasher_add(&hasher, &i, sizeof i);
        gantry__hasher_add_text(&hasher, "-DGANTRY_T=f32");
        hashes[i] = hasher.state;
    }
    qsort(hashes, 4096, sizeof hashes[0], compare_hashes);
    for (uint32_t i = 1; i < 4096; ++i)
        assert_int_not_equal(compare_hashes(&hashes[i - 1], &hashes[i]), 0);
}

int main(void) { return test_main(); }
