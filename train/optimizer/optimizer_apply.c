/* SPDX-License-Identifier: Apache-2.0 */
/* One step: checks, then all new values on all devices, then all assignments. Ops that fail before
 * the assignments leave every variable as it was. Rows of variables are updated in place, before
 * the assignments. In a trace, where no op runs, each group is
 * assigned at once, so that a call frees the old values early, and the next group's new values can
 * take their memory.
 *
 *     scope           the caller's
 *       outer         no tape sees the update
 *         home        one for each device and type: gradients, numbers, new values
 *           group     intermediate values of one update, which end with it */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/numerics/numerics.h"
#include "train/optimizer/optimizer_state.h"
#include "train/tape/slices.h"

/* The gradients of a call: one of both lists. */
typedef struct given_t {
    const gantry_tensor_t *const *dense;
    const gantry_gradient_t *any;
    const char *call;
} given_t;

/* ---- checks ---- */

static gantry_status_t refuse_gradient(gantry_scope_t *scope, const gantry_variable_t *variable,
                                       const gantry_gradient_t *gradient, const char *call) {
    char wanted[256], got[256];
    const gantry_tensor_t *typed = gradient->dense ? gradient->dense : gradient->values;
    (void)gantry_shape_format(gantry_variable_shape(variable), wanted, sizeof wanted);
    (void)gantry_shape_format(&gradient->shape, got, sizeof got);
    return gantry__train_refuse(
        scope,
        "%s: the gradient of variable %s is %s%s; the variable's type and shape are accepted: %s%s",
        call, gantry_variable_name(variable), gantry_dtype_name(gantry_tensor_dtype(typed)), got,
        gantry_dtype_name(gantry_variable_dtype(variable)), wanted);
}

static gantry_status_t optimizer_apply_check_gradient(gantry_scope_t *scope,
                                                      const gantry_variable_t *variable,
                                                      const gantry_gradient_t *gradient,
                                                      const char *call) {
    const gantry_tensor_t *typed = gradient->dense ? gradient->dense : gradient->values;
    if (gantry__is_sparse(gradient)) {
        char what[GANTRY__TRAIN_MESSAGE_BYTES / 2];
        (void)snprintf(what, sizeof what, "%s: the gradient of variable %s", call,
                       gantry_variable_name(variable));
        GANTRY__TRAIN_TRY(gantry__slices_check(scope, gradient, what));
    }
    if (!typed || (gantry_tensor_dtype(typed) == gantry_variable_dtype(variable) &&
                   gantry_shape_equal(&gradient->shape, gantry_variable_shape(variable))))
        return GANTRY_OK;
    return refuse_gradient(scope, variable, gradient, call);
}

static gantry_gradient_t gradient_at(const given_t *given, size_t i) {
    gantry_gradient_t gradient = {.dense = NULL};
    if (given->any)
        gradient = given->any[i];
    else
        gradient.dense = given->dense[i];
    if (gradient.dense) gradient.shape = *gantry_tensor_shape(gradient.dense);
    return gradient;
}

static gantry_status_t give_gradient(const gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                     const gantry_variable_t *variable,
                                     const gantry_gradient_t *gradient, const char *call) {
    gantry__train_member_t *member =
        variable ? gantry__train_find_member(optimizer, variable) : NULL;
    if (!member)
        return gantry__train_refuse(
            scope,
            "%s: Unknown variable: %s. Optimizer %s can only be called for the variables it was originally built with",
            call, variable ? gantry_variable_name(variable) : "NULL", optimizer->rule->name);
    if (member->is_given)
        return gantry__train_refuse(scope, "%s: variable %s is given twice; each is accepted once",
                                    call, gantry_variable_name(variable));
    GANTRY__TRAIN_TRY(optimizer_apply_check_gradient(scope, variable, gradient, call));
    member->is_given = true;
    member->gradient = gradient->dense;
    member->values = gradient->values;
    member->indices = gradient->indices;
    return GANTRY_OK;
}

/* Each device counts the steps of its own variables: a strategy makes a call for each replica. */
static void use_homes(gantry_optimizer_t *optimizer) {
    for (size_t i = 0; i < optimizer->home_count; ++i) optimizer->homes[i].is_used = false;
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        const gantry__train_group_t *group = &optimizer->groups[i];
        for (uint32_t k = 0; k < group->member_count; ++k) {
            if (optimizer->members[group->first_member + k].is_given)
                optimizer->homes[group->home].is_used = true;
        }
    }
}

