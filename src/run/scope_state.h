/* SPDX-License-Identifier: Apache-2.0 */
/* The struct of a scope, and what ops, traces and functions need of it: its request, its owned
 * tensors, its first error, and the loans that keep a callback from ending it.
 *
 * Owner: the program that began the scope must end it; the scope owns its tensors, its child scopes
 * and its message. Threads: a scope belongs to one thread. */
#ifndef GANTRY_RUN_SCOPE_STATE_H
#define GANTRY_RUN_SCOPE_STATE_H

#include <gantry/scope.h>

#include "run/tensor_state.h"

#define GANTRY__NODE_NAME_BYTES 128
/* The most spare objects of a scope. */
#define GANTRY__SCOPE_SPARES 16

struct gantry__controls_t;
struct gantry__draws_t;
struct gantry__fault_place_t;
struct gantry__trace_t;

/* A device function, and the requests around it. */
typedef struct gantry__chooser_t {
    gantry_device_fn choose;
    void *user;
    const gantry__wish_t *outer_wish; /* between it and the next outer device function; or NULL */
    const struct gantry__chooser_t *outer; /* the next outer device function, or NULL */
} gantry__chooser_t;

/* What gantry_device_end restores: the scope's request before gantry_device_begin. */
typedef struct gantry__device_frame_t {
    struct gantry__device_frame_t *outer;
    const gantry__wish_t *wish;
    const gantry__chooser_t *chooser;
    uint32_t depth, loans; /* the scope's, inside it */
} gantry__device_frame_t;

/* The blocks of gantry_device_begin that are open in a scope. */
typedef struct gantry__device_blocks_t {
    gantry__device_frame_t *innermost; /* heap memory, or NULL */
    uint32_t depth;                    /* calls of gantry_device_begin without their end */
    bool are_ignored; /* all requests in the scope and in inner ones are read, and ignored */
} gantry__device_blocks_t;

/* The first error with which a scope inside a lent one ended. */
typedef struct gantry__inner_error_t {
    gantry_status_t status;
    char *message;
} gantry__inner_error_t;

/* Objects of dropped tensors, and of the runtime's spare ones, for the next results of a scope: no
 * lock, no counting. */
typedef struct gantry__spares_t {
    gantry_tensor_t *first; /* empty ones, linked by next */
    uint32_t count;
    uint32_t most; /* how many the scope took from the runtime at once last time */
} gantry__spares_t;

/* The order in which the ops of a scope add. */
typedef struct gantry__sum_order_t {
    bool batch_invariant; /* a row of a result has the same bits in every batch */
    bool any;             /* sums may be made in any order */
} gantry__sum_order_t;

struct gantry_scope_t {
    /* what each op reads, together */
    gantry_runtime_t *runtime;
    /* the request, NULL: none; inside a device function, that of the scopes in it.
     * gantry__scope_wish returns an op's */
    const gantry__wish_t *wish;
    const gantry__chooser_t *chooser;   /* the innermost device function, or NULL */
    struct gantry__trace_t *trace;      /* NULL: ops run */
    struct gantry_observer_t *observer; /* the innermost to which ops are reported, or NULL */
    gantry_status_t status;
    uint32_t donated_count; /* of its tensors, is_donated */
    /* bit i: output i of the next op may take the memory of input i, if nobody else holds that
     * tensor */
    uint32_t overwritten;
    /* parts of composed ops are recorded in a trace also where sizes depend on data */
    bool takes_parts;
    gantry__sum_order_t order;
    const char *tag;    /* the runtime's copy of the tag for memory reports, or NULL */
    const char *origin; /* of what its ops are made; in a trace a copy of the graph; or NULL */
    gantry_tensor_t *tensors; /* owned, newest first */
    gantry__spares_t spares;
    const gantry__op_def_t *composed; /* the composed op whose parts run here, or NULL */
    /* the composed op that the program called: that one, or one that it is a part of; or NULL */
    const gantry__op_def_t *called;
    const struct gantry__recorded_as_t *recorded_as; /* NULL: ops are recorded as themselves */
    /* the draws of the prepared op that runs; NULL: it has none */
    struct gantry__draws_t **own_draws;
    /* the place of the ops in a function; NULL: they are in none */
    const struct gantry__fault_place_t *place;
    gantry_scope_t *parent;
    gantry_scope_t *first_child;
    gantry_scope_t *next_sibling, *previous_sibling;
    gantry__chooser_t own_chooser; /* the device function of a scope that begins with one */
    struct {
        const struct gantry__controls_t *controls;  /* nodes that come first; NULL: none */
        const struct gantry__controls_t *colocated; /* nodes that share its device */
    } related;                                      /* of a trace */
    gantry__device_blocks_t blocks;
    uint32_t loans; /* loans to bodies, callbacks and calls, which must not end the scope */
    gantry__inner_error_t inner;
    char *message; /* heap text; NULL without an error, or when there was no memory for it */
    /* from here on a scope of parts is not cleared */
    char next_name[GANTRY__NODE_NAME_BYTES]; /* the name of the next node of a trace; "": none */
    char beginning[512]; /* the beginning of the message, if there was no memory for it */
};

