/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ops that repeat: of the same op without attributes, types, shapes, request and settings.
 * What their inference, plan and launch found is kept, so that a repeat does not find it again.
 *
 * A record is immutable, is made when a call comes for the second time, and stays until the runtime
 * ends; there are GANTRY__MOST_REPEATS at most. Nothing here depends on elements, on places or on
 * which device an input is: those are of each call. Owner: the runtime. Threads: thread-safe;
 * finding takes no lock. */
#ifndef GANTRY_RUN_REPEATS_H
#define GANTRY_RUN_REPEATS_H

#include <stdatomic.h>

#include "kernel/kept_launch.h"
#include "op/op_def.h"
#include "place/plan_cache.h"

#define GANTRY__REPEAT_SLOTS 256
#define GANTRY__MOST_REPEATS 256

typedef struct gantry__repeat_t {
    struct gantry__repeat_t *next; /* in its slot */
    /* the key */
    uint64_t hash;
    const gantry__op_def_t *op;
    const gantry__wish_t *wish;
    uint32_t settings, input_count;
    gantry_dtype_t dtypes[GANTRY__KEPT_INPUTS];
    gantry_shape_t shapes[GANTRY__KEPT_INPUTS];
    /* what was found; the op has one output */
    gantry__kept_plan_t *kept;
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    gantry_dtype_t out_dtype;
    gantry_shape_t out_shape;
    int64_t piece_first;
    int32_t known_bool;
    gantry__kept_launch_t launch; /* of the plan's first kernel */
} gantry__repeat_t;

typedef struct gantry__repeats_t {
    _Atomic(gantry__repeat_t *) slots[GANTRY__REPEAT_SLOTS];
    /* of the last two calls that were not found, so that two calls in turn are; by any thread */
    atomic_uint_fast64_t seen[GANTRY__REPEAT_SLOTS][2];
    atomic_uint made;
} gantry__repeats_t;

void gantry__repeats_deinit(gantry__repeats_t *repeats, const gantry__heap_t *heap);

#endif
