/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of schedules, as ops on scalars. In a function they are elementwise ops of one
 * shape, so that a schedule and the numbers of an optimizer's step are few fused nodes.
 *
 * t is the step, in the type of the rate. */
#include "train/base/fp_mode.h"
#include "train/optimizer/learning_rate_state.h"
#include "train/optimizer/update_rule.h"

typedef const gantry_tensor_t tensor;

#define PI 3.14159265358979323846

/* The scope, the type and the numbers of one call. */
typedef struct formula_t {
    gantry_scope_t *scope;
    gantry_dtype_t dtype;
    const gantry_schedule_t *schedule;
    tensor *step; /* of dtype */
} formula_t;

static formula_t begin_formula(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                               const void *user) {
    return (formula_t){scope, dtype, user, gantry_cast(scope, step, dtype)};
}

static tensor *learning_rate_formulas_number(const formula_t *formula, double value) {
    return gantry__train_number(formula->scope, formula->dtype, value);
}

/* t / steps, rounded down on a staircase. */
static tensor *passed(const formula_t *formula) {
    tensor *part = gantry_div(formula->scope, formula->step,
                              learning_rate_formulas_number(formula, formula->schedule->steps));
    return formula->schedule->steps_or_cycles ? gantry_floor(formula->scope, part) : part;
}

/* 1 - x */
static tensor *rest_of(const formula_t *formula, tensor *x) {
    return gantry_sub(formula->scope, learning_rate_formulas_number(formula, 1), x);
}

tensor *gantry__train_exponential(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                                  void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const formula_t formula = begin_formula(scope, step, dtype, user);
    tensor *factor = gantry_pow(
        scope, learning_rate_formulas_number(&formula, formula.schedule->factor), passed(&formula));
    return gantry_mul(scope, learning_rate_formulas_number(&formula, formula.schedule->initial),
                      factor);
}

tensor *gantry__train_inverse_time(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                                   void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const formula_t formula = begin_formula(scope, step, dtype, user);
    tensor *grown = gantry_mul(
        scope, learning_rate_formulas_number(&formula, formula.schedule->factor), passed(&formula));
    return gantry_div(scope, learning_rate_formulas_number(&formula, formula.schedule->initial),
                      gantry_add(scope, learning_rate_formulas_number(&formula, 1), grown));
}

/* From the last value to the first: the value of each boundary that t does not exceed. Steps must
 * be compared as integers, because float32 has no number next to 2^24. */
tensor *gantry__train_piecewise(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                                void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const gantry_schedule_t *schedule = user;
    tensor *rate = gantry__train_number(scope, dtype, schedule->values[schedule->boundary_count]);
    for (size_t i = schedule->boundary_count; i-- > 0;) {
        tensor *is_within =
            gantry_less_equal(scope, step, gantry_scalar_i64(scope, schedule->boundaries[i]));
        rate = gantry_select(scope, is_within,
                             gantry__train_number(scope, dtype, schedule->values[i]), rate);
    }
    return rate;
}

/* The steps of the cycle that t is in: the first multiple of steps that is not below t; in step 0
 * steps itself. */
static tensor *cycle_of(const formula_t *formula) {
    gantry_scope_t *scope = formula->scope;
    tensor *steps = learning_rate_formulas_number(formula, formula->schedule->steps);
    tensor *cycles = gantry_ceil(scope, gantry_div(scope, formula->step, steps));
    return gantry_mul(scope, steps,
                      gantry_maximum(scope, cycles, learning_rate_formulas_number(formula, 1)));
}

tensor *gantry__train_polynomial(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                                 void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const formula_t formula = begin_formula(scope, step, dtype, user);
    const gantry_schedule_t *schedule = user;
    tensor *steps = learning_rate_formulas_number(&formula, schedule->steps), *at = formula.step;
    if (schedule->steps_or_cycles) {
        steps = cycle_of(&formula);
    } else {
        at = gantry_minimum(scope, at, steps);
    }
    tensor *left = gantry_pow(scope, rest_of(&formula, gantry_div(scope, at, steps)),
                              learning_rate_formulas_number(&formula, schedule->power));
    return gantry_add(
        scope,
        gantry_mul(scope,
                   learning_rate_formulas_number(&formula, schedule->initial - schedule->factor),
                   left),
        learning_rate_formulas_number(&formula, schedule->factor));
}

