/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Learning-rate schedules by Keras's formulas. A schedule computes the rate of a step from the
 * number of steps before it, by ops on the device: a captured training step follows it.
 *
 * Reference-counted; the caller that made a schedule must release it, and an optimizer that was
 * given one holds a reference of its own. Immutable and thread-safe.
 *
 * Numbers of options that are 0 mean Keras's default, which the field names. For 0 itself, give a
 * number such as 1e-300, which is as good. A rate is a float64, and has no unit. */
#ifndef GANTRY_TRAIN_LEARNING_RATE_H
#define GANTRY_TRAIN_LEARNING_RATE_H

#include <gantry/gantry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A schedule. The caller that made it releases it. */
typedef struct gantry_schedule_t gantry_schedule_t;

/** Computes the rate of a step: a scalar of type dtype, which is float32 or float64. step is an
 * int64 scalar, 0 for the first step. NULL after a failure, which the scope keeps. It must
 * not end the scope: FailedPrecondition. */
typedef const gantry_tensor_t *(*gantry_schedule_fn)(gantry_scope_t *scope,
                                                     const gantry_tensor_t *step,
                                                     gantry_dtype_t dtype, void *user);

/** Makes a schedule of the caller's own. user must live as long as the schedule. NULL after a
 * failure, with its text in gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_schedule_create(gantry_schedule_fn rate, void *user);
/** Adds a reference and returns the schedule; NULL for NULL. */
GANTRY_API gantry_schedule_t *gantry_schedule_retain(const gantry_schedule_t *schedule);
/** Removes a reference; NULL does no harm. */
GANTRY_API void gantry_schedule_release(gantry_schedule_t *schedule);

/** The rate of a step, as a scalar of type dtype: float32 or float64. step is an int64 scalar, 0
 * for the first step. Works eagerly and in the scope of a trace. NULL after a failure, which the
 * scope keeps. */
GANTRY_API const gantry_tensor_t *gantry_schedule_rate(gantry_scope_t *scope,
                                                       const gantry_schedule_t *schedule,
                                                       const gantry_tensor_t *step,
                                                       gantry_dtype_t dtype);

/** Options of gantry_exponential_decay. */
typedef struct gantry_exponential_decay_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    double initial_learning_rate; /**< The rate of step 0; positive. */
    int64_t decay_steps; /**< Steps until the rate is decay_rate times as large; positive. */
    double decay_rate;   /**< That factor; positive. */
    bool staircase;      /**< Whether the rate changes each decay_steps steps only. */
} gantry_exponential_decay_options_t;
/** ExponentialDecay: initial_learning_rate * decay_rate ^ (step / decay_steps). NULL after a
 * failure, with its text in gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_exponential_decay(
    const gantry_exponential_decay_options_t *options);

/** Options of gantry_piecewise_constant_decay. */
typedef struct gantry_piecewise_constant_decay_options_t {
    uint32_t struct_size;      /**< Its sizeof; 0: that of version 0.1. */
    const int64_t *boundaries; /**< The last step of each value but the last; increasing. Copied. */
    size_t boundary_count;     /**< Entries of boundaries; at least 1. */
    const double *values;      /**< Rates, one more than boundaries. Copied. */
} gantry_piecewise_constant_decay_options_t;
/** PiecewiseConstantDecay: values[0] up to step boundaries[0] included, values[1] up to step
 * boundaries[1], and so on. NULL after a failure, with its text in gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_piecewise_constant_decay(
    const gantry_piecewise_constant_decay_options_t *options);

/** Options of gantry_polynomial_decay. */
typedef struct gantry_polynomial_decay_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    double initial_learning_rate; /**< The rate of step 0; positive. */
    int64_t decay_steps;          /**< Steps until the end; positive. */
    double end_learning_rate;     /**< The rate at the end. 0: 0.0001. */
    double power;                 /**< The power of the polynomial. 0: 1. */
    bool cycle; /**< Whether decay_steps grows to its first multiple that is not below step. */
} gantry_polynomial_decay_options_t;
/** PolynomialDecay: (initial - end) * (1 - step / decay_steps) ^ power + end, and end from
 * decay_steps on. NULL after a failure, with its text in gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_polynomial_decay(
    const gantry_polynomial_decay_options_t *options);

/** Options of gantry_inverse_time_decay. */
typedef struct gantry_inverse_time_decay_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    double initial_learning_rate; /**< The rate of step 0; positive. */
    int64_t decay_steps;          /**< Steps of one unit of time; positive. */
    double decay_rate;            /**< How much the divisor grows in one unit; positive. */
    bool staircase;               /**< Whether the rate changes each decay_steps steps only. */
} gantry_inverse_time_decay_options_t;
/** InverseTimeDecay: initial_learning_rate / (1 + decay_rate * step / decay_steps). NULL after a
 * failure, with its text in gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_inverse_time_decay(
    const gantry_inverse_time_decay_options_t *options);

/** Options of gantry_cosine_decay. */
typedef struct gantry_cosine_decay_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    double initial_learning_rate; /**< The rate of step 0; positive, or 0 with a warmup. */
    int64_t decay_steps;          /**< Steps of the decay, after the warmup; positive. */
    double alpha;                 /**< The last rate, as a part of the first one of the decay. */
    double warmup_target;         /**< The rate at the end of the warmup. 0: there is none. */
    int64_t warmup_steps;         /**< Steps of the warmup. */
} gantry_cosine_decay_options_t;
/** CosineDecay: rises linearly from initial_learning_rate to warmup_target, then falls along half a
 * cosine to alpha times the rate from which it falls. NULL after a failure, with its text in
 * gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_cosine_decay(const gantry_cosine_decay_options_t *options);

/** Options of gantry_cosine_decay_restarts. */
typedef struct gantry_cosine_decay_restarts_options_t {
    uint32_t struct_size;         /**< Its sizeof; 0: that of version 0.1. */
    double initial_learning_rate; /**< The rate of step 0; positive. */
    int64_t first_decay_steps;    /**< Steps of the first period; positive. */
    double t_mul; /**< A period's length over that of the one before; at least 1. 0: 2. */
    double m_mul; /**< A period's first rate over that of the one before. 0: 1. */
    double alpha; /**< The least rate, as a part of initial_learning_rate. */
} gantry_cosine_decay_restarts_options_t;
/** CosineDecayRestarts: falls along half a cosine, again and again. NULL after a failure, with its
 * text in gantry_last_message. */
GANTRY_API gantry_schedule_t *gantry_cosine_decay_restarts(
    const gantry_cosine_decay_restarts_options_t *options);

#ifdef __cplusplus
}
#endif
#endif
