/* SPDX-License-Identifier: Apache-2.0 */
/* An optimizer inside.
 *
 *     home     a device and a type: its scalars, each a variable on that device
 *     group    weights of one home that are updated together, and their slots
 *     member   a variable of the program, and its place in the vector of its group
 *
 *     group        | w0 | 0 | w1        | 0 | w2 | 0 |     a place begins at a multiple of
 *     slot         | s0 | . | s1        | . | s2 | . |     GANTRY__TRAIN_PLACE_BYTES
 *
 * A joined group concatenates gradients and weights, updates one vector, and assigns the parts of
 * the result to the variables. In a function these parts are views. A group of one variable has its
 * shape, and copies nothing.
 *
 * Joining costs a copy of the weights and of the gradients, and saves launches. Nadam as a
 * function, microseconds a step on 2 threads of a Zen 5 that other work shared:
 *
 *                                           CPU backend         PoCL
 *                                          apart   joined   apart   joined
 *     4 variables of 1024 elements           6.9      5.8      29       25
 *     16 of 1024                              23       12     200       81
 *     16 of 4096                              52       41     112       65
 *     16 of 8192                             120       77     223       99
 *     16 of 16384                            151      161     240      240
 *     16 of 32768                            453      672     360      457
 *     15 of 1024 and 15 of 32                 37       15     120       73
 *     7 of 32 to 91104                        61       63      77       89
 *       those up to 8192 joined                        59               75
 *
 * All 7 joined take 2 MB more memory, and save 1 us of the host's time on PoCL.
 *
 * So small variables are joined and others are not. In a function, the groups of a home are parts
 * of one launch (src/function/pass/pass_updates.c).
 *
 * Fields that are marked "apply" belong to the gantry_optimizer_apply that runs, and must not be
 * used after it. Owner: the program has an optimizer until a model takes it over; it owns the
 * variables that build made. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_OPTIMIZER_STATE_H
#define GANTRY_TRAIN_OPTIMIZER_STATE_H

#include <gantry_train/numerics.h>
#include <gantry_train/optimizer.h>

#include "train/optimizer/update_rule.h"

enum {
    /* The slots of a rule, then the sum of gradients and the average of weights. */
    GANTRY__TRAIN_ALL_SLOTS = GANTRY__TRAIN_MOST_SLOTS + 2,
    /* The most elements of a variable that is joined with others. */
    GANTRY__TRAIN_MOST_JOINED = 8192,
    /* The most variables of a joined group: Concat takes a value and a filler of each. */
    GANTRY__TRAIN_MOST_MEMBERS = GANTRY_MAX_OP_INPUTS / 2,
    /* A part of a vector is a view if it begins at a multiple of the device's alignment, which is
     * at most this for every driver that is known. */
    GANTRY__TRAIN_PLACE_BYTES = 512
};

typedef struct gantry__train_member_t {
    gantry_variable_t *variable;             /* the program's */
    int64_t elements, first;                 /* its place in the group's vector */
    int64_t room;                            /* up to the next place */
    const gantry_tensor_t *gradient;         /* apply; NULL: none, or slices */
    const gantry_tensor_t *values, *indices; /* apply: slices; NULL: none */
    const gantry_tensor_t *value;            /* apply: the new one, in the home's scope */
    bool is_given;                           /* apply */
} gantry__train_member_t;

typedef struct gantry__train_group_t {
    uint32_t home, first_member, member_count;
    int64_t elements; /* of its vector */
    gantry_variable_t *slots[GANTRY__TRAIN_ALL_SLOTS];
    bool has_gradient; /* apply */
    bool is_updated;   /* apply: it has a gradient, or slots that change without one */
    bool is_sparse;    /* apply: a member has slices. All members' gradients are then clipped */
    const gantry_tensor_t *gradient; /* apply: of all members, in the home's scope, unless sparse */
    const gantry_tensor_t *sum;      /* apply: of gradients since the last update; NULL: none */
    const gantry_tensor_t *new_slots[GANTRY__TRAIN_ALL_SLOTS]; /* apply */
} gantry__train_group_t;

