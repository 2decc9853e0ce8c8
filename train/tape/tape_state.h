/* SPDX-License-Identifier: Apache-2.0 */
/* A tape as its own files see it: what it has recorded, what it tracks, and the gradient that it
 * computes. Owner: the program has the tape; the tape holds references to all that it records,
 * until it is cleared. Threads: externally synchronised, as its scope. */
#ifndef GANTRY_TRAIN_TAPE_STATE_H
#define GANTRY_TRAIN_TAPE_STATE_H

#include "train/base/pointer_map.h"
#include "train/tape/rule.h"

/* A read of a watched variable. */
typedef struct gantry__read_t {
    gantry_variable_t *variable;
    uint32_t number; /* of the tensor */
} gantry__read_t;

/* Tensors to which a tape has references. */
typedef struct gantry__held_t {
    gantry_tensor_t **tensors;
    size_t count, capacity;
} gantry__held_t;

/* What the bodies use that are traced at the moment. */
typedef struct gantry__inside_t {
    size_t depth; /* bodies that the tape's scope is inside of */
    gantry__use_t *uses;
    size_t count, capacity;
} gantry__inside_t;

/* The variables of a tape that watches named ones. */
typedef struct gantry__watched_t {
    gantry_variable_t **variables;
    size_t count, capacity;
} gantry__watched_t;

struct gantry_tape_t {
    gantry_scope_t *scope;
    gantry_observer_t observer;
    bool is_persistent, watches_named, is_paused;
    bool is_spent; /* its one gradient was computed */
    /* A gradient runs bodies and callbacks of the program, which may call the tape. */
    bool is_computing; /* nothing is recorded, and no other gradient begins */
    bool is_ended;     /* it ends with the last of its users */
    uint32_t users;    /* calls that go on with it */
    /* Tracked tensors: the tape's own references, so that no address is used twice. */
    gantry_tensor_t **tensors;
    size_t tensor_count, tensor_capacity;
    gantry__pointer_map_t numbers; /* of tensors */
    /* Symbolic tensors and what bodies use, tracked or not: a gradient runs the bodies again, and
     * the scope in which a tensor was made, such as that of a function, may have ended. */
    gantry__held_t held;
    gantry__record_t *records;
    size_t record_count, record_capacity;
    gantry__read_t *reads;
    size_t read_count, read_capacity;
    gantry__inside_t inside;
    const gantry__record_t *running; /* whose rule runs; NULL: none */
    gantry__rule_memo_t rules;
    gantry__watched_t watched;
};

/* Returns the status of the tape's scope; an error for a tape of NULL, and for one whose scope has
 * ended. */
gantry_status_t gantry__tape_check_scope(const gantry_tape_t *tape, const char *call);
bool gantry__tape_is_watched(const gantry_tape_t *tape, const gantry_variable_t *variable);
/* Gives the number that represents all reads of a variable in bodies. */
gantry_status_t gantry__tape_number_variable(gantry_tape_t *tape, gantry_variable_t *variable,
                                             uint32_t *out_number);
/* Does what gantry_tape_gradient does, for several targets; a target whose gradient is NULL adds
 * nothing. The caller must have checked the arguments. */
gantry_status_t gantry__tape_gradients(gantry_tape_t *tape, const gantry_tensor_t *const *targets,
                                       const gantry_tensor_t *const *target_gradients,
                                       size_t target_count, const gantry_source_t *sources,
                                       size_t source_count, const gantry_tensor_t **out_gradients);
/* Does what gantry_tape_gradient does, for the public call of this name, which errors name. */
gantry_status_t gantry__tape_gradient_as(gantry_tape_t *tape, const gantry_tensor_t *target,
                                         const gantry_tensor_t *target_gradient,
                                         const gantry_source_t *sources, size_t source_count,
                                         const gantry_gradient_options_t *options,
                                         const gantry_tensor_t **out_gradients, const char *call);
/* Does what gantry_custom_gradient does, for a gradient that is also that of forward's ops, and
 * lets the check look into forward; inside may be NULL. */
gantry_status_t gantry__custom_gradient(gantry_scope_t *scope, gantry_observer_t *inside,
                                        gantry_function_body_fn forward,
                                        gantry_backward_fn backward, void *user,
                                        const gantry_tensor_t *const *inputs, size_t input_count,
                                        const gantry_tensor_t **outputs, size_t output_count);
/* Refuses a tape that cannot compute a gradient. */
gantry_status_t gantry__tape_check(const gantry_tape_t *tape, const char *call);
/* Keeps the tape alive until gantry__tape_leave, which must follow, if a callback ends the tape,
 * too. */
void gantry__tape_enter(gantry_tape_t *tape);
void gantry__tape_leave(gantry_tape_t *tape);
/* clear forgets all that was recorded; spend does so for ever. */
void gantry__tape_clear(gantry_tape_t *tape);
void gantry__tape_spend(gantry_tape_t *tape);

#endif