gantry_status_t gantry__scope_check_slowly(gantry_scope_t *scope);
/* Returns OK if an op may run; else the sticky error, or a new one. */
static inline gantry_status_t gantry__scope_check(gantry_scope_t *scope) {
    const bool is_well =
        scope && scope->status == GANTRY_OK && gantry__runtime_is_well(scope->runtime);
    return is_well ? GANTRY_OK : gantry__scope_check_slowly(scope);
}
/* Keeps the first error, with the thread's last message; returns the scope's status. */
gantry_status_t gantry__scope_fail(gantry_scope_t *scope, gantry_status_t status);
/* The first error of the scopes inside a lent one, which the body has not handed on, with its
 * message; OK: none. */
gantry_status_t gantry__scope_ignored(const gantry_scope_t *scope);
/* Ends the scope of a body, with the scopes that it left open, and returns the body's status with
 * its message. */
gantry_status_t gantry__scope_end_body(gantry_scope_t *scope, gantry_status_t status);
/* Ends a loan; gantry_device_begin without its end in it is the scope's error. */
void gantry__scope_end_loan(gantry_scope_t *scope);
/* Lends a scope to a body; an error, and no loan, for a level too many. */
gantry_status_t gantry__scope_lend(gantry_scope_t *scope);
/* Lends a scope, and those around it, to a callback that must not run ops; this takes no level. */
void gantry__scope_hold(gantry_scope_t *scope);
void gantry__scope_let_go(gantry_scope_t *scope);
/* Transfers the caller's reference to the scope. */
static inline void gantry__scope_adopt(gantry_scope_t *scope, gantry_tensor_t *tensor) {
    tensor->scope = scope;
    tensor->previous = NULL;
    tensor->next = scope->tensors;
    if (scope->tensors) scope->tensors->previous = tensor;
    scope->tensors = tensor;
}
/* Releases the caller's reference; an object that nobody else holds becomes one of the scope's
 * spare ones. */
void gantry__scope_discard(gantry_scope_t *scope, gantry_tensor_t *tensor);
/* Transfers the scope's reference to the caller; the tensor must belong to this scope. */
gantry_tensor_t *gantry__scope_take(gantry_scope_t *scope, const gantry_tensor_t *tensor);
/* Drops all tensors; their objects become spare ones. */
void gantry__scope_drop_all(gantry_scope_t *scope);
/* Releases all tensors and spare objects of a scope that ends. */
void gantry__scope_release_tensors(gantry_scope_t *scope);

/* Whether the tensor ends with the op that takes it now. */
static inline bool gantry__scope_is_donated(const gantry_scope_t *scope,
                                            const gantry_tensor_t *tensor) {
    return tensor->scope == scope && tensor->is_donated;
}
/* Releases, after an op, the tensors that were donated to it. */
void gantry__scope_end_donated(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               size_t input_count);

/* The request that a device text makes inside another one (NULL: none): GANTRY_DEVICE_NONE none. */
gantry_status_t gantry__request_within(gantry_runtime_t *runtime, const gantry__wish_t *outer,
                                       const char *device, const gantry__wish_t **out_wish);
/* Gives the scope its request: the fields of device over those of outer, as gantry_scope_begin_in
 * says. */
gantry_status_t gantry__scope_request(gantry_scope_t *scope, const gantry__wish_t *outer,
                                      const char *device);
/* Puts a request inside that of the scope: its fields win. */
gantry_status_t gantry__scope_wish_inside(gantry_scope_t *scope, const gantry__wish_t *wish);
/* From here on, the scope's request is that of all ops in it and in its inner scopes. */
void gantry__scope_fix_wish(gantry_scope_t *scope);
/* Ends each gantry_device_begin that the scope has left open, which is its error. */
void gantry__scope_end_blocks(gantry_scope_t *scope);
/* The request of an op in this scope: with device functions, as these choose. */
gantry_status_t gantry__scope_choose(const gantry_scope_t *scope,
                                     const gantry_device_choice_t *choice,
                                     const gantry__wish_t **out_wish);
/* Chooses in the same way for an op that runs at once. */
gantry_status_t gantry__scope_choose_op(const gantry_scope_t *scope, const char *op,
                                        gantry_dtype_t dtype, size_t output_count,
                                        const gantry__wish_t **out_wish);
static inline gantry_status_t gantry__scope_wish(const gantry_scope_t *scope,
                                                 const gantry_device_choice_t *choice,
                                                 const gantry__wish_t **out_wish) {
    *out_wish = scope->wish;
    return scope->chooser ? gantry__scope_choose(scope, choice, out_wish) : GANTRY_OK;
}

/* Begins a scope in the caller's memory for the parts of a composed op: with the request and tag of
 * the outer one, and an error of its own. It allocates nothing, flushes no device at its end, and
 * must end before the call does. */
void gantry__scope_begin_parts(gantry_scope_t *inner, gantry_scope_t *outer,
                               const gantry__op_def_t *composed);
/* The same for one op that updates values: it runs on their device, whatever the scope requests,
 * and is no part. */
gantry_status_t gantry__scope_begin_update(gantry_scope_t *inner, gantry_scope_t *outer,
                                           const gantry__op_def_t *op,
                                           const gantry_logical_device_t *device);
void gantry__scope_end_parts(gantry_scope_t *inner);

#endif
