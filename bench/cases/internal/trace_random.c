/* SPDX-License-Identifier: Apache-2.0 */
/* Random sizes: 20,000 blocks, one in each step. Lifetimes are log-uniform from 1 to 3,000 steps,
 * so that young, large blocks come and go among old, small ones. */
#include "memory_trace.h"

#include <stdlib.h>

#define BLOCKS 20000u
#define LONGEST 3000u
#define NONE UINT32_MAX

void trace_make_random(memory_trace_t *trace, uint64_t seed) {
    trace_random_t random = {seed};
    /* A list of the blocks that end at each step: first[step], then next[id]. */
    uint32_t *first = malloc((BLOCKS + LONGEST + 1) * sizeof *first),
             *next = malloc(BLOCKS * sizeof *next);
    if (!first || !next) {
        trace->broken = true;
        free(first);
        free(next);
        return;
    }
    for (uint32_t step = 0; step <= BLOCKS + LONGEST; ++step) first[step] = NONE;
    for (uint32_t step = 0; step <= BLOCKS + LONGEST; ++step) {
        for (uint32_t id = first[step]; id != NONE; id = next[id]) memory_trace_free(trace, id);
        if (step >= BLOCKS) continue;
        uint32_t id = memory_trace_allocate(trace, trace_random_log(&random, 256, 64 * TRACE_MIB));
        uint32_t end = step + (uint32_t)trace_random_log(&random, 1, LONGEST);
        next[id] = first[end];
        first[end] = id;
    }
    free(first);
    free(next);
}
