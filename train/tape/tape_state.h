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
    /* Tracked tensors: the tape's own references, so that no address is used twice. */
    gantry_tensor_t **tensors;
    size_t tensor_count, tensor_capacity;
    gantry__pointer_map_t numbers; /* of tensors */
    gantry__record_t *records;
    size_t record_count, record_capacity;
    gantry__read_t *reads;
    size_t read_count, read_capacity;
    const gantry__record_t *running; /* whose rule runs; NULL: none */
    gantry__rule_memo_t rules;
    gantry_variable_t **watched; /* of a tape that watches named variables */
    size_t watched_count, watched_capacity;
};

/* Forgets all that was recorded. */
void gantry__tape_clear(gantry_tape_t *tape);

#endif
