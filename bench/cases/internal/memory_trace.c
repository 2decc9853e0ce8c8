/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_trace.h"

#include <math.h>
#include <stdlib.h>

const trace_recipe_t trace_recipes[TRACE_RECIPES] = {
    {"training step", trace_make_training, 1, TRACE_BOUNDED},
    {"random sizes", trace_make_random, 2, TRACE_BOUNDED},
    {"sawtooth", trace_make_sawtooth, 3, TRACE_BOUNDED},
    {"inference server", trace_make_inference, 4, TRACE_OTHER},
    {"attack: comb", trace_make_attack_comb, 5, TRACE_ATTACK},
    {"attack: pins", trace_make_attack_pins, 6, TRACE_ATTACK},
    {"attack: growing", trace_make_attack_growing, 7, TRACE_ATTACK},
    {"attack: halves", trace_make_attack_halves, 8, TRACE_ATTACK},
};

void memory_trace_init(memory_trace_t *trace, const char *name) {
    *trace = (memory_trace_t){.name = name};
}

void memory_trace_deinit(memory_trace_t *trace) {
    free(trace->events);
    *trace = (memory_trace_t){0};
}

static void push(memory_trace_t *trace, trace_event_t event) {
    if (trace->count == trace->capacity && !trace->broken) {
        size_t capacity = trace->capacity ? trace->capacity * 2 : 1024;
        trace_event_t *events = realloc(trace->events, capacity * sizeof *events);
        if (events) {
            trace->events = events;
            trace->capacity = capacity;
        } else {
            trace->broken = true;
        }
    }
    if (!trace->broken) trace->events[trace->count++] = event;
}

uint32_t memory_trace_allocate(memory_trace_t *trace, uint64_t bytes) {
    push(trace, (trace_event_t){.bytes = bytes, .id = trace->id_count});
    return trace->id_count++;
}

void memory_trace_free(memory_trace_t *trace, uint32_t id) {
    push(trace, (trace_event_t){.id = id});
}

uint64_t *memory_trace_make_peaks(const memory_trace_t *trace) {
    uint64_t *peaks = calloc(trace->count + 1, sizeof *peaks);
    uint64_t *sizes = calloc((size_t)trace->id_count + 1, sizeof *sizes);
    uint64_t in_use = 0, peak = 0;
    for (size_t i = 0; peaks && sizes && i < trace->count; ++i) {
        const trace_event_t *event = &trace->events[i];
        if (event->bytes > 0) {
            sizes[event->id] = (event->bytes + 255) & ~UINT64_C(255);
            in_use += sizes[event->id];
        } else {
            in_use -= sizes[event->id];
        }
        if (in_use > peak) peak = in_use;
        peaks[i] = peak;
    }
    if (!sizes) {
        free(peaks);
        peaks = NULL;
    }
    free(sizes);
    return peaks;
}

uint64_t memory_trace_peak_bytes(const memory_trace_t *trace) {
    uint64_t *peaks = memory_trace_make_peaks(trace);
    uint64_t peak = peaks && trace->count > 0 ? peaks[trace->count - 1] : 0;
    free(peaks);
    return peak;
}

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
uint64_t trace_random_next(trace_random_t *random) {
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t trace_random_between(trace_random_t *random, uint64_t low, uint64_t high) {
    return low + trace_random_next(random) % (high - low + 1);
}

uint64_t trace_random_log(trace_random_t *random, uint64_t low, uint64_t high) {
    double part = (double)(trace_random_next(random) >> 11) * 0x1p-53;
    return (uint64_t)((double)low * pow((double)high / (double)low, part));
}

void trace_random_shuffle(trace_random_t *random, uint32_t *ids, size_t count) {
    for (size_t i = count; i > 1; --i) {
        size_t other = (size_t)(trace_random_next(random) % i);
        uint32_t id = ids[i - 1];
        ids[i - 1] = ids[other];
        ids[other] = id;
    }
}
