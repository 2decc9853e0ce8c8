/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of random numbers and the position of its next draw: a generator's, or that of an op in
 * a function.
 *
 * Counted: a graph that draws from a generator holds its stream. Thread-safe. */
#ifndef GANTRY_RUN_DRAWS_H
#define GANTRY_RUN_DRAWS_H

#include "base/failure.h"
#include "base/heap.h"
#include "base/philox.h"

typedef struct gantry__draws_t gantry__draws_t;

gantry_status_t gantry__draws_create(const gantry__heap_t *heap, gantry__philox_t place,
                                     gantry__draws_t **out_draws);
gantry__draws_t *gantry__draws_retain(gantry__draws_t *draws);
void gantry__draws_release(gantry__draws_t *draws); /* NULL is allowed */

/* The position; advances it by `blocks` counter steps. */
gantry__philox_t gantry__draws_take(gantry__draws_t *draws, uint64_t blocks);
void gantry__draws_put(gantry__draws_t *draws, gantry__philox_t place);

#endif
