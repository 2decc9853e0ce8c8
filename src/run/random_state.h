/* SPDX-License-Identifier: Apache-2.0 */
/* The state of random ops: the global seed, and the position in each stream.
 *
 * A stream belongs to an op, its types and its two seeds, like an op's kernel in TensorFlow's eager
 * mode; setting the global seed begins all streams again, also those of functions. A prepared op
 * has a stream of its own, as a kernel of TensorFlow has. A draw takes its part of a stream before
 * it runs, so that it waits for nothing. Draws of one stream share no numbers on any devices.
 * Without any seed, each draw has a stream of its own, from the operating system's generator.
 * Streams are kept after their first draw (some 150 bytes each) until a seed is set, and as long as
 * a function draws from them.
 *
 * Owned by the runtime. Thread-safe. */
#ifndef GANTRY_RUN_RANDOM_STATE_H
#define GANTRY_RUN_RANDOM_STATE_H

#include <stdbool.h>

#include "base/heap.h"
#include "base/philox.h"
#include "op/op_def.h"
#include "run/draws.h"
#include "run/op_seeds.h"
#include "base/os/thread.h"

/* The counter steps of a draw of this many values: 256 each, as TensorFlow reserves them, modulo
 * 2^64. */
static inline uint64_t gantry__random_blocks(int64_t values) { return (uint64_t)values * 256; }

#define GANTRY__RANDOM_BUCKETS 64

typedef struct gantry__random_state_t {
    const gantry__heap_t *heap;
    gantry__mutex_t lock;
    /* under lock */
    bool has_seed;
    int64_t seed;
    gantry__op_seeds_t op_seeds; /* valid if there is a seed */
    struct gantry__random_stream_t *streams[GANTRY__RANDOM_BUCKETS];
    /* not under lock */
    gantry__restarts_t seeds_set; /* how often a seed was set */
} gantry__random_state_t;

gantry_status_t gantry__random_state_init(gantry__random_state_t *state,
                                          const gantry__heap_t *heap);
void gantry__random_state_deinit(gantry__random_state_t *state);

void gantry__random_set_seed(gantry__random_state_t *state, int64_t seed);

/* The attributes seed and seed2 for an op's own seed, TensorFlow's get_seed: never both 0. */
void gantry__random_op_seeds(gantry__random_state_t *state, int64_t op_seed, int64_t out_seeds[2]);

/* Takes `blocks` counter steps of the stream of this call (an op with attributes seed and seed2),
 * or of *own if own is not NULL: the stream of a prepared op, which releases it. *own is NULL
 * before the first draw, and under the state's lock. ResourceExhausted, or Unavailable if the
 * operating system has no random numbers. */
gantry_status_t gantry__random_take(gantry__random_state_t *state, const gantry__infer_t *call,
                                    gantry__draws_t **own, uint64_t blocks,
                                    gantry__philox_t *out_place);
/* The stream from which a node of a function draws in each call: own, or that of the call's seeds,
 * which ops outside share; without an op's own seed, a new one. The caller owns the reference. */
gantry_status_t gantry__random_draws(gantry__random_state_t *state, const gantry__infer_t *call,
                                     gantry__draws_t **own, gantry__draws_t **out_draws);

#endif
