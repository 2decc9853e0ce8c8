/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation traces: the requests of programs for device memory, as data. A trace is a list of
 * (allocate id, bytes | free id), made from a seed. Every id must be freed once, at the end at the
 * latest. The same trace goes through every allocator (trace_replay.h).
 *
 * Not here: allocators, devices, time. Owner: the caller of a make function must deinit the trace.
 * Threads: externally synchronised. */
#ifndef GANTRY_BENCH_MEMORY_TRACE_H
#define GANTRY_BENCH_MEMORY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_KIB (UINT64_C(1) << 10)
#define TRACE_MIB (UINT64_C(1) << 20)

typedef struct trace_event_t {
    uint64_t bytes; /* 0: free the block of this id */
    uint32_t id;    /* allocations are numbered from 0 */
} trace_event_t;

typedef struct memory_trace_t {
    const char *name;
    trace_event_t *events;
    size_t count, capacity;
    uint32_t id_count;
    bool broken; /* host memory ran out: the trace is useless */
} memory_trace_t;

/* ---- making a trace ---- */

void memory_trace_init(memory_trace_t *trace, const char *name);
void memory_trace_deinit(memory_trace_t *trace);
/* Returns the id of the new block; bytes must be above 0. */
uint32_t memory_trace_allocate(memory_trace_t *trace, uint64_t bytes);
void memory_trace_free(memory_trace_t *trace, uint32_t id);

/* The most bytes in use at any moment, with blocks rounded up to 256: the need of an allocator
 * without waste. */
uint64_t memory_trace_peak_bytes(const memory_trace_t *trace);
/* The peak up to each event, in an array that the caller frees. NULL: no host memory. */
uint64_t *memory_trace_make_peaks(const memory_trace_t *trace);

/* ---- random numbers: the same on every machine ---- */

typedef struct trace_random_t {
    uint64_t state;
} trace_random_t;

uint64_t trace_random_next(trace_random_t *random);
/* Uniform in [low, high]. */
uint64_t trace_random_between(trace_random_t *random, uint64_t low, uint64_t high);
/* Uniform on a logarithmic scale: as often between 1 and 2 KiB as between 1 and 2 MiB. */
uint64_t trace_random_log(trace_random_t *random, uint64_t low, uint64_t high);
void trace_random_shuffle(trace_random_t *random, uint32_t *ids, size_t count);

/* ---- the traces ---- */

/* Training of a convolutional network: weights and optimizer state that stay, activations freed in
 * reverse order, workspaces, varying batches. */
void trace_make_training(memory_trace_t *trace, uint64_t seed);
/* Sizes log-uniform from 256 B to 64 MiB, lifetimes from one step to thousands. */
void trace_make_random(memory_trace_t *trace, uint64_t seed);
/* Grows to a peak and frees everything, again and again with other sizes. */
void trace_make_sawtooth(memory_trace_t *trace, uint64_t seed);
/* An inference server: weights, requests with caches that grow, bursts. */
void trace_make_inference(memory_trace_t *trace, uint64_t seed);

/* Attacks on a best fit with splitting. */
/* Frees every other block, and then requests blocks of twice the size. */
void trace_make_attack_comb(memory_trace_t *trace, uint64_t seed);
/* Small blocks that stay, scattered so that no region becomes empty. */
void trace_make_attack_pins(memory_trace_t *trace, uint64_t seed);
/* Blocks that grow a little each time, with the old block freed after the copy: no hole fits the
 * next block. */
void trace_make_attack_growing(memory_trace_t *trace, uint64_t seed);
/* Holes just below twice the request: an allocator that splits only at twice the request gives them
 * away whole. */
void trace_make_attack_halves(memory_trace_t *trace, uint64_t seed);

typedef enum trace_kind_t { TRACE_BOUNDED, TRACE_OTHER, TRACE_ATTACK } trace_kind_t;

typedef struct trace_recipe_t {
    const char *name;
    void (*make)(memory_trace_t *trace, uint64_t seed);
    uint64_t seed;
    /* the bound that applies: 2 x peak and a region; none; the memory that the rules hold */
    trace_kind_t kind;
} trace_recipe_t;

#define TRACE_RECIPES 8
extern const trace_recipe_t trace_recipes[TRACE_RECIPES];

#endif
