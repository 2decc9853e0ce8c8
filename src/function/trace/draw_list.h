/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of the draws without a seed of their own that a trace records, in their order: one
 * more trace of the same body draws from them again.
 *
 * Owner: the specialization, which holds a reference to each stream. Threads: written while the
 * body is traced, constant afterwards. */
#ifndef GANTRY_FUNCTION_DRAW_LIST_H
#define GANTRY_FUNCTION_DRAW_LIST_H

#include "op/op_infer.h"
#include "run/draws.h"

typedef struct gantry__trace_draw_t {
    const gantry__op_def_t *op;
    gantry_dtype_t dtype;   /* of what it draws */
    gantry__draws_t *draws; /* a reference of the list's own */
} gantry__trace_draw_t;

typedef struct gantry__trace_draws_t {
    gantry__trace_draw_t *list;
    size_t count, capacity;
    bool is_again;                             /* of one more trace: it makes no stream */
    const struct gantry__trace_draws_t *given; /* whose streams it takes; NULL: none */
} gantry__trace_draws_t;

void gantry__trace_draws_deinit(gantry__trace_draws_t *draws, const gantry__heap_t *heap);

#endif
