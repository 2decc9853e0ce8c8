/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of gradients, of which every n-th step takes the mean, and moving averages of weights: slots
 * after those of the rule. The order is Keras 3's:
 *
 *     mean = (gradient + sum) / n, clip, decay, update      in an update; sum = 0
 *     sum = gradient + sum                                  in other steps
 *     average = m average + (1 - m) weights                 in each step; m = 0 before an update
 *     weights = average                                     where (updates + 1) % frequency = 0
 *
 * A step computes an update in any case, and a boolean selects its results: a captured step has no
 * branch, and is the same function in each call. */
#include <gantry_train/optimizer.h>

#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/optimizer/optimizer_state.h"

typedef const gantry_tensor_t tensor;

void gantry__train_add_slots(gantry_optimizer_t *optimizer) {
    size_t count = optimizer->rule->slots(&optimizer->settings, optimizer->slots);
    optimizer->rule_slot_count = optimizer->sum_slot = count;
    if (gantry__train_accumulates(optimizer))
        optimizer->slots[count++] = (gantry__train_slot_t){"gradient_accumulator", 0};
    optimizer->average_slot = count;
    if (optimizer->settings.use_ema)
        optimizer->slots[count++] = (gantry__train_slot_t){"average", 0};
    optimizer->slot_count = count;
}

/* ---- the numbers of a step ---- */

static tensor *is_multiple(gantry_scope_t *scope, tensor *number, int64_t of) {
    return gantry_equal(scope, gantry_floor_mod(scope, number, gantry_scalar_i64(scope, of)),
                        gantry_scalar_i64(scope, 0));
}

/* `updates` are those before the step, and `count` is one more. */
static void begin_ema(const gantry__train_settings_t *settings, gantry__train_home_t *home,
                      tensor *updates, tensor *count) {
    const gantry__update_t *update = &home->update;
    gantry_scope_t *scope = update->scope;
    tensor *is_first = gantry_equal(scope, updates, gantry_scalar_i64(scope, 0));
    home->ema_momentum =
        gantry_select(scope, is_first, gantry__train_number(scope, home->dtype, 0),
                      gantry__train_number(scope, home->dtype, settings->ema_momentum));
    home->ema_rest =
        gantry_sub(scope, gantry__train_number(scope, home->dtype, 1), home->ema_momentum);
    if (settings->ema_overwrite_frequency > 0)
        home->is_overwrite = is_multiple(scope, count, settings->ema_overwrite_frequency);
}

void gantry__train_begin_average(const gantry_optimizer_t *optimizer, gantry__train_home_t *home,
                                 tensor *iteration) {
    const gantry__train_settings_t *settings = &optimizer->settings;
    gantry__update_t *update = &home->update;
    gantry_scope_t *scope = update->scope;
    tensor *updates = iteration, *count = home->new_iteration;
    home->is_update = home->is_overwrite = home->steps = NULL;
    if (gantry__train_accumulates(optimizer)) {
        const int64_t steps = settings->accumulation_steps;
        home->is_update = is_multiple(scope, home->new_iteration, steps);
        home->steps = gantry__train_number(scope, home->dtype, (double)steps);
        updates = gantry_floor_div(scope, iteration, gantry_scalar_i64(scope, steps));
        count = gantry_add(scope, updates, gantry_scalar_i64(scope, 1));
    }
    update->count = gantry_cast(scope, count, update->scalar_dtype);
    if (settings->use_ema) begin_ema(settings, home, updates, count);
}

/* ---- groups ---- */

tensor *gantry__train_part_of(gantry_scope_t *scope, const gantry__train_group_t *group,
                              const gantry__train_member_t *member, tensor *vector) {
    if (!gantry__train_is_joined(group)) return vector;
    return gantry_reshape(scope, gantry_slice(scope, vector, &member->first, &member->elements),
                          *gantry_variable_shape(member->variable));
}

tensor *gantry__train_mask_of(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                              gantry__train_member_t *member) {
    (void)optimizer;
    const bool yes = true;
    if (!gantry__train_has_gradient(member)) return NULL;
    return gantry_fill(scope, GANTRY_SHAPE(member->elements),
                       gantry_constant(scope, GANTRY_BOOL, GANTRY_SCALAR, &yes, sizeof yes));
}

bool gantry__train_misses_gradients(const gantry_optimizer_t *optimizer,
                                    const gantry__train_group_t *group) {
    for (uint32_t i = 0; i < group->member_count; ++i) {
        if (!gantry__train_has_gradient(&optimizer->members[group->first_member + i])) return true;
    }
    return false;
}

/* Members without a gradient have none in a norm of all, whatever was accumulated before. */
tensor *gantry__train_accumulate(const gantry_optimizer_t *optimizer, gantry__train_group_t *group,
                                 tensor *gradient) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    gantry_scope_t *scope = home->update.scope;
    group->sum =
        gantry_add(scope, gradient, gantry_variable_read(scope, group->slots[optimizer->sum_slot]));
    tensor *mean = gantry_div(scope, group->sum, home->steps);
    if (!gantry__train_misses_gradients(optimizer, group)) return mean;
    tensor *mask = gantry__train_join(scope, optimizer, group, GANTRY_BOOL, gantry__train_mask_of);
    return gantry_select(scope, mask, mean, gantry__train_number(scope, home->dtype, 0));
}

