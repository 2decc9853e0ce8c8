/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule as its own files see it: the function that computes its rates, with the numbers of
 * those that the library makes. Owner: references are counted; the program has one, and each
 * optimizer that uses the schedule has one of its own. Threads: thread-safe, because only the count
 * changes. */
#ifndef GANTRY_TRAIN_LEARNING_RATE_STATE_H
#define GANTRY_TRAIN_LEARNING_RATE_STATE_H

#include <stdatomic.h>

#include <gantry_train/learning_rate.h>

struct gantry_schedule_t {
    atomic_uint references;
    gantry_schedule_fn rate;
    void *user; /* the schedule itself, if the library made it */
    double initial, steps;
    double factor;               /* decay_rate, end_learning_rate, alpha */
    double power;                /* also m_mul */
    double growth;               /* t_mul */
    double target, target_steps; /* of a warmup */
    bool steps_or_cycles;        /* staircase, cycle */
    size_t boundary_count;
    int64_t *boundaries;
    double *values;
};

/* The formulas. user must be the schedule. */
const gantry_tensor_t *gantry__train_exponential(gantry_scope_t *scope, const gantry_tensor_t *step,
                                                 gantry_dtype_t dtype, void *user);
const gantry_tensor_t *gantry__train_piecewise(gantry_scope_t *scope, const gantry_tensor_t *step,
                                               gantry_dtype_t dtype, void *user);
const gantry_tensor_t *gantry__train_polynomial(gantry_scope_t *scope, const gantry_tensor_t *step,
                                                gantry_dtype_t dtype, void *user);
const gantry_tensor_t *gantry__train_inverse_time(gantry_scope_t *scope,
                                                  const gantry_tensor_t *step, gantry_dtype_t dtype,
                                                  void *user);
const gantry_tensor_t *gantry__train_cosine(gantry_scope_t *scope, const gantry_tensor_t *step,
                                            gantry_dtype_t dtype, void *user);
const gantry_tensor_t *gantry__train_cosine_restarts(gantry_scope_t *scope,
                                                     const gantry_tensor_t *step,
                                                     gantry_dtype_t dtype, void *user);

#endif
