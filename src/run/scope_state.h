/* Scopes inside. A scope belongs to one thread. */
#ifndef GANTRY_RUN_SCOPE_STATE_H
#define GANTRY_RUN_SCOPE_STATE_H

#include "run/tensor_state.h"

struct gantry_scope_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *parent;
    gantry_scope_t *first_child;
    gantry_scope_t *next_sibling, *previous_sibling;
    const gantry__wish_t *wish; /* NULL: none */
    const char *tag;            /* for reports on memory: the runtime's word, or NULL */
    gantry_tensor_t *tensors;   /* owned, newest first */
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

#endif