static gantry_status_t give_gradients(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                      gantry_variable_t *const *variables, const given_t *given,
                                      size_t count) {
    bool has_gradient = false;
    for (size_t i = 0; i < optimizer->member_count; ++i) {
        gantry__train_member_t *member = &optimizer->members[i];
        member->gradient = member->values = member->indices = NULL;
        member->is_given = false;
    }
    for (size_t i = 0; i < count; ++i) {
        const gantry_gradient_t gradient = gradient_at(given, i);
        GANTRY__TRAIN_TRY(give_gradient(optimizer, scope, variables[i], &gradient, given->call));
        has_gradient |= gradient.dense || gradient.values;
    }
    use_homes(optimizer);
    if (has_gradient) return GANTRY_OK;
    return gantry__train_refuse(scope, "%s: No gradients provided for any variable.", given->call);
}

/* In the scope of a trace, the optimizer's variables cannot be made. */
static gantry_status_t build_first(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                   gantry_variable_t *const *variables, size_t count,
                                   const char *call) {
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
    gantry_status_t status = gantry_optimizer_build(optimizer, scope, variables, count);
    if (status != GANTRY_FAILED_PRECONDITION) return status;
    (void)snprintf(
        text, sizeof text,
        "%s: optimizer %s is not built; gantry_optimizer_build before the trace builds it (%.512s)",
        call, optimizer->rule->name, gantry_scope_message(scope));
    gantry_scope_clear(scope);
    return gantry_scope_fail(scope, status, text);
}

/* ---- scopes ---- */

static gantry_status_t begin_homes(gantry_optimizer_t *optimizer, gantry_scope_t *outer) {
    for (size_t i = 0; i < optimizer->home_count; ++i) {
        gantry__train_home_t *home = &optimizer->homes[i];
        if (!home->is_used) continue;
        home->update = (gantry__update_t){
            .scope = gantry_scope_begin_in(outer, gantry_logical_device_name(home->device)),
            .settings = &optimizer->settings,
            .dtype = home->dtype,
            .scalar_dtype = gantry__train_scalar_dtype(home->dtype)};
        if (!home->update.scope) return gantry__train_no_inner(outer);
    }
    return GANTRY_OK;
}

/* Gives the first error to the scope that owns the homes'. */
static void end_homes(gantry_optimizer_t *optimizer, gantry_scope_t *outer) {
    for (size_t i = 0; i < optimizer->home_count; ++i) {
        gantry_scope_t *scope = optimizer->homes[i].update.scope;
        optimizer->homes[i].update = (gantry__update_t){.scope = NULL};
        if (scope) (void)gantry__train_hand_on(outer, gantry_scope_end(scope));
    }
}

static bool optimizer_apply_has_failed(const gantry_optimizer_t *optimizer) {
    for (size_t i = 0; i < optimizer->home_count; ++i) {
        const gantry__train_home_t *home = &optimizer->homes[i];
        if (home->is_used && gantry_scope_status(home->update.scope) != GANTRY_OK) return true;
    }
    return false;
}

/* ---- new values ---- */

static void begin_step(const gantry_optimizer_t *optimizer, gantry__train_home_t *home) {
    gantry__update_t *update = &home->update;
    gantry_scope_t *scope = update->scope;
    const gantry__train_settings_t *settings = &optimizer->settings;
    const gantry_tensor_t *iteration = gantry_variable_read(scope, home->iteration);
    home->new_iteration = gantry_add(scope, iteration, gantry_scalar_i64(scope, 1));
    gantry__train_begin_average(optimizer, home, iteration);
    update->rate = home->rate ? gantry_variable_read(scope, home->rate)
                              : gantry_schedule_rate(scope, optimizer->schedule, iteration,
                                                     update->scalar_dtype);
    if (home->carried) update->carried = gantry_variable_read(scope, home->carried);
    optimizer->rule->begin(update);
    if (home->carried && home->is_update)
        update->new_carried =
            gantry_select(scope, home->is_update, update->new_carried, update->carried);
    home->decay = home->clip[0] = home->clip[1] = home->scale = NULL;
    if (settings->weight_decay > 0)
        home->decay = gantry__train_narrow(
            update,
            gantry_mul(scope, update->rate, gantry__train_scalar(update, settings->weight_decay)));
    if (settings->clipvalue > 0) {
        home->clip[0] = gantry__train_number(scope, home->dtype, -settings->clipvalue);
        home->clip[1] = gantry__train_number(scope, home->dtype, settings->clipvalue);
    }
}

static const gantry_tensor_t *optimizer_apply_weights_of(gantry_scope_t *scope,
                                                         const gantry_optimizer_t *optimizer,
                                                         gantry__train_member_t *member) {
    (void)optimizer;
    return gantry_variable_read(scope, member->variable);
}

const gantry_tensor_t *gantry__train_read_weights(gantry_scope_t *scope,
                                                  const gantry_optimizer_t *optimizer,
                                                  const gantry__train_group_t *group) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    return gantry__train_is_joined(group)
               ? gantry__train_join(scope, optimizer, group, home->dtype,
                                    optimizer_apply_weights_of)
               : optimizer_apply_weights_of(scope, optimizer,
                                            &optimizer->members[group->first_member]);
}

