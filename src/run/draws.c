/* SPDX-License-Identifier: Apache-2.0 */
#include "run/draws.h"

#include <stdatomic.h>

#include "base/os/thread.h"

struct gantry__draws_t {
    atomic_uint references;
    const gantry__heap_t *heap;
    gantry__philox_t begin;
    const gantry__restarts_t *restarts;
    gantry__mutex_t lock;
    /* under lock */
    gantry__philox_t place;
    uint64_t restarts_seen;
};

static uint64_t count_of_restarts(const gantry__draws_t *draws) {
    return draws->restarts ? atomic_load_explicit(draws->restarts, memory_order_acquire) : 0;
}

gantry_status_t gantry__draws_create(const gantry__heap_t *heap, gantry__philox_t place,
                                     const gantry__restarts_t *restarts,
                                     gantry__draws_t **out_draws) {
    gantry__draws_t *draws = gantry__heap_zalloc(heap, sizeof *draws);
    *out_draws = NULL;
    if (!draws) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry__mutex_init(&draws->lock) != 0) {
        gantry__heap_free(heap, draws, sizeof *draws);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    atomic_init(&draws->references, 1);
    draws->heap = heap;
    draws->begin = draws->place = place;
    draws->restarts = restarts;
    draws->restarts_seen = count_of_restarts(draws);
    *out_draws = draws;
    return GANTRY_OK;
}

gantry__draws_t *gantry__draws_retain(gantry__draws_t *draws) {
    atomic_fetch_add(&draws->references, 1);
    return draws;
}

void gantry__draws_release(gantry__draws_t *draws) {
    if (!draws || atomic_fetch_sub(&draws->references, 1) != 1) return;
    gantry__mutex_deinit(&draws->lock);
    gantry__heap_free(draws->heap, draws, sizeof *draws);
}

bool gantry__draws_is_shared(const gantry__draws_t *draws) {
    return atomic_load(&draws->references) > 1;
}

gantry__philox_t gantry__draws_take(gantry__draws_t *draws, uint64_t blocks) {
    gantry__mutex_lock(&draws->lock);
    const uint64_t restarts = count_of_restarts(draws);
    const gantry__philox_t place = restarts == draws->restarts_seen ? draws->place : draws->begin;
    draws->restarts_seen = restarts;
    draws->place = gantry__philox_skip(place, blocks);
    gantry__mutex_unlock(&draws->lock);
    return place;
}

gantry__draws_state_t gantry__draws_state(gantry__draws_t *draws) {
    gantry__mutex_lock(&draws->lock);
    const bool is_new = count_of_restarts(draws) != draws->restarts_seen;
    const gantry__draws_state_t state = {.begin = draws->begin,
                                         .place = is_new ? draws->begin : draws->place,
                                         .restarts = draws->restarts != NULL};
    gantry__mutex_unlock(&draws->lock);
    return state;
}

void gantry__draws_put(gantry__draws_t *draws, gantry__philox_t place) {
    gantry__mutex_lock(&draws->lock);
    draws->place = place;
    gantry__mutex_unlock(&draws->lock);
}