typedef struct gantry__train_home_t {
    const gantry_logical_device_t *device;
    gantry_dtype_t dtype;
    gantry_variable_t *iteration; /* int64: steps before the next one */
    gantry_variable_t *rate;      /* NULL: there is a schedule */
    gantry_variable_t *carried;   /* NULL: the rule has none */
    bool is_used;                 /* apply: one of its variables is given. Others do not count it */
    gantry__update_t update;      /* apply */
    const gantry_tensor_t *new_iteration, *decay, *scale, *clip[2]; /* apply; NULL: none */
    /* apply; NULL: none. Booleans, and numbers of its type */
    const gantry_tensor_t *is_update, *is_overwrite, *steps, *ema_momentum, *ema_rest;
} gantry__train_home_t;

struct gantry_optimizer_t {
    const void *owner; /* the model that has it, and ends it; NULL: the program does */
    const gantry__train_rule_t *rule;
    gantry__train_settings_t settings;
    gantry_schedule_t *schedule;
    gantry__train_slot_t slots[GANTRY__TRAIN_ALL_SLOTS];
    size_t slot_count;         /* of all */
    size_t rule_slot_count;    /* the first ones */
    size_t sum_slot;           /* of gradients; slot_count: none */
    size_t average_slot;       /* of weights; slot_count: none */
    gantry_runtime_t *runtime; /* NULL: not built; its variables keep it alive */
    gantry__train_home_t *homes;
    gantry__train_group_t *groups;
    gantry__train_member_t *members;
    size_t home_count, group_count, member_count;
    bool checks_numerics; /* each op of a step, to name the first that makes NaN or infinity */
    gantry_numerics_t *numerics; /* apply; NULL: none */
    char part[192];              /* apply: of it, for texts */
};

static inline gantry_dtype_t gantry__train_scalar_dtype(gantry_dtype_t dtype) {
    return dtype == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
}

static inline bool gantry__train_is_joined(const gantry__train_group_t *group) {
    return group->member_count > 1;
}

static inline bool gantry__train_has_gradient(const gantry__train_member_t *member) {
    return member->gradient || member->values;
}

static inline bool gantry__train_accumulates(const gantry_optimizer_t *optimizer) {
    return optimizer->settings.accumulation_steps > 0;
}

/* Whether the averages of weights overwrite them in some steps. */
static inline bool gantry__train_overwrites(const gantry_optimizer_t *optimizer) {
    return optimizer->settings.use_ema && optimizer->settings.ema_overwrite_frequency > 0;
}

/* Whether the step assigns a new value to a member. */
static inline bool gantry__train_is_changed(const gantry_optimizer_t *optimizer,
                                            const gantry__train_member_t *member) {
    return gantry__train_has_gradient(member) || gantry__train_overwrites(optimizer);
}

/* Whether the optimizer leaves rows without a gradient, of a variable that is not joined with
 * others, as they are. */
static inline bool gantry__train_can_update_rows(const gantry_optimizer_t *optimizer) {
    return optimizer->rule->update_rows && optimizer->slot_count == optimizer->rule->row_slots &&
           optimizer->settings.weight_decay <= 0;
}

/* The first home that the step uses. */
static inline gantry__train_home_t *gantry__train_first_home(const gantry_optimizer_t *optimizer) {
    size_t i = 0;
    while (!optimizer->homes[i].is_used) ++i;
    return &optimizer->homes[i];
}

/* Returns the name of a number of the settings, and its value; NULL after the last one. It has all
 * numbers but those of averages. */
const char *gantry__train_setting(const gantry__train_settings_t *settings, size_t index,
                                  double *out_value);

/* Releases what gantry_optimizer_build made. */
void gantry__train_unbuild(gantry_optimizer_t *optimizer);
/* Returns the member of a variable; NULL if the optimizer does not have the variable. */
gantry__train_member_t *gantry__train_find_member(const gantry_optimizer_t *optimizer,
                                                  const gantry_variable_t *variable);
/* Refuses an optimizer of NULL, a scope that has failed, and a list of NULL; `function` must be the
 * caller's name. */
gantry_status_t gantry__train_check_lists(const gantry_optimizer_t *optimizer,
                                          gantry_scope_t *scope, const void *list, size_t count,
                                          const char *function);