/* Slots of variables without a gradient stay as they are. */
static void keep_slots(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                       const gantry__train_group_t *group, const gantry__train_now_t *now,
                       gantry__train_new_t *made) {
    if (!gantry__train_misses_gradients(optimizer, group)) return;
    const gantry_tensor_t *mask =
        gantry__train_join(scope, optimizer, group, GANTRY_BOOL, gantry__train_mask_of);
    for (size_t i = 0; i < optimizer->rule_slot_count; ++i)
        made->slots[i] = gantry_select(scope, mask, made->slots[i], now->slots[i]);
    if (optimizer->settings.use_ema)
        made->weights = gantry_select(scope, mask, made->weights, now->weights);
}

static void set_members(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                        const gantry__train_group_t *group, const gantry_tensor_t *weights) {
    for (uint32_t i = 0; i < group->member_count; ++i) {
        gantry__train_member_t *member = &optimizer->members[group->first_member + i];
        if (gantry__train_is_changed(optimizer, member))
            member->value =
                gantry_scope_keep(scope, gantry__train_part_of(scope, group, member, weights));
    }
}

/* The rule's update of a group with gradients. `now` gets what the rule reads in addition to
 * slots. */
static void run_rule(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                     const gantry__train_group_t *group, const gantry__train_now_t *now,
                     gantry__train_new_t *made) {
    const gantry__train_home_t *home = &optimizer->homes[group->home];
    gantry__train_now_t read = *now;
    if (group->is_sparse) {
        gantry__train_make_dense(scope, optimizer, group, &read);
    } else {
        read.gradient = gantry__train_clip(scope, home, group->gradient);
        if (optimizer->rule->size_of) read.sizes = optimizer->rule->size_of(scope, read.gradient);
    }
    if (home->decay)
        read.weights =
            gantry_sub(scope, read.weights, gantry_mul(scope, read.weights, home->decay));
    made->weights = optimizer->rule->update(scope, &home->update, &read, made->slots);
    if (gantry_scope_status(scope) == GANTRY_OK) keep_slots(scope, optimizer, group, now, made);
}

static void compute_group(gantry_scope_t *scope, const gantry_optimizer_t *optimizer,
                          gantry__train_group_t *group) {
    const gantry_tensor_t *slots[GANTRY__TRAIN_ALL_SLOTS];
    gantry__train_new_t made;
    for (size_t i = 0; i < optimizer->slot_count; ++i)
        made.slots[i] = slots[i] = gantry_variable_read(scope, group->slots[i]);
    const gantry__train_now_t now = {
        .slots = slots, .weights = gantry__train_read_weights(scope, optimizer, group)};
    made.weights = now.weights;
    if (group->has_gradient) run_rule(scope, optimizer, group, &now, &made);
    if (gantry_scope_status(scope) != GANTRY_OK) return;
    gantry__train_average(scope, optimizer, group, &now, &made);
    for (size_t i = 0; i < optimizer->slot_count; ++i)
        group->new_slots[i] = gantry_scope_keep(scope, made.slots[i]);
    set_members(scope, optimizer, group, made.weights);
}

/* "the update of dense/kernel and 3 more variables" */
static void begin_check(gantry_optimizer_t *optimizer, const gantry__train_group_t *group,
                        gantry_scope_t *scope) {
    const gantry_variable_t *first = optimizer->members[group->first_member].variable;
    char more[48] = "";
    if (!optimizer->checks_numerics) return;
    optimizer->numerics = gantry_check_numerics_begin(scope);
    if (group->member_count > 1)
        (void)snprintf(more, sizeof more, " and %u more variables", group->member_count - 1);
    (void)snprintf(optimizer->part, sizeof optimizer->part, "the update of %.128s%s",
                   gantry_variable_name(first), more);
    gantry__numerics_enter(optimizer->numerics, optimizer->part);
}

static void end_check(gantry_optimizer_t *optimizer) {
    gantry_check_numerics_end(optimizer->numerics);
    optimizer->numerics = NULL;
}

static void update_group(gantry_optimizer_t *optimizer, gantry__train_group_t *group) {
    gantry_scope_t *outer = optimizer->homes[group->home].update.scope;
    gantry_scope_t *scope = gantry__train_begin_on(outer, NULL);
    if (!scope) return;
    begin_check(optimizer, group, scope);
    compute_group(scope, optimizer, group);
    end_check(optimizer);
    (void)gantry__train_hand_on(outer, gantry_scope_end(scope));
}

/* ---- assignments ---- */

