/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Under a tight limit, Gantry's allocator stays below the limit on every trace of the
 * bench.
 * Promise: At every moment of three programs' traces the pool holds at most twice the peak in use
 * and one region.
 * Promise: On four traces that fragment memory, the pool holds no more than TensorFlow's rules make
 * it hold.
 *
 * A trace of a program holds at most twice the peak in use plus one region at every moment. No
 * trace holds more than the model of TensorFlow's rules. No test measures time. */
#include <stdlib.h>

#include "test.h"
#include "trace_replay.h"

#define SEEDS 8 /* the bench's own seeds and others, so that no bound holds by luck */

static void make(memory_trace_t *trace, const trace_recipe_t *recipe, uint64_t variant) {
    memory_trace_init(trace, recipe->name);
    recipe->make(trace, recipe->seed + 100 * variant);
    assert_false(trace->broken);
    assert_true(trace->count > 500);
}

static trace_figures_t replay(const memory_trace_t *trace, const subject_t *subject,
                              uint64_t limit_bytes) {
    trace_figures_t figures;
    assert_true(trace_replay(trace, subject, limit_bytes, &figures));
    return figures;
}

TEST(traces_free_each_block_once_after_its_allocation) {
    for (int i = 0; i < TRACE_RECIPES; ++i) {
        memory_trace_t trace;
        make(&trace, &trace_recipes[i], 0);
        char *live = calloc(trace.id_count, 1);
        assert_non_null(live);
        for (size_t k = 0; k < trace.count; ++k) {
            const trace_event_t *event = &trace.events[k];
            if (live[event->id] != (event->bytes ? 0 : 1)) fail_msg("%s: event %zu", trace.name, k);
            live[event->id] = event->bytes ? 1 : 2;
        }
        for (uint32_t id = 0; id < trace.id_count; ++id) {
            if (live[id] != 2) fail_msg("%s: block %u is never freed", trace.name, id);
        }
        free(live);
        memory_trace_deinit(&trace);
    }
}

TEST(traces_of_programs_hold_at_most_twice_the_peak_and_a_region) {
    for (int i = 0; i < TRACE_RECIPES * SEEDS; ++i) {
        const trace_recipe_t *recipe = &trace_recipes[i / SEEDS];
        if (recipe->kind != TRACE_BOUNDED) continue;
        memory_trace_t trace;
        make(&trace, recipe, (uint64_t)i % SEEDS);
        trace_figures_t figures = replay(&trace, &subject_gantry, TRACE_NO_LIMIT);
        if (figures.worst_bound > 1)
            fail_msg("%s, %d: %f of the bound", trace.name, i % SEEDS, figures.worst_bound);
        assert_int_equal(figures.failed, 0);
        memory_trace_deinit(&trace);
    }
}

TEST(traces_hold_no_more_than_under_the_rules) {
    for (int i = 0; i < TRACE_RECIPES * SEEDS; ++i) {
        memory_trace_t trace;
        make(&trace, &trace_recipes[i / SEEDS], (uint64_t)i % SEEDS);
        uint64_t held = replay(&trace, &subject_gantry, TRACE_NO_LIMIT).peak_pool_bytes;
        uint64_t allowed = replay(&trace, &subject_rules, TRACE_NO_LIMIT).peak_pool_bytes;
        if (held > allowed) {
            fail_msg("%s, %d: %llu > %llu", trace.name, i % SEEDS, (unsigned long long)held,
                     (unsigned long long)allowed);
        }
        memory_trace_deinit(&trace);
    }
}

TEST(traces_under_a_tight_limit_stay_below_it) {
    for (int i = 0; i < TRACE_RECIPES; ++i) {
        memory_trace_t trace;
        make(&trace, &trace_recipes[i], 0);
        uint64_t limit = memory_trace_peak_bytes(&trace) / 10 * 11;
        assert_true(replay(&trace, &subject_gantry, limit).peak_pool_bytes <= limit);
        assert_true(replay(&trace, &subject_rules, limit).peak_pool_bytes <= limit);
        memory_trace_deinit(&trace);
    }
}

int main(void) { return test_main(); }
