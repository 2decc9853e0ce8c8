/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry_train/learning_rate.h>

#include <math.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/optimizer/learning_rate_state.h"
#include "train/optimizer/options.h"

/* ---- the object ---- */

static gantry_schedule_t *make_schedule(gantry_schedule_fn rate) {
    gantry_schedule_t *schedule = gantry__alloc(1, sizeof *schedule);
    if (!schedule) return NULL;
    atomic_init(&schedule->references, 1);
    schedule->rate = rate;
    schedule->user = schedule;
    return schedule;
}

gantry_schedule_t *gantry_schedule_create(gantry_schedule_fn rate, void *user) {
    if (!rate) {
        (void)gantry__train_refuse(NULL,
                                   "gantry_schedule_create: rate is NULL; a function is accepted");
        return NULL;
    }
    gantry_schedule_t *schedule = make_schedule(rate);
    if (schedule) schedule->user = user;
    return schedule;
}

gantry_schedule_t *gantry_schedule_retain(const gantry_schedule_t *schedule) {
    gantry_schedule_t *owned;
    /* only the count changes */
    memcpy(&owned, &schedule, sizeof owned);
    if (owned) atomic_fetch_add(&owned->references, 1);
    return owned;
}

void gantry_schedule_release(gantry_schedule_t *schedule) {
    if (!schedule || atomic_fetch_sub(&schedule->references, 1) != 1) return;
    gantry__free(schedule->boundaries);
    gantry__free(schedule->values);
    gantry__free(schedule);
}

/* ---- the rate ---- */

static bool is_scalar(const gantry_tensor_t *tensor, gantry_dtype_t dtype) {
    return gantry_tensor_dtype(tensor) == dtype && gantry_tensor_shape(tensor)->rank == 0;
}

static gantry_status_t learning_rate_check_call(gantry_scope_t *scope,
                                                const gantry_schedule_t *schedule,
                                                const gantry_tensor_t *step, gantry_dtype_t dtype) {
    GANTRY__TRY(gantry__train_check_scope(scope));
    if (!schedule) return gantry__train_fail_null(scope, "gantry_schedule_rate", "schedule", "one");
    if (dtype != GANTRY_FLOAT32 && dtype != GANTRY_FLOAT64)
        return gantry__train_refuse(
            scope, "gantry_schedule_rate: the type is %s; float32 and float64 are accepted",
            gantry_dtype_name(dtype));
    if (!step || !is_scalar(step, GANTRY_INT64))
        return gantry__train_refuse(
            scope, "gantry_schedule_rate: the step is %s; a scalar of type int64 is accepted",
            step ? "a tensor of another type or shape" : "NULL");
    return GANTRY_OK;
}

static const gantry_tensor_t *learning_rate_ask(const gantry_schedule_t *schedule,
                                                gantry_scope_t *scope, const gantry_tensor_t *step,
                                                gantry_dtype_t dtype) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    return schedule->rate(scope, step, dtype, schedule->user);
}

const gantry_tensor_t *gantry_schedule_rate(gantry_scope_t *scope,
                                            const gantry_schedule_t *schedule,
                                            const gantry_tensor_t *step, gantry_dtype_t dtype) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    if (learning_rate_check_call(scope, schedule, step, dtype) != GANTRY_OK) return NULL;
    if (gantry_scope_lend(scope) != GANTRY_OK) return NULL;
    const gantry_tensor_t *rate = learning_rate_ask(schedule, scope, step, dtype);
    gantry_scope_take_back(scope);
    if (gantry_scope_status(scope) != GANTRY_OK) return NULL;
    if (rate && is_scalar(rate, dtype)) return rate;
    (void)gantry__train_refuse(
        scope, "gantry_schedule_rate: the schedule gave %s; it must give a scalar of type %s",
        rate ? "a tensor of another type or shape" : "NULL", gantry_dtype_name(dtype));
    return NULL;
}

/* ---- options ---- */

/* One number of options, and the numbers that are accepted. */
typedef enum range_t { POSITIVE, NOT_NEGATIVE } range_t;

