/* SPDX-License-Identifier: Apache-2.0 */
/* Draws by key and counter for objects with a position in a stream: ops with a state, and
 * generators. Owner: the scope owns the tensors. Threads: the scope belongs to the calling
 * thread. */
#ifndef GANTRY_RUN_RANDOM_INPUTS_H
#define GANTRY_RUN_RANDOM_INPUTS_H

#include "run/draws.h"
#include "run/eager.h"
#include "run/random_state.h"

/* The place where a draw begins: a given one, or the one where a stream is when the op runs. */
typedef struct gantry__draw_t {
    gantry__philox_t place; /* the place, without a stream */
    gantry__draws_t *draws; /* NULL: none */
    uint64_t blocks;        /* the counter steps that the draw takes of the stream */
} gantry__draw_t;

/* Runs an op whose inputs are the first `before` of `inputs`, then key, counter and alg of the
 * position, then the other inputs; at most 4 are given. attr may be NULL. NULL after a failure,
 * which the scope keeps. In a trace, each call of the function takes its part of the stream. */
const gantry_tensor_t *gantry__draw_from(gantry_scope_t *scope, gantry__op_id_t id,
                                         const gantry__draw_t *draw,
                                         const gantry_tensor_t *const *inputs, uint32_t input_count,
                                         uint32_t before, const gantry_attr_value_t *attr);

#endif
