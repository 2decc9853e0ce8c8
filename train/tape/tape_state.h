/* SPDX-License-Identifier: Apache-2.0 */
/* A tape inside. */
#ifndef GANTRY_TRAIN_TAPE_STATE_H
#define GANTRY_TRAIN_TAPE_STATE_H

#include "train/base/pointer_map.h"
#include "train/tape/rule.h"

/* A read of a watched variable. */
typedef struct gantry__read_t {
    gantry_variable_t *variable;
    uint32_t number; /* of the tensor */
} gantry__read_t;

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
    gantry_tensor_t **held;
    size_t held_count, held_capacity;
    gantry__record_t *records;
    size_t record_count, record_capacity;
    gantry__read_t *reads;
    size_t read_count, read_capacity;
    size_t depth;          /* bodies in which its scope lies */
    gantry__use_t *inside; /* of bodies that are traced at the moment */
    size_t inside_count, inside_capacity;
    const gantry__record_t *running; /* whose rule runs; NULL: none */
    gantry__rule_memo_t rules;
    gantry_variable_t **watched; /* of a tape that watches named variables */
    size_t watched_count, watched_capacity;
};

/* The status of the tape's scope; an error for no tape, and for one whose scope has ended. */
gantry_status_t gantry__tape_check_scope(const gantry_tape_t *tape, const char *call);
bool gantry__tape_is_watched(const gantry_tape_t *tape, const gantry_variable_t *variable);
/* A number that stands for all reads of a variable in bodies. */
gantry_status_t gantry__tape_number_variable(gantry_tape_t *tape, gantry_variable_t *variable,
                                             uint32_t *out_number);
/* gantry_tape_gradient for several targets: of those whose gradient is NULL nothing comes. The
 * arguments are right. */
gantry_status_t gantry__tape_gradients(gantry_tape_t *tape, const gantry_tensor_t *const *targets,
                                       const gantry_tensor_t *const *target_gradients,
                                       size_t target_count, const gantry_source_t *sources,
                                       size_t source_count, const gantry_tensor_t **out_gradients);
/* gantry_tape_gradient for the public call of this name, which errors name. */
gantry_status_t gantry__tape_gradient_as(gantry_tape_t *tape, const gantry_tensor_t *target,
                                         const gantry_tensor_t *target_gradient,
                                         const gantry_source_t *sources, size_t source_count,
                                         const gantry_gradient_options_t *options,
                                         const gantry_tensor_t **out_gradients, const char *call);
/* gantry_custom_gradient, whose forward's ops `inside` observes, too, until the call ends; NULL:
 * none. */
gantry_status_t gantry__custom_gradient(gantry_scope_t *scope, gantry_observer_t *inside,
                                        gantry_function_body_fn forward,
                                        gantry_backward_fn backward, void *user,
                                        const gantry_tensor_t *const *inputs, size_t input_count,
                                        const gantry_tensor_t **outputs, size_t output_count);
/* Refuses a tape that cannot compute a gradient. */
gantry_status_t gantry__tape_check(const gantry_tape_t *tape, const char *call);
/* The tape lives until gantry__tape_leave, also if a callback ends it. */
void gantry__tape_enter(gantry_tape_t *tape);
void gantry__tape_leave(gantry_tape_t *tape);
/* Forgets all that was recorded; then also for ever. */
void gantry__tape_clear(gantry_tape_t *tape);
void gantry__tape_spend(gantry_tape_t *tape);

#endif