static gantry_status_t check_number(const char *function, const char *field, double value,
                                    range_t range) {
    const bool is_well = isfinite(value) && (range == POSITIVE ? value > 0 : value >= 0);
    if (is_well) return GANTRY_OK;
    return gantry__train_refuse(NULL, "%s: %s is %g; %s is accepted", function, field, value,
                                range == POSITIVE ? "a positive number" : "a number of 0 or more");
}

static gantry_status_t check_growth(const char *function, double t_mul) {
    if (isfinite(t_mul) && t_mul >= 1) return GANTRY_OK;
    return gantry__train_refuse(NULL, "%s: t_mul is %g; a number of 1 or more is accepted",
                                function, t_mul);
}

static gantry_status_t check_begin(const char *function, double initial, int64_t steps) {
    GANTRY__TRY(check_number(function, "initial_learning_rate", initial, POSITIVE));
    return check_number(function, "decay_steps", (double)steps, POSITIVE);
}

static gantry_schedule_t *make_decay(const char *name, gantry_schedule_fn formula, double initial,
                                     int64_t steps, double rate, bool staircase) {
    if (check_begin(name, initial, steps) != GANTRY_OK ||
        check_number(name, "decay_rate", rate, POSITIVE) != GANTRY_OK)
        return NULL;
    gantry_schedule_t *schedule = make_schedule(formula);
    if (!schedule) return NULL;
    schedule->initial = initial;
    schedule->steps = (double)steps;
    schedule->factor = rate;
    schedule->steps_or_cycles = staircase;
    return schedule;
}

gantry_schedule_t *gantry_exponential_decay(const gantry_exponential_decay_options_t *options) {
    static const char name[] = "gantry_exponential_decay";
    gantry_exponential_decay_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_exponential_decay")) return NULL;
    return make_decay(name, gantry__train_exponential, read.initial_learning_rate, read.decay_steps,
                      read.decay_rate, read.staircase);
}

gantry_schedule_t *gantry_inverse_time_decay(const gantry_inverse_time_decay_options_t *options) {
    static const char name[] = "gantry_inverse_time_decay";
    gantry_inverse_time_decay_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_inverse_time_decay")) return NULL;
    return make_decay(name, gantry__train_inverse_time, read.initial_learning_rate,
                      read.decay_steps, read.decay_rate, read.staircase);
}

gantry_schedule_t *gantry_polynomial_decay(const gantry_polynomial_decay_options_t *options) {
    gantry_polynomial_decay_options_t read;
    const char *name = "gantry_polynomial_decay";
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_polynomial_decay") ||
        check_begin(name, read.initial_learning_rate, read.decay_steps) != GANTRY_OK ||
        check_number(name, "end_learning_rate", read.end_learning_rate, NOT_NEGATIVE) !=
            GANTRY_OK ||
        check_number(name, "power", read.power, NOT_NEGATIVE) != GANTRY_OK)
        return NULL;
    gantry_schedule_t *schedule = make_schedule(gantry__train_polynomial);
    if (!schedule) return NULL;
    schedule->initial = read.initial_learning_rate;
    schedule->steps = (double)read.decay_steps;
    schedule->factor = gantry__train_or_default(read.end_learning_rate, 1e-4);
    schedule->power = gantry__train_or_default(read.power, 1);
    schedule->steps_or_cycles = read.cycle;
    return schedule;
}

static gantry_status_t check_cosine(const gantry_cosine_decay_options_t *read) {
    const char *name = "gantry_cosine_decay";
    const bool warms_up = read->warmup_target > 0 && read->warmup_steps > 0;
    GANTRY__TRY(check_number(name, "initial_learning_rate", read->initial_learning_rate,
                             warms_up ? NOT_NEGATIVE : POSITIVE));
    GANTRY__TRY(check_number(name, "decay_steps", (double)read->decay_steps, POSITIVE));
    GANTRY__TRY(check_number(name, "alpha", read->alpha, NOT_NEGATIVE));
    GANTRY__TRY(check_number(name, "warmup_target", read->warmup_target, NOT_NEGATIVE));
    GANTRY__TRY(check_number(name, "warmup_steps", (double)read->warmup_steps, NOT_NEGATIVE));
    if (read->warmup_steps > 0 && !warms_up)
        return gantry__train_refuse(
            NULL,
            "%s: warmup_steps is %lld and warmup_target is 0; both or none of them are accepted",
            name, (long long)read->warmup_steps);
    return GANTRY_OK;
}

