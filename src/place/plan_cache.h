/* SPDX-License-Identifier: Apache-2.0 */
/* Plans kept by (op, types, request, pinned device, settings), so that the eager path places an op
 * by one look-up. Counts each plan's use.
 *
 * Plans are only added until the cache ends, so that a plan's address is stable. Owner: the
 * runtime. Threads: thread-safe; finding takes no lock. */
#ifndef GANTRY_PLACE_PLAN_CACHE_H
#define GANTRY_PLACE_PLAN_CACHE_H

#include <stdatomic.h>

#include "kernel/program_cache.h"
#include "place/placer.h"

#define GANTRY__PLAN_BUCKETS 1024

typedef struct gantry__plan_key_t {
    const gantry__op_def_t *op;
    const gantry__wish_t *wish;
    const gantry_logical_device_t *pinned; /* or the exhausted one: settings says which */
    uint64_t types;                        /* 8 bits for each type attribute */
    uint32_t settings;                     /* soft, require, ... */
    uint32_t variant; /* distinguishes plans that depend on shapes or on crossover; 0 for others */
} gantry__plan_key_t;

typedef struct gantry__kept_plan_t {
    gantry__plan_key_t key;
    gantry__plan_t plan;
    gantry__kernel_memo_t memo; /* of the kernel that ops of the plan launch */
    atomic_uint_fast64_t used;
    atomic_bool has_warned;                /* set under the cache's lock */
    struct gantry__kept_plan_t *next;      /* the next plan in its bucket */
    struct gantry__kept_plan_t *next_kept; /* the next of all plans, newest first */
} gantry__kept_plan_t;

typedef struct gantry__plan_cache_t {
    const gantry__heap_t *heap;
    gantry__mutex_t lock;
    _Atomic(gantry__kept_plan_t *) buckets[GANTRY__PLAN_BUCKETS];
    gantry__kept_plan_t *kept; /* under lock */
} gantry__plan_cache_t;

/* The bits of a key that the settings of a plain request decide. An earlier plan may use a card
 * that is lost since. */
static inline uint32_t gantry__plan_settings(bool soft, bool require, bool batch_invariant,
                                             bool any_order, uint64_t losses) {
    return (uint32_t)soft | (uint32_t)require << 1 | (uint32_t)any_order << 14 |
           (uint32_t)batch_invariant << 15 | (uint32_t)losses << 16;
}

gantry_status_t gantry__plan_cache_init(gantry__plan_cache_t *cache, const gantry__heap_t *heap);
void gantry__plan_cache_deinit(gantry__plan_cache_t *cache);
/* The kept plan for an op under a request, placed now if there is none. A request with shapes or a
 * colocation group is placed each time. After a failure *out_kept is the refused plan or NULL. */
gantry_status_t gantry__plan_cache_place(gantry__plan_cache_t *cache,
                                         const gantry__place_request_t *request,
                                         gantry__kept_plan_t **out_kept);
/* The same, but a refused plan leaves no message. NULL: memory ran out. */
gantry__kept_plan_t *gantry__plan_cache_ask(gantry__plan_cache_t *cache,
                                            const gantry__place_request_t *request);
/* Whether to warn: true once for each (op, reason), however many plans share it. */
bool gantry__plan_cache_warns(gantry__plan_cache_t *cache, gantry__kept_plan_t *kept);

#endif
