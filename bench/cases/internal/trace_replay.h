/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a trace through an allocator, and records the memory held, its waste and the failures.
 *
 * A subject is an allocator with a few functions: Gantry's, over a driver that only counts, or the
 * model of TensorFlow's rules. Threads: externally synchronised. */
#ifndef GANTRY_BENCH_TRACE_REPLAY_H
#define GANTRY_BENCH_TRACE_REPLAY_H

#include "memory_trace.h"

/* Under this limit no allocation of a trace fails. */
#define TRACE_NO_LIMIT (UINT64_C(1) << 42)

typedef struct subject_view_t {
    uint64_t in_use_bytes, pool_bytes, largest_free_bytes;
    uint64_t regions, largest_region_bytes;
} subject_view_t;

typedef struct subject_t {
    const char *name;
    bool is_timed; /* false for a model, whose time means nothing */
    /* A new allocator with this limit, or NULL. */
    void *(*open)(uint64_t limit_bytes);
    void (*close)(void *state);
    void *(*allocate)(void *state, uint64_t bytes); /* NULL: refused */
    void (*free)(void *state, void *block);
    void (*look)(const void *state, subject_view_t *out_view);
    bool (*is_broken)(const void *state);
} subject_t;

/* Gantry with its defaults; Gantry with TensorFlow's rule for splitting chunks; the model. */
extern const subject_t subject_gantry, subject_gantry_split, subject_rules;

typedef struct trace_figures_t {
    uint64_t trace_peak_bytes; /* the need without waste */
    uint64_t peak_in_use_bytes, peak_pool_bytes;
    uint64_t largest_region_bytes;
    /* greatest pool / (2 x peak needed so far + largest region), over all moments */
    double worst_bound;
    /* greatest (free - largest free) / free while a tenth of the peak pool or more is free */
    double worst_fragmentation;
    double mean_fragmentation; /* over all moments */
    double end_fragmentation;  /* at the trace's last allocation */
    uint64_t regions;          /* most at once */
    uint64_t failed;           /* allocations refused */
} trace_figures_t;

/* Sets all figures except the time. A refused block is not requested again. Returns false if host
 * memory runs out. */
bool trace_replay(const memory_trace_t *trace, const subject_t *subject, uint64_t limit_bytes,
                  trace_figures_t *out_figures);
/* The nanoseconds of the whole trace, without recording figures; 0 if host memory runs out. */
uint64_t trace_replay_time_ns(const memory_trace_t *trace, const subject_t *subject);

#endif