gantry_schedule_t *gantry_cosine_decay(const gantry_cosine_decay_options_t *options) {
    gantry_cosine_decay_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_cosine_decay") ||
        check_cosine(&read) != GANTRY_OK)
        return NULL;
    gantry_schedule_t *schedule = make_schedule(gantry__train_cosine);
    if (!schedule) return NULL;
    schedule->initial = read.initial_learning_rate;
    schedule->steps = (double)read.decay_steps;
    schedule->factor = read.alpha;
    schedule->target = read.warmup_target;
    schedule->target_steps = (double)read.warmup_steps;
    return schedule;
}

gantry_schedule_t *gantry_cosine_decay_restarts(
    const gantry_cosine_decay_restarts_options_t *options) {
    gantry_cosine_decay_restarts_options_t read;
    const char *name = "gantry_cosine_decay_restarts";
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_cosine_decay_restarts") ||
        check_number(name, "initial_learning_rate", read.initial_learning_rate, POSITIVE) !=
            GANTRY_OK ||
        check_number(name, "first_decay_steps", (double)read.first_decay_steps, POSITIVE) !=
            GANTRY_OK ||
        check_growth(name, gantry__train_or_default(read.t_mul, 2)) != GANTRY_OK ||
        check_number(name, "m_mul", read.m_mul, NOT_NEGATIVE) != GANTRY_OK ||
        check_number(name, "alpha", read.alpha, NOT_NEGATIVE) != GANTRY_OK)
        return NULL;
    gantry_schedule_t *schedule = make_schedule(gantry__train_cosine_restarts);
    if (!schedule) return NULL;
    schedule->initial = read.initial_learning_rate;
    schedule->steps = (double)read.first_decay_steps;
    schedule->growth = gantry__train_or_default(read.t_mul, 2);
    schedule->power = gantry__train_or_default(read.m_mul, 1);
    schedule->factor = read.alpha;
    return schedule;
}

/* ---- a piecewise constant schedule ---- */

static gantry_status_t check_pieces(const gantry_piecewise_constant_decay_options_t *read) {
    const char *name = "gantry_piecewise_constant_decay";
    if (!read->boundaries || !read->values || read->boundary_count == 0)
        return gantry__train_refuse(
            NULL,
            "%s: boundaries, values or boundary_count is missing; one boundary or more are accepted, with one value more",
            name);
    for (size_t i = 0; i <= read->boundary_count; ++i)
        GANTRY__TRY(check_number(name, "a value", read->values[i], NOT_NEGATIVE));
    for (size_t i = 1; i < read->boundary_count; ++i) {
        if (read->boundaries[i] > read->boundaries[i - 1]) continue;
        return gantry__train_refuse(
            NULL, "%s: boundary %zu is %lld, after %lld; boundaries that increase are accepted",
            name, i, (long long)read->boundaries[i], (long long)read->boundaries[i - 1]);
    }
    return GANTRY_OK;
}

static bool copy_pieces(gantry_schedule_t *schedule,
                        const gantry_piecewise_constant_decay_options_t *read) {
    const size_t count = read->boundary_count;
    schedule->boundary_count = count;
    schedule->boundaries = gantry__alloc(count, sizeof *schedule->boundaries);
    if (!schedule->boundaries) return false;
    schedule->values = gantry__alloc(count + 1, sizeof *schedule->values);
    if (!schedule->values) return false;
    memcpy(schedule->boundaries, read->boundaries, count * sizeof *schedule->boundaries);
    memcpy(schedule->values, read->values, (count + 1) * sizeof *schedule->values);
    return true;
}

gantry_schedule_t *gantry_piecewise_constant_decay(
    const gantry_piecewise_constant_decay_options_t *options) {
    gantry_piecewise_constant_decay_options_t read;
    if (!GANTRY__TRAIN_READ_OPTIONS(options, read, "gantry_piecewise_constant_decay") ||
        check_pieces(&read) != GANTRY_OK)
        return NULL;
    gantry_schedule_t *schedule = make_schedule(gantry__train_piecewise);
    if (!schedule || copy_pieces(schedule, &read)) return schedule;
    gantry_schedule_release(schedule);
    return NULL;
}
