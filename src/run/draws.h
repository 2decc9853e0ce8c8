/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of random numbers and the position of its next draw: a generator's, that of ops with one
 * seed, or that of an op in a function.
 *
 * Owner: the stream is counted; a graph that draws from it holds a reference. Threads:
 * thread-safe. */
#ifndef GANTRY_RUN_DRAWS_H
#define GANTRY_RUN_DRAWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/heap.h"
#include "base/philox.h"

typedef struct gantry__draws_t gantry__draws_t;
typedef _Atomic uint64_t gantry__restarts_t; /* the number of requests that streams begin again */

/* restarts (NULL: none) must outlive the draws: when its count changes, they begin again at
 * place. */
gantry_status_t gantry__draws_create(const gantry__heap_t *heap, gantry__philox_t place,
                                     const gantry__restarts_t *restarts,
                                     gantry__draws_t **out_draws);
gantry__draws_t *gantry__draws_retain(gantry__draws_t *draws);
void gantry__draws_release(gantry__draws_t *draws); /* NULL is allowed */
/* Whether there are other references than the caller's. */
bool gantry__draws_is_shared(const gantry__draws_t *draws);

/* What a stream is: where it begins, where its next draw is, and whether its restarts are
 * counted. */
typedef struct gantry__draws_state_t {
    gantry__philox_t begin, place;
    bool restarts;
} gantry__draws_state_t;
gantry__draws_state_t gantry__draws_state(gantry__draws_t *draws);

/* Returns the position, and advances it by `blocks` counter steps. */
gantry__philox_t gantry__draws_take(gantry__draws_t *draws, uint64_t blocks);
void gantry__draws_put(gantry__draws_t *draws, gantry__philox_t place);

#endif
