/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes inside. A scope belongs to one thread. */
#ifndef GANTRY_RUN_SCOPE_STATE_H
#define GANTRY_RUN_SCOPE_STATE_H

#include <gantry/scope.h>

#include "run/tensor_state.h"

struct gantry_scope_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *parent;
    gantry_scope_t *first_child;
    gantry_scope_t *next_sibling, *previous_sibling;
    const gantry__wish_t *wish; /* NULL: none */
    const char *tag;            /* for reports on memory: the runtime's word, or NULL */
    gantry_tensor_t *tensors;   /* owned, newest first */
    /* the object of a tensor that was dropped, for the next result: no lock, no counting. Empty,
     * or NULL */
    gantry_tensor_t *spare;
    /* of the tensors, those that end with the op that takes them */
    const gantry_tensor_t *donated[GANTRY_MAX_DONATED];
    uint32_t donated_count;
    const gantry__op_def_t *composed; /* the composed op whose parts run here, or NULL */
    /* the composed op that the program called, of which that one is a part or which it is; or
     * NULL */
    const gantry__op_def_t *called;
    gantry_status_t status;
    char *message;       /* heap text; NULL while healthy, or when there was no memory for it */
    char beginning[512]; /* of the message, for then */
};

/* OK when an op may run; else the sticky error, or a new one. */
gantry_status_t gantry__scope_check(gantry_scope_t *scope);
/* Keeps the first error with the thread's last message; returns the scope's status. */
gantry_status_t gantry__scope_fail(gantry_scope_t *scope, gantry_status_t status);
/* The scope takes over the caller's reference. */
void gantry__scope_adopt(gantry_scope_t *scope, gantry_tensor_t *tensor);
/* The scope's reference becomes the caller's; the tensor is this scope's. */
gantry_tensor_t *gantry__scope_take(gantry_scope_t *scope, const gantry_tensor_t *tensor);

/* Whether the tensor ends with the op that takes it now. */
bool gantry__scope_is_donated(const gantry_scope_t *scope, const gantry_tensor_t *tensor);
/* After an op: lets go of what was donated to it. */
void gantry__scope_end_donated(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               size_t input_count);

/* A scope in the caller's memory for the parts of a composed op: the outer one's wish and tag, an
 * error of its own. It takes nothing of the heap, hands nothing to the devices at its end, and
 * ends before the call does. */
void gantry__scope_begin_parts(gantry_scope_t *inner, gantry_scope_t *outer,
                               const gantry__op_def_t *composed);
void gantry__scope_end_parts(gantry_scope_t *inner);

#endif