/* (1 - alpha) wave + alpha, times a rate; wave falls from 1 to 0. */
static tensor *above_alpha(const formula_t *formula, double rate, tensor *wave) {
    gantry_scope_t *scope = formula->scope;
    const double alpha = formula->schedule->factor;
    tensor *height = gantry_add(
        scope, gantry_mul(scope, learning_rate_formulas_number(formula, 1 - alpha), wave),
        learning_rate_formulas_number(formula, alpha));
    return gantry_mul(scope, learning_rate_formulas_number(formula, rate), height);
}

/* (1 + cos(pi part)) / 2 */
static tensor *half_wave(const formula_t *formula, tensor *part) {
    gantry_scope_t *scope = formula->scope;
    tensor *wave =
        gantry_cos(scope, gantry_mul(scope, learning_rate_formulas_number(formula, PI), part));
    return gantry_mul(scope, learning_rate_formulas_number(formula, 0.5),
                      gantry_add(scope, learning_rate_formulas_number(formula, 1), wave));
}

tensor *gantry__train_cosine(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                             void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const formula_t formula = begin_formula(scope, step, dtype, user);
    const gantry_schedule_t *schedule = user;
    const bool warms_up = schedule->target > 0;
    const double begin = warms_up ? schedule->target_steps : 0;
    tensor *at = formula.step, *begins = learning_rate_formulas_number(&formula, begin);
    if (warms_up)
        at = gantry_maximum(scope, gantry_sub(scope, at, begins),
                            learning_rate_formulas_number(&formula, 0));
    tensor *steps = learning_rate_formulas_number(&formula, schedule->steps);
    tensor *part = gantry_div(scope, gantry_minimum(scope, at, steps), steps);
    tensor *falling = above_alpha(&formula, warms_up ? schedule->target : schedule->initial,
                                  half_wave(&formula, part));
    if (begin <= 0) return falling;
    tensor *rise = gantry_mul(
        scope, learning_rate_formulas_number(&formula, schedule->target - schedule->initial),
        gantry_div(scope, formula.step, begins));
    return gantry_select(
        scope, gantry_less(scope, formula.step, begins),
        gantry_add(scope, rise, learning_rate_formulas_number(&formula, schedule->initial)),
        falling);
}

/* With periods that grow by q, period i begins at (1 - q^i) / (1 - q), in first periods. */
static tensor *growing_period(const formula_t *formula, tensor **passed_ref) {
    gantry_scope_t *scope = formula->scope;
    const double q = formula->schedule->growth;
    tensor *base = learning_rate_formulas_number(formula, q),
           *rest = learning_rate_formulas_number(formula, 1 - q);
    tensor *grown = rest_of(formula, gantry_mul(scope, *passed_ref, rest));
    tensor *period =
        gantry_floor(scope, gantry_div(scope, gantry_log(scope, grown), gantry_log(scope, base)));
    tensor *length = gantry_pow(scope, base, period);
    tensor *begin = gantry_div(scope, rest_of(formula, length), rest);
    *passed_ref = gantry_div(scope, gantry_sub(scope, *passed_ref, begin), length);
    return period;
}

static tensor *even_period(const formula_t *formula, tensor **passed_ref) {
    tensor *period = gantry_floor(formula->scope, *passed_ref);
    *passed_ref = gantry_sub(formula->scope, *passed_ref, period);
    return period;
}

tensor *gantry__train_cosine_restarts(gantry_scope_t *scope, tensor *step, gantry_dtype_t dtype,
                                      void *user) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const formula_t formula = begin_formula(scope, step, dtype, user);
    const gantry_schedule_t *schedule = user;
    tensor *part = passed(&formula);
    const bool grows = schedule->growth < 1 || schedule->growth > 1;
    tensor *period = grows ? growing_period(&formula, &part) : even_period(&formula, &part);
    tensor *height =
        gantry_pow(scope, learning_rate_formulas_number(&formula, schedule->power), period);
    return above_alpha(&formula, schedule->initial,
                       gantry_mul(scope, height, half_wave(&formula, part)));
}
