/* SPDX-License-Identifier: Apache-2.0 */
/* A sawtooth with sixteen teeth. A tooth allocates blocks of one scale (16 KiB to 32 MiB; each
 * block has 0.5 to 1.5 times that) up to a peak of 128 MiB to 1 GiB. Then it frees all of them: in
 * order, in reverse or in random order. A few small blocks live on into the next tooth, like the
 * results of a program. */
#include "memory_trace.h"

#define TEETH 16
#define MOST_BLOCKS 16384
#define KEPT 8

static size_t grow(memory_trace_t *trace, trace_random_t *random, uint64_t peak,
                   uint32_t ids[MOST_BLOCKS]) {
    uint64_t scale = trace_random_log(random, 16 * TRACE_KIB, 32 * TRACE_MIB), in_use = 0;
    if (scale < peak / (MOST_BLOCKS / 2)) scale = peak / (MOST_BLOCKS / 2);
    size_t count = 0;
    while (in_use < peak && count < MOST_BLOCKS) {
        uint64_t bytes = trace_random_between(random, scale / 2, scale + scale / 2);
        ids[count++] = memory_trace_allocate(trace, bytes);
        in_use += bytes;
    }
    return count;
}

static void order_by(trace_random_t *random, uint32_t *ids, size_t count) {
    uint64_t way = trace_random_next(random) % 3;
    if (way == 0) trace_random_shuffle(random, ids, count);
    for (size_t i = 0; way == 1 && i < count / 2; ++i) {
        uint32_t id = ids[i];
        ids[i] = ids[count - 1 - i];
        ids[count - 1 - i] = id;
    }
}

void trace_make_sawtooth(memory_trace_t *trace, uint64_t seed) {
    trace_random_t random = {seed};
    static uint32_t ids[MOST_BLOCKS];
    uint32_t kept[KEPT];
    size_t kept_count = 0;
    for (int tooth = 0; tooth < TEETH; ++tooth) {
        size_t count =
            grow(trace, &random, trace_random_log(&random, 128 * TRACE_MIB, 1024 * TRACE_MIB), ids);
        for (size_t i = 0; i < kept_count; ++i) memory_trace_free(trace, kept[i]);
        for (kept_count = 0; kept_count < KEPT; ++kept_count)
            kept[kept_count] =
                memory_trace_allocate(trace, trace_random_log(&random, 256, 64 * TRACE_KIB));
        order_by(&random, ids, count);
        for (size_t i = 0; i < count; ++i) memory_trace_free(trace, ids[i]);
    }
    for (size_t i = 0; i < kept_count; ++i) memory_trace_free(trace, kept[i]);
}
