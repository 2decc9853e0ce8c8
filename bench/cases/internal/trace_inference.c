/* SPDX-License-Identifier: Apache-2.0 */
/* An inference server that generates text. Weights stay. Each request holds a cache that grows
 * every 32 words; the new cache is filled before the old one is freed. Each step makes activations
 * in the size of the batch. About four requests run at once, in bursts up to forty. */
#include "memory_trace.h"

#define STEPS 4000
#define MOST_REQUESTS 40
#define WEIGHTS 24
#define LAYERS 6
#define WORDS_PER_BLOCK 32
#define CACHE_BYTES_PER_WORD (128 * TRACE_KIB / 4)

typedef struct request_t {
    uint32_t cache;
    uint64_t words, last_word;
} request_t;

static uint64_t cache_bytes(uint64_t words) {
    return (words + WORDS_PER_BLOCK) * CACHE_BYTES_PER_WORD;
}

static request_t begin_request(memory_trace_t *trace, trace_random_t *random) {
    request_t request = {.words = trace_random_log(random, 16, 512)};
    request.last_word = request.words + trace_random_log(random, 16, 512);
    uint32_t prompt = memory_trace_allocate(trace, request.words * 16 * TRACE_KIB);
    request.cache = memory_trace_allocate(trace, cache_bytes(request.words));
    memory_trace_free(trace, prompt);
    return request;
}

/* Returns false if the request is done. */
static bool write_word(memory_trace_t *trace, request_t *request) {
    if (++request->words >= request->last_word) {
        memory_trace_free(trace, request->cache);
        return false;
    }
    if (request->words % WORDS_PER_BLOCK == 0) {
        uint32_t larger = memory_trace_allocate(trace, cache_bytes(request->words));
        memory_trace_free(trace, request->cache);
        request->cache = larger;
    }
    return true;
}

static void run_layers(memory_trace_t *trace, uint64_t requests) {
    uint32_t before = memory_trace_allocate(trace, requests * 16 * TRACE_KIB);
    for (int i = 0; i < LAYERS; ++i) {
        uint32_t wide = memory_trace_allocate(trace, requests * 64 * TRACE_KIB);
        uint32_t after = memory_trace_allocate(trace, requests * 16 * TRACE_KIB);
        memory_trace_free(trace, before);
        memory_trace_free(trace, wide);
        before = after;
    }
    memory_trace_free(trace, before);
}

void trace_make_inference(memory_trace_t *trace, uint64_t seed) {
    trace_random_t random = {seed};
    uint32_t weights[WEIGHTS];
    for (int i = 0; i < WEIGHTS; ++i)
        weights[i] = memory_trace_allocate(trace, i % 3 ? 16 * TRACE_MIB : 4 * TRACE_MIB);
    request_t requests[MOST_REQUESTS];
    size_t count = 0;
    for (int step = 0; step < STEPS || count > 0; ++step) {
        bool burst = step % 800 > 640;
        size_t wanted = step >= STEPS ? 0 : burst ? MOST_REQUESTS : 4;
        if (count < wanted && trace_random_next(&random) % (burst ? 2 : 16) == 0)
            requests[count++] = begin_request(trace, &random);
        if (count > 0) run_layers(trace, count);
        for (size_t i = 0; i < count;) {
            if (write_word(trace, &requests[i])) {
                ++i;
            } else {
                requests[i] = requests[--count];
            }
        }
    }
    for (int i = 0; i < WEIGHTS; ++i) memory_trace_free(trace, weights[i]);
}