/* Ends all sums with an update, those of variables without a gradient in it, too. */
static void keep_before_update(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                               const gantry__train_group_t *group, const gantry__train_now_t *now,
                               gantry__train_new_t *made) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    const size_t sum = optimizer->sum_slot;
    made->slots[sum] =
        gantry_select(scope, home->is_update, gantry__train_number(scope, home->dtype, 0),
                      group->sum ? group->sum : now->slots[sum]);
    if (!group->has_gradient) return;
    made->weights = gantry_select(scope, home->is_update, made->weights, now->weights);
    for (size_t i = 0; i < optimizer->rule_slot_count; ++i)
        made->slots[i] = gantry_select(scope, home->is_update, made->slots[i], now->slots[i]);
}

void gantry__train_average(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                           const gantry__train_group_t *group, const gantry__train_now_t *now,
                           gantry__train_new_t *made) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    if (gantry__train_accumulates(optimizer))
        keep_before_update(scope, optimizer, group, now, made);
    if (!optimizer->settings.use_ema) return;
    tensor *average = gantry_add(
        scope, gantry_mul(scope, home->ema_momentum, now->slots[optimizer->average_slot]),
        gantry_mul(scope, home->ema_rest, made->weights));
    made->slots[optimizer->average_slot] = average;
    if (home->is_overwrite)
        made->weights = gantry_select(scope, home->is_overwrite, average, made->weights);
}

/* ---- the end of a training ---- */

static void finalize_group(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group,
                           gantry_scope_t *scope) {
    tensor *average = gantry_variable_read(scope, group->slots[optimizer->average_slot]);
    tensor *has_iterated =
        gantry_greater(scope, gantry_variable_read(scope, optimizer->homes[group->home].iteration),
                       gantry_scalar_i64(scope, 0));
    for (uint32_t i = 0; i < group->member_count; ++i) {
        const gantry__train_member_t *member = &optimizer->members[group->first_member + i];
        tensor *value =
            gantry_select(scope, has_iterated, gantry__train_part_of(scope, group, member, average),
                          gantry_variable_read(scope, member->variable));
        if (value) (void)gantry_variable_assign(scope, member->variable, value);
    }
}

static void swap_group(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group,
                       gantry_scope_t *scope) {
    gantry_variable_t *slot = group->slots[optimizer->average_slot];
    tensor *average = gantry_variable_read(scope, slot),
           *weights = gantry__train_read_weights(scope, optimizer, group);
    if (gantry_scope_status(scope) != GANTRY_OK) return;
    for (uint32_t i = 0; i < group->member_count; ++i) {
        const gantry__train_member_t *member = &optimizer->members[group->first_member + i];
        (void)gantry_variable_assign(scope, member->variable,
                                     gantry__train_part_of(scope, group, member, average));
    }
    (void)gantry_variable_assign(scope, slot, weights);
}

typedef void (*group_fn)(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group,
                         gantry_scope_t *scope);

static void run_in_home(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group,
                        group_fn run, gantry_scope_t *outer) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    gantry_scope_t *scope = gantry__train_begin_on(outer, gantry_logical_device_name(home->device));
    if (!scope) return;
    run(optimizer, group, scope);
    (void)gantry__train_hand_on(outer, gantry_scope_end(scope));
}

static gantry_status_t run_groups(const gantry_optimizer_t *optimizer, group_fn run,
                                  gantry_scope_t *scope) {
    gantry_scope_t *outer = gantry_scope_begin_unobserved(scope);
    if (!outer) return gantry__train_no_inner(scope);
    for (size_t i = 0; i < optimizer->group_count; ++i)
        run_in_home(optimizer, &optimizer->groups[i], run, outer);
    return gantry__train_hand_on(scope, gantry_scope_end(outer));
}

gantry_status_t gantry__optimizer_swap_averages(gantry_optimizer_t *optimizer,
                                                gantry_scope_t *scope) {
    return run_groups(optimizer, swap_group, scope);
}

gantry_status_t gantry_optimizer_finalize_variable_values(gantry_optimizer_t *optimizer,
                                                          gantry_scope_t *scope) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const char call[] = "gantry_optimizer_finalize_variable_values";
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    GANTRY__TRY(gantry__train_check_lists(optimizer, scope, NULL, 0, call));
    if (!optimizer->settings.use_ema) return GANTRY_OK;
    if (!optimizer->runtime) {
        (void)snprintf(text, sizeof text,
                       "%s: optimizer %s is not built; gantry_optimizer_build builds it", call,
                       optimizer->rule->name);
        return gantry_scope_fail(scope, GANTRY_FAILED_PRECONDITION, text);
    }
    return run_groups(optimizer, finalize_group, scope);
}
