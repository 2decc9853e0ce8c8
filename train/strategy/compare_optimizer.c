/* SPDX-License-Identifier: Apache-2.0 */
#include "train/strategy/compare_optimizer.h"

#include <inttypes.h>

#include "train/base/inner_scope.h"
#include "train/optimizer/learning_rate_state.h"
#include "train/optimizer/optimizer_state.h"

/* ---- schedules ---- */

static const char *schedule_name(const gantry_schedule_t *schedule) {
    if (schedule->user != schedule) return "of the program's own";
    if (schedule->rate == gantry__train_exponential) return "exponential_decay";
    if (schedule->rate == gantry__train_piecewise) return "piecewise_constant_decay";
    if (schedule->rate == gantry__train_polynomial) return "polynomial_decay";
    if (schedule->rate == gantry__train_inverse_time) return "inverse_time_decay";
    if (schedule->rate == gantry__train_cosine) return "cosine_decay";
    return "cosine_decay_restarts";
}

static void add_schedule(gantry__lines_t *lines, const gantry_schedule_t *s) {
    if (!s) {
        gantry__lines_add(lines, "no schedule");
        return;
    }
    gantry__lines_add(lines, "schedule %s", schedule_name(s));
    if (s->user != s) return;
    gantry__lines_add(lines, "schedule %s of the numbers %s, %s, %s, %s, %s, %s, %s, %d",
                      schedule_name(s), gantry__number_text(s->initial).text,
                      gantry__number_text(s->steps).text, gantry__number_text(s->factor).text,
                      gantry__number_text(s->power).text, gantry__number_text(s->growth).text,
                      gantry__number_text(s->target).text,
                      gantry__number_text(s->target_steps).text, s->steps_or_cycles);
    for (size_t i = 0; i < s->boundary_count; ++i)
        gantry__lines_add(lines, "schedule %s with %s up to step %" PRId64, schedule_name(s),
                          gantry__number_text(s->values[i]).text, s->boundaries[i]);
    if (s->boundary_count > 0)
        gantry__lines_add(lines, "schedule %s with %s at the end", schedule_name(s),
                          gantry__number_text(s->values[s->boundary_count]).text);
}

/* ---- settings ---- */

void gantry__lines_add_optimizer(gantry__lines_t *lines, const gantry_optimizer_t *optimizer) {
    const gantry__train_settings_t *s = &optimizer->settings;
    const char *name;
    double value;
    gantry__lines_add(lines, "optimizer %s", optimizer->rule->name);
    add_schedule(lines, optimizer->schedule);
    for (size_t i = 0; (name = gantry__train_setting(s, i, &value)); ++i)
        gantry__lines_add(lines, "%s %s", name, gantry__number_text(value).text);
    gantry__lines_add(lines, "ema_momentum %s", gantry__number_text(s->ema_momentum).text);
    gantry__lines_add(lines, "nesterov %d", s->nesterov);
    gantry__lines_add(lines, "amsgrad %d", s->amsgrad);
    gantry__lines_add(lines, "centered %d", s->centered);
    gantry__lines_add(lines, "gradient_accumulation_steps %d", (int)s->accumulation_steps);
    gantry__lines_add(lines, "use_ema %d", s->use_ema);
    gantry__lines_add(lines, "ema_overwrite_frequency %d", (int)s->ema_overwrite_frequency);
}

/* ---- the steps so far ---- */

static gantry_status_t read_steps(const gantry_optimizer_t *optimizer, int64_t *out_steps) {
    gantry_scope_t *scope = gantry_scope_begin(
        optimizer->runtime, gantry_logical_device_name(optimizer->homes[0].device));
    *out_steps = 0;
    if (!scope) return gantry__train_no_scope(optimizer->runtime);
    const gantry_tensor_t *steps = gantry_variable_read(scope, optimizer->homes[0].iteration);
    if (steps)
        (void)gantry__train_hand_on(scope, gantry_tensor_read(steps, out_steps, sizeof *out_steps));
    return gantry_scope_end(scope);
}

void gantry__lines_add_progress(gantry__lines_t *lines, gantry_optimizer_t *optimizer) {
    int64_t steps;
    double rate;
    if (optimizer->home_count == 0) return;
    gantry__lines_fail(lines, read_steps(optimizer, &steps));
    gantry__lines_add(lines, "an optimizer with %" PRId64 " steps done", steps);
    gantry__lines_fail(lines, gantry_optimizer_get_learning_rate(optimizer, &rate));
    if (lines->status == GANTRY_OK)
        gantry__lines_add(lines, "learning rate %s now", gantry__number_text(rate).text);
}
