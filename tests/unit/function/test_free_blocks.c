/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The free blocks of a function's memory plan give the best fit, merge neighbours, and
 * agree with a plain list over long random sequences. */
#include <stdlib.h>
#include <string.h>

#include "failing_heap.h"
#include "function/schedule/free_blocks.h"
#include "test.h"

#define UNIT 64
#define MOST 512

/* ---- the plain list: sorted by offset, every search from its start ---- */

typedef struct plain_t {
    struct {
        uint64_t offset, bytes;
    } blocks[MOST];
    size_t count;
} plain_t;

static bool plain_take(plain_t *list, uint64_t bytes, uint64_t *out_offset) {
    size_t best = list->count;
    for (size_t i = 0; i < list->count; ++i) {
        if (list->blocks[i].bytes >= bytes &&
            (best == list->count || list->blocks[i].bytes < list->blocks[best].bytes))
            best = i;
    }
    if (best == list->count) return false;
    *out_offset = list->blocks[best].offset;
    list->blocks[best].offset += bytes;
    list->blocks[best].bytes -= bytes;
    if (list->blocks[best].bytes == 0)
        memmove(&list->blocks[best], &list->blocks[best + 1],
                (--list->count - best) * sizeof list->blocks[0]);
    return true;
}

static void plain_give(plain_t *list, uint64_t offset, uint64_t bytes) {
    size_t at = 0;
    while (at < list->count && list->blocks[at].offset < offset) ++at;
    memmove(&list->blocks[at + 1], &list->blocks[at],
            (list->count++ - at) * sizeof list->blocks[0]);
    assert_in_range(list->count, 1, MOST - 1);
    list->blocks[at].offset = offset;
    list->blocks[at].bytes = bytes;
    for (size_t i = list->count - 1; i > 0; --i) {
        if (list->blocks[i - 1].offset + list->blocks[i - 1].bytes != list->blocks[i].offset)
            continue;
        list->blocks[i - 1].bytes += list->blocks[i].bytes;
        memmove(&list->blocks[i], &list->blocks[i + 1],
                (--list->count - i) * sizeof list->blocks[0]);
    }
}

/* ---- tests ---- */

TEST(smallest_block_that_holds_is_taken) {
    gantry__free_blocks_t blocks;
    bool is_found;
    uint64_t offset = 1;
    gantry__free_blocks_init(&blocks, &gantry__heap_default);
    assert_int_equal(gantry__free_blocks_take(&blocks, UNIT, &is_found, &offset), GANTRY_OK);
    assert_false(is_found);
    assert_int_equal(gantry__free_blocks_give(&blocks, 10 * UNIT, 4 * UNIT), GANTRY_OK);
    assert_int_equal(gantry__free_blocks_give(&blocks, 20 * UNIT, 2 * UNIT), GANTRY_OK);
    assert_int_equal(gantry__free_blocks_give(&blocks, 0, 2 * UNIT), GANTRY_OK);
    assert_int_equal(gantry__free_blocks_take(&blocks, 2 * UNIT, &is_found, &offset), GANTRY_OK);
    assert_true(is_found);
    assert_int_equal(offset, 0); /* the first of two equal ones */
    assert_int_equal(gantry__free_blocks_take(&blocks, 2 * UNIT, &is_found, &offset), GANTRY_OK);
    assert_int_equal(offset, 20 * UNIT);
    assert_int_equal(gantry__free_blocks_take(&blocks, UNIT, &is_found, &offset), GANTRY_OK);
    assert_int_equal(offset, 10 * UNIT); /* the rest stays free */
    assert_int_equal(gantry__free_blocks_take(&blocks, 4 * UNIT, &is_found, &offset), GANTRY_OK);
    assert_false(is_found);
    assert_int_equal(gantry__free_blocks_give(&blocks, 10 * UNIT, UNIT), GANTRY_OK); /* merges */
    assert_int_equal(gantry__free_blocks_take_last(&blocks, 14 * UNIT, &offset), GANTRY_OK);
    assert_int_equal(offset, 10 * UNIT);
    assert_int_equal(gantry__free_blocks_take_last(&blocks, 14 * UNIT, &offset), GANTRY_OK);
    assert_int_equal(offset, 14 * UNIT); /* none ends there */
    gantry__free_blocks_deinit(&blocks);
}

typedef struct taken_t {
    uint64_t offset, bytes;
} taken_t;

/* As a planner does: takes, grows at the end, gives back in any order. */
TEST(random_sequences_agree_with_a_plain_list) {
    static plain_t plain;
    static taken_t taken[MOST];
    uint32_t seed = 1;
    for (int round = 0; round < 20; ++round) {
        gantry__free_blocks_t blocks;
        gantry__free_blocks_init(&blocks, &gantry__heap_default);
        plain.count = 0;
        size_t live = 0;
        uint64_t end = 0;
        for (int step = 0; step < 4000; ++step) {
            seed = seed * 1664525u + 1013904223u;
            const uint64_t bytes = UNIT * (1 + (seed >> 10) % 40);
            if (live < MOST / 2 && ((seed >> 24) % 2 == 0 || live == 0)) {
                uint64_t offset = 0, expected = 0;
                bool is_found;
                assert_int_equal(gantry__free_blocks_take(&blocks, bytes, &is_found, &offset),
                                 GANTRY_OK);
                assert_int_equal(is_found, plain_take(&plain, bytes, &expected));
                if (!is_found) {
                    expected = end;
                    if (plain.count > 0 && plain.blocks[plain.count - 1].offset +
                                                   plain.blocks[plain.count - 1].bytes ==
                                               end)
                        expected = plain.blocks[--plain.count].offset;
                    assert_int_equal(gantry__free_blocks_take_last(&blocks, end, &offset),
                                     GANTRY_OK);
                    end = offset + bytes;
                }
                assert_int_equal(offset, expected);
                taken[live++] = (taken_t){offset, bytes};
            } else {
                const size_t at = (seed >> 8) % live;
                assert_int_equal(
                    gantry__free_blocks_give(&blocks, taken[at].offset, taken[at].bytes),
                    GANTRY_OK);
                plain_give(&plain, taken[at].offset, taken[at].bytes);
                taken[at] = taken[--live];
            }
        }
        gantry__free_blocks_deinit(&blocks);
    }
}

TEST(memory_that_runs_out_is_reported_and_nothing_leaks) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    for (long n = 0; status != GANTRY_OK; ++n) {
        failing_heap_t failing;
        failing_heap_init(&failing, n);
        gantry__free_blocks_t blocks;
        gantry__free_blocks_init(&blocks, &failing.heap);
        status = GANTRY_OK;
        for (uint64_t i = 0; status == GANTRY_OK && i < 200; ++i)
            status = gantry__free_blocks_give(&blocks, i * 2 * UNIT, UNIT);
        if (status != GANTRY_OK) assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        assert_true(status == GANTRY_OK ? n > 2 : n < 100);
        gantry__free_blocks_deinit(&blocks);
        assert_int_equal(failing.live_blocks, 0);
    }
}

int main(void) { return test_main(); }