/* Gathers the gradients of all groups, clipped, in the scopes of their homes. It sets the clip and
 * the scale, which an update must still apply. */
void gantry__train_gather_gradients(gantry_optimizer_t *optimizer);
/* Returns a gradient with the clips that remain. */
const gantry_tensor_t *gantry__train_clip(gantry_scope_t *scope, const gantry__train_home_t *home,
                                          const gantry_tensor_t *gradient);

/* Returns what a member adds to the vector of its group: its gradient or its weights. */
typedef const gantry_tensor_t *(*gantry__train_of_member_fn)(gantry_scope_t *scope,
                                                             const gantry_optimizer_t *optimizer,
                                                             gantry__train_member_t *member);
/* Joins what of_member returns for each member into one vector. A NULL of a member counts as zeros
 * of the type. */
const gantry_tensor_t *gantry__train_join(gantry_scope_t *scope,
                                          const gantry_optimizer_t *optimizer,
                                          const gantry__train_group_t *group, gantry_dtype_t dtype,
                                          gantry__train_of_member_fn of_member);

/* Returns the weights of a group: one vector, if the group is joined. */
const gantry_tensor_t *gantry__train_read_weights(gantry_scope_t *scope,
                                                  const gantry_optimizer_t *optimizer,
                                                  const gantry__train_group_t *group);

/* Returns true where a member has a gradient, for gantry__train_join. */
const gantry_tensor_t *gantry__train_mask_of(gantry_scope_t *scope,
                                             const gantry_optimizer_t *optimizer,
                                             gantry__train_member_t *member);
bool gantry__train_misses_gradients(const gantry_optimizer_t *optimizer,
                                    const gantry__train_group_t *group);

/* ---- sums of gradients and averages of weights: optimizer_average.c ---- */

/* The new vector and the new slots of a group. */
typedef struct gantry__train_new_t {
    const gantry_tensor_t *weights, *slots[GANTRY__TRAIN_ALL_SLOTS];
} gantry__train_new_t;

/* Names the slots for sums and averages. */
void gantry__train_add_slots(gantry_optimizer_t *optimizer);
/* Computes the booleans and numbers of a step, and sets the number of the update. */
void gantry__train_begin_average(const gantry_optimizer_t *optimizer, gantry__train_home_t *home,
                                 const gantry_tensor_t *iteration);
/* Sets the group's sum from the joined gradient, and returns the mean. */
const gantry_tensor_t *gantry__train_accumulate(const gantry_optimizer_t *optimizer,
                                                gantry__train_group_t *group,
                                                const gantry_tensor_t *gradient);
/* Keeps what a step that only accumulates does not change, and moves the averages. `now` must have
 * the weights before the step, without decay. */
void gantry__train_average(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                           const gantry__train_group_t *group, const gantry__train_now_t *now,
                           gantry__train_new_t *made);
/* Lets the weights and their averages change places. The optimizer must be built and must have
 * averages. */
gantry_status_t gantry__optimizer_swap_averages(gantry_optimizer_t *optimizer,
                                                gantry_scope_t *scope);
/* Returns a member's part of a group's vector, in the member's shape. */
const gantry_tensor_t *gantry__train_part_of(gantry_scope_t *scope,
                                             const gantry__train_group_t *group,
                                             const gantry__train_member_t *member,
                                             const gantry_tensor_t *vector);

/* ---- slices: optimizer_slices.c ---- */

/* Returns a member's gradient, with slices added into a dense one; NULL if it has none. */
const gantry_tensor_t *gantry__train_dense_of(gantry_scope_t *scope,
                                              const gantry_optimizer_t *optimizer,
                                              gantry__train_member_t *member);

/* Makes dense vectors of the gradient of a sparse group, and of its sizes, in the scope. */
void gantry__train_make_dense(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                              const gantry__train_group_t *group, gantry__train_now_t *now);
/* Whether the step updates rows of the group's variable. */
bool gantry__train_updates_rows(const gantry_optimizer_t *optimizer,
                                const gantry__train_group_t *group);
void gantry__train_update_rows(const gantry_optimizer_t *optimizer,
                               const gantry__train_group_t *group);

#endif
