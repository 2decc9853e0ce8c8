/* SPDX-License-Identifier: Apache-2.0 */
/* Fragmentation attacks. Each aims at one rule of a best fit with splitting and growing regions. A
 * trace cannot see addresses; it relies on fresh memory being handed out in order. The comb is the
 * idea of Robson's lower bound ("Bounds for some functions concerning dynamic storage allocation",
 * 1974). */
#include "memory_trace.h"

#include <stdlib.h>

#define BUDGET (256 * TRACE_MIB)

/* The blocks in use and their sizes; the array grows by doubling. */
typedef struct held_t {
    uint32_t *ids;
    size_t count, capacity;
} held_t;

static void hold(memory_trace_t *trace, held_t *held, uint32_t id) {
    if (held->count == held->capacity) {
        size_t capacity = held->capacity ? held->capacity * 2 : 256;
        uint32_t *ids = realloc(held->ids, capacity * sizeof *ids);
        if (!ids) {
            trace->broken = true;
            return;
        }
        held->ids = ids;
        held->capacity = capacity;
    }
    held->ids[held->count++] = id;
}

/* Frees all blocks, except those whose number is keep modulo every; every 0 frees all. */
static void release(memory_trace_t *trace, held_t *held, size_t every, size_t keep) {
    size_t left = 0;
    for (size_t i = 0; i < held->count; ++i) {
        if (every && i % every == keep) {
            held->ids[left++] = held->ids[i];
        } else {
            memory_trace_free(trace, held->ids[i]);
        }
    }
    held->count = left;
}

static void end(memory_trace_t *trace, held_t *held) {
    release(trace, held, 0, 0);
    free(held->ids);
    *held = (held_t){0};
}

/* Round r fills the rest of the budget with blocks of 16 KiB << r, and then frees every other block
 * in use. Half of the budget stays pinned by the teeth of the comb, and no hole of a round fits a
 * block of the next. */
void trace_make_attack_comb(memory_trace_t *trace, uint64_t seed) {
    (void)seed;
    held_t teeth = {0};
    uint64_t in_use = 0;
    for (uint64_t bytes = 16 * TRACE_KIB; bytes <= 16 * TRACE_MIB; bytes *= 2) {
        held_t round = {0};
        for (; in_use + bytes <= BUDGET; in_use += bytes)
            hold(trace, &round, memory_trace_allocate(trace, bytes));
        in_use -= (round.count - (round.count + 1) / 2) * bytes;
        release(trace, &round, 2, 0);
        for (size_t i = 0; i < round.count; ++i) hold(trace, &teeth, round.ids[i]);
        free(round.ids);
    }
    end(trace, &teeth);
}

/* Large blocks with a small one after each; the large ones are freed, the small ones stay. Each
 * phase requests larger blocks than the holes. It first fills the holes with blocks of their size,
 * so that its own small blocks are between its large ones. */
void trace_make_attack_pins(memory_trace_t *trace, uint64_t seed) {
    trace_random_t random = {seed};
    held_t pins = {0}, covers = {0}, blocks = {0};
    uint64_t before = 0, before_count = 0;
    for (uint64_t bytes = 512 * TRACE_KIB; bytes < 48 * TRACE_MIB; bytes += bytes / 2) {
        for (uint64_t i = 0; i < before_count; ++i)
            hold(trace, &covers, memory_trace_allocate(trace, before));
        before_count = BUDGET / 2 / bytes;
        for (uint64_t i = 0; i < before_count; ++i) {
            hold(trace, &blocks, memory_trace_allocate(trace, bytes));
            hold(trace, &pins,
                 memory_trace_allocate(trace, trace_random_between(&random, 1, 1024)));
        }
        release(trace, &covers, 0, 0);
        release(trace, &blocks, 0, 0);
        before = bytes;
    }
    for (int i = 0; i < 2; ++i) { /* under a tight limit this only fits after freeing regions */
        uint32_t whole = memory_trace_allocate(trace, BUDGET / 2);
        memory_trace_free(trace, whole);
        release(trace, &pins, 2, 1);
    }
    free(covers.ids);
    free(blocks.ids);
    end(trace, &pins);
}

/* Twenty-four lists grow by a fiftieth in turn; the old block is freed after the new one is
 * allocated. Now and then a list starts again. */
void trace_make_attack_growing(memory_trace_t *trace, uint64_t seed) {
    enum { LISTS = 24, ROUNDS = 300 };
    trace_random_t random = {seed};
    uint32_t ids[LISTS];
    uint64_t bytes[LISTS];
    for (int i = 0; i < LISTS; ++i) {
        bytes[i] = trace_random_log(&random, 64 * TRACE_KIB, 1024 * TRACE_KIB);
        ids[i] = memory_trace_allocate(trace, bytes[i]);
    }
    for (int step = 0; step < LISTS * ROUNDS; ++step) {
        int i = step % LISTS;
        bool anew = bytes[i] > 24 * TRACE_MIB;
        bytes[i] = anew ? trace_random_log(&random, 64 * TRACE_KIB, 1024 * TRACE_KIB)
                        : bytes[i] + bytes[i] / 50 + 256;
        uint32_t larger = memory_trace_allocate(trace, bytes[i]);
        memory_trace_free(trace, ids[i]);
        ids[i] = larger;
    }
    for (int i = 0; i < LISTS; ++i) memory_trace_free(trace, ids[i]);
}

/* Frees blocks of one size between teeth, and then requests blocks of a little more than half that
 * size: each takes a whole hole. Then frees the small blocks, except every fourth, and repeats at
 * twice the scale. */
void trace_make_attack_halves(memory_trace_t *trace, uint64_t seed) {
    (void)seed;
    held_t teeth = {0};
    for (uint64_t bytes = 128 * TRACE_KIB; bytes <= 16 * TRACE_MIB; bytes *= 2) {
        held_t blocks = {0}, halves = {0};
        uint64_t count = BUDGET / 2 / bytes;
        for (uint64_t i = 0; i < count; ++i) {
            hold(trace, &blocks, memory_trace_allocate(trace, bytes));
            if (i % 4 == 0) hold(trace, &teeth, memory_trace_allocate(trace, bytes / 64));
        }
        release(trace, &blocks, 4, 3);
        for (uint64_t i = 0; i < count; ++i)
            hold(trace, &halves, memory_trace_allocate(trace, bytes / 2 + 256));
        end(trace, &blocks);
        release(trace, &halves, 8, 0);
        for (size_t i = 0; i < halves.count; ++i) hold(trace, &teeth, halves.ids[i]);
        free(halves.ids);
    }
    end(trace, &teeth);
}