static void assign_group(const gantry_optimizer_t *optimizer, const gantry__train_group_t *group) {
    gantry_scope_t *scope = optimizer->homes[group->home].update.scope;
    for (size_t i = 0; i < optimizer->slot_count; ++i)
        (void)gantry_variable_assign(scope, group->slots[i], group->new_slots[i]);
    for (uint32_t i = 0; i < group->member_count; ++i) {
        gantry__train_member_t *member = &optimizer->members[group->first_member + i];
        if (gantry__train_is_changed(optimizer, member))
            (void)gantry_variable_assign(scope, member->variable, member->value);
    }
}

/* Assigns the groups. Updates of rows must come first, because they may fail. */
static void assign_groups(const gantry_optimizer_t *optimizer) {
    for (size_t i = 0; i < optimizer->group_count && !optimizer_apply_has_failed(optimizer); ++i) {
        if (gantry__train_updates_rows(optimizer, &optimizer->groups[i]))
            gantry__train_update_rows(optimizer, &optimizer->groups[i]);
    }
    for (size_t i = 0; i < optimizer->group_count && !optimizer_apply_has_failed(optimizer); ++i) {
        const gantry__train_group_t *group = &optimizer->groups[i];
        if (group->is_updated && !gantry__train_updates_rows(optimizer, group))
            assign_group(optimizer, group);
    }
}

static void assign_scalars(const gantry_optimizer_t *optimizer) {
    for (size_t i = 0; i < optimizer->home_count; ++i) {
        const gantry__train_home_t *home = &optimizer->homes[i];
        if (!home->is_used) continue;
        (void)gantry_variable_assign(home->update.scope, home->iteration, home->new_iteration);
        if (home->carried)
            (void)gantry_variable_assign(home->update.scope, home->carried,
                                         home->update.new_carried);
    }
}

static void update_groups(gantry_optimizer_t *optimizer, bool assigns) {
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        gantry__train_group_t *group = &optimizer->groups[i];
        if (!group->is_updated) continue;
        if (gantry__train_updates_rows(optimizer, group)) {
            if (assigns) gantry__train_update_rows(optimizer, group);
            continue;
        }
        update_group(optimizer, group);
        if (optimizer_apply_has_failed(optimizer)) return;
        if (assigns) assign_group(optimizer, group);
    }
}

static void optimizer_apply_run_step(gantry_optimizer_t *optimizer, gantry_scope_t *outer) {
    if (begin_homes(optimizer, outer) == GANTRY_OK) {
        for (size_t i = 0; i < optimizer->home_count; ++i) {
            if (optimizer->homes[i].is_used) begin_step(optimizer, &optimizer->homes[i]);
        }
        gantry__train_gather_gradients(optimizer);
        if (!optimizer_apply_has_failed(optimizer)) {
            /* only tensors of a trace have no device */
            const bool is_traced =
                !gantry_tensor_device(gantry__train_first_home(optimizer)->new_iteration);
            update_groups(optimizer, is_traced);
            if (!optimizer_apply_has_failed(optimizer) && !is_traced) assign_groups(optimizer);
            if (!optimizer_apply_has_failed(optimizer)) assign_scalars(optimizer);
        }
    }
    end_homes(optimizer, outer);
}

static gantry_status_t apply(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                             gantry_variable_t *const *variables, const given_t *given,
                             size_t count) {
    const void *gradients = given->any ? (const void *)given->any : (const void *)given->dense;
    GANTRY__TRAIN_TRY(gantry__train_check_lists(optimizer, scope, variables, count, given->call));
    GANTRY__TRAIN_TRY(gantry__train_check_lists(optimizer, scope, gradients, count, given->call));
    if (count == 0) return GANTRY_OK;
    if (!optimizer->runtime)
        GANTRY__TRAIN_TRY(build_first(optimizer, scope, variables, count, given->call));
    GANTRY__TRAIN_TRY(give_gradients(optimizer, scope, variables, given, count));
    gantry_scope_t *outer = gantry_scope_begin_unobserved(scope);
    if (!outer) return gantry__train_no_inner(scope);
    optimizer_apply_run_step(optimizer, outer);
    return gantry__train_hand_on(scope, gantry_scope_end(outer));
}

gantry_status_t gantry_optimizer_apply(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                       gantry_variable_t *const *variables,
                                       const gantry_tensor_t *const *gradients, size_t count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const given_t given = {.dense = gradients, .call = "gantry_optimizer_apply"};
    return apply(optimizer, scope, variables, &given, count);
}

gantry_status_t gantry_optimizer_apply_slices(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                              gantry_variable_t *const *variables,
                                              const gantry_gradient_t *gradients, size_t count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const given_t given = {.any = gradients, .call = "gantry_optimizer_apply_slices"};
    return apply(optimizer, scope, variables, &given, count);
}
