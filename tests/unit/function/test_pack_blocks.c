/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Blocks of a function's memory that live at one time never overlap, and the plan of
 * random blocks takes the bytes that live at one time, or nearly. */

#include "failing_heap.h"
#include "function/schedule/pack_blocks.h"
#include "test.h"

enum { MOST = 60, ROUNDS = 300, TIMES = 40 };

static uint32_t draw(uint64_t *state, uint32_t limit) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % limit;
}

static size_t draw_blocks(gantry__packed_t *blocks, uint64_t *state, uint32_t lanes) {
    const size_t count = 1 + draw(state, MOST);
    for (size_t i = 0; i < count; ++i) {
        const uint32_t first = draw(state, TIMES);
        blocks[i] = (gantry__packed_t){.bytes = 64 * (1 + (uint64_t)draw(state, 16)),
                                       .first = first,
                                       .last = first + draw(state, 8),
                                       .lane = draw(state, lanes),
                                       .number = (uint32_t)i};
    }
    return count;
}

/* The most bytes of the blocks of one lane that live at a time, for all lanes. */
static uint64_t living(const gantry__packed_t *blocks, size_t count, uint32_t lanes) {
    uint64_t sum = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        uint64_t most = 0;
        for (uint32_t time = 0; time < TIMES + 8; ++time) {
            uint64_t now = 0;
            for (size_t i = 0; i < count; ++i) {
                if (blocks[i].lane == lane && blocks[i].first <= time && time <= blocks[i].last)
                    now += blocks[i].bytes;
            }
            if (now > most) most = now;
        }
        sum += most;
    }
    return sum;
}

static void expect_apart(const gantry__packed_t *blocks, size_t count, uint64_t bytes) {
    for (size_t i = 0; i < count; ++i) {
        const gantry__packed_t *a = &blocks[i];
        assert_true(a->offset + a->bytes <= bytes);
        for (size_t k = 0; k < i; ++k) {
            const gantry__packed_t *b = &blocks[k];
            if (a->lane == b->lane && (a->first > b->last || b->first > a->last)) continue;
            assert_true(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
        }
    }
}

TEST(random_blocks_stay_apart) {
    gantry__packed_t blocks[MOST];
    uint64_t random = 5, packed = 0, least = 0;
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    for (int round = 0; round < ROUNDS; ++round) {
        const uint32_t lanes = 1 + draw(&random, 2);
        const size_t count = draw_blocks(blocks, &random, lanes);
        const uint64_t goal = living(blocks, count, lanes);
        uint64_t bytes;
        assert_int_equal(gantry__pack_blocks(&heap.heap, blocks, count, goal, &bytes), GANTRY_OK);
        expect_apart(blocks, count, bytes);
        assert_true(bytes >= goal || lanes > 1);
        packed += bytes;
        least += goal;
    }
    assert_true(packed * 100 < least * 108);
    assert_int_equal(heap.live_blocks, 0);
}

/* In the order of time, the second block lies above the first, and the third fits nowhere. */
TEST(gap_of_the_order_of_time_is_closed) {
    gantry__packed_t blocks[] = {{.bytes = 64, .first = 0, .last = 1},
                                 {.bytes = 64, .first = 1, .last = 3, .number = 1},
                                 {.bytes = 128, .first = 2, .last = 3, .number = 2}};
    uint64_t bytes;
    failing_heap_t heap;
    failing_heap_init(&heap, -1);
    assert_int_equal(gantry__pack_blocks(&heap.heap, blocks, 3, 192, &bytes), GANTRY_OK);
    assert_int_equal(bytes, 192);
    expect_apart(blocks, 3, bytes);
    failing_heap_init(&heap, 0);
    assert_int_equal(gantry__pack_blocks(&heap.heap, blocks, 3, 192, &bytes),
                     GANTRY_RESOURCE_EXHAUSTED);
}

int main(void) { return test_main(); }
