/* SPDX-License-Identifier: Apache-2.0 */
/* Builds an optimizer: sorts the program's variables into homes and groups, and makes its own
 * variables. What a failure leaves is released. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/optimizer/optimizer_state.h"

void gantry__train_unbuild(gantry_optimizer_t *optimizer) {
    for (size_t i = 0; i < optimizer->home_count; ++i) {
        gantry_variable_release(optimizer->homes[i].iteration);
        gantry_variable_release(optimizer->homes[i].rate);
        gantry_variable_release(optimizer->homes[i].carried);
    }
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        for (size_t k = 0; k < optimizer->slot_count; ++k)
            gantry_variable_release(optimizer->groups[i].slots[k]);
    }
    gantry__free(optimizer->homes);
    gantry__free(optimizer->groups);
    gantry__free(optimizer->members);
    optimizer->homes = NULL;
    optimizer->groups = NULL;
    optimizer->members = NULL;
    optimizer->home_count = optimizer->group_count = optimizer->member_count = 0;
    optimizer->runtime = NULL;
}

/* ---- checks ---- */

static gantry_status_t optimizer_build_check_variable(gantry_scope_t *scope,
                                                      gantry_variable_t *const *variables,
                                                      size_t index) {
    const gantry_variable_t *variable = variables[index];
    if (!variable)
        return gantry__train_refuse(
            scope, "gantry_optimizer_build: variable %zu is NULL; a variable is accepted%s", index,
            gantry__train_before().text);
    if (!gantry__train_is_float(gantry_variable_dtype(variable)))
        return gantry__train_refuse(
            scope, "gantry_optimizer_build: variable %s is of type %s; floating types are accepted",
            gantry_variable_name(variable), gantry_dtype_name(gantry_variable_dtype(variable)));
    for (size_t i = 0; i < index; ++i) {
        if (variables[i] == variable)
            return gantry__train_refuse(
                scope,
                "gantry_optimizer_build: variable %s is given twice, as %zu and %zu; each is accepted once",
                gantry_variable_name(variable), i, index);
    }
    return GANTRY_OK;
}

static gantry_status_t check_known(const gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                   const gantry_variable_t *variable) {
    if (gantry__train_find_member(optimizer, variable)) return GANTRY_OK;
    return gantry__train_refuse(
        scope,
        "gantry_optimizer_build: Unknown variable: %s. Optimizer %s can only be called for the variables it was originally built with",
        gantry_variable_name(variable), optimizer->rule->name);
}

/* ---- homes and groups ---- */

static uint32_t find_home(gantry_optimizer_t *optimizer, const gantry_variable_t *variable) {
    const gantry_logical_device_t *device = gantry_variable_device(variable);
    const gantry_dtype_t dtype = gantry_variable_dtype(variable);
    size_t i = 0;
    while (i < optimizer->home_count &&
           (optimizer->homes[i].device != device || optimizer->homes[i].dtype != dtype))
        ++i;
    if (i == optimizer->home_count)
        optimizer->homes[optimizer->home_count++] =
            (gantry__train_home_t){.device = device, .dtype = dtype};
    return (uint32_t)i;
}

static gantry__train_group_t *add_group(gantry_optimizer_t *optimizer, uint32_t home) {
    gantry__train_group_t *group = &optimizer->groups[optimizer->group_count++];
    *group =
        (gantry__train_group_t){.home = home, .first_member = (uint32_t)optimizer->member_count};
    return group;
}

static int64_t round_up_place(int64_t elements, gantry_dtype_t dtype) {
    const int64_t unit = GANTRY__TRAIN_PLACE_BYTES / (int64_t)gantry_dtype_size(dtype);
    return (elements + unit - 1) / unit * unit;
}

static void optimizer_build_add_member(gantry_optimizer_t *optimizer, gantry__train_group_t *group,
                                       gantry_variable_t *variable) {
    gantry__train_member_t *member = &optimizer->members[optimizer->member_count++];
    const int64_t elements = gantry_shape_elements(gantry_variable_shape(variable));
    if (group->member_count > 0) {
        gantry__train_member_t *before = member - 1;
        before->room = round_up_place(before->elements, gantry_variable_dtype(variable));
        group->elements = before->first + before->room;
    }
    *member = (gantry__train_member_t){
        .variable = variable, .elements = elements, .first = group->elements, .room = elements};
    group->elements += elements;
    ++group->member_count;
}

static bool optimizer_build_is_small(const gantry_variable_t *variable) {
    return gantry_shape_elements(gantry_variable_shape(variable)) <= GANTRY__TRAIN_MOST_JOINED;
}

/* Sorts small variables first, so that the members of a group follow each other. */
static void sort_home(gantry_optimizer_t *optimizer, gantry_variable_t *const *variables,
                      size_t count, uint32_t home) {
    gantry__train_group_t *joined = NULL;
    for (size_t i = 0; i < count; ++i) {
        if (find_home(optimizer, variables[i]) != home || !optimizer_build_is_small(variables[i]))
            continue;
        if (!joined || joined->member_count == GANTRY__TRAIN_MOST_MEMBERS)
            joined = add_group(optimizer, home);
        optimizer_build_add_member(optimizer, joined, variables[i]);
    }
    for (size_t i = 0; i < count; ++i) {
        if (find_home(optimizer, variables[i]) == home && !optimizer_build_is_small(variables[i]))
            optimizer_build_add_member(optimizer, add_group(optimizer, home), variables[i]);
    }
}

static gantry_status_t optimizer_build_sort_variables(gantry_optimizer_t *optimizer,
                                                      gantry_variable_t *const *variables,
                                                      size_t count) {
    optimizer->homes = gantry__alloc(count, sizeof *optimizer->homes);
    optimizer->groups = gantry__alloc(count, sizeof *optimizer->groups);
    optimizer->members = gantry__alloc(count, sizeof *optimizer->members);
    if (!optimizer->homes || !optimizer->groups || !optimizer->members)
        return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) (void)find_home(optimizer, variables[i]);
    for (uint32_t i = 0; i < optimizer->home_count; ++i) sort_home(optimizer, variables, count, i);
    return GANTRY_OK;
}

/* ---- its variables ---- */

static gantry_variable_t *make_variable(const gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                        const gantry_tensor_t *initial, const char *what) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s/%s", optimizer->rule->name, what);
    return gantry_variable_create(scope, initial, name);
}

static void make_scalars(const gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                         gantry__train_home_t *home) {
    const gantry_dtype_t dtype = gantry__train_scalar_dtype(home->dtype);
    home->iteration = make_variable(optimizer, scope, gantry_scalar_i64(scope, 0), "iteration");
    if (!optimizer->schedule)
        home->rate = make_variable(
            optimizer, scope, gantry__train_number(scope, dtype, optimizer->settings.learning_rate),
            "learning_rate");
    if (optimizer->rule->carried)
        home->carried = make_variable(optimizer, scope, gantry__train_number(scope, dtype, 1),
                                      optimizer->rule->carried);
}

static void optimizer_build_make_slots(const gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                       gantry__train_group_t *group) {
    const gantry__train_member_t *first = &optimizer->members[group->first_member];
    const gantry_shape_t shape = gantry__train_is_joined(group)
                                     ? GANTRY_SHAPE(group->elements)
                                     : *gantry_variable_shape(first->variable);
    const gantry_dtype_t dtype = optimizer->homes[group->home].dtype;
    for (size_t i = 0; i < optimizer->slot_count; ++i) {
        const gantry_tensor_t *initial = gantry_fill(
            scope, shape, gantry__train_number(scope, dtype, optimizer->slots[i].initial));
        group->slots[i] = make_variable(optimizer, scope, initial, optimizer->slots[i].name);
    }
}

static gantry_status_t make_home(gantry_optimizer_t *optimizer, gantry_scope_t *outer,
                                 uint32_t index) {
    gantry__train_home_t *home = &optimizer->homes[index];
    gantry_scope_t *scope = gantry_scope_begin_in(outer, gantry_logical_device_name(home->device));
    if (!scope) return gantry__train_no_inner(outer);
    make_scalars(optimizer, scope, home);
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        if (optimizer->groups[i].home == index)
            optimizer_build_make_slots(optimizer, scope, &optimizer->groups[i]);
    }
    return gantry__train_hand_on(outer, gantry_scope_end(scope));
}

static gantry_status_t make_all(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                gantry_variable_t *const *variables, size_t count) {
    gantry_status_t status = optimizer_build_sort_variables(optimizer, variables, count);
    if (status != GANTRY_OK) return gantry__train_hand_on(scope, status);
    gantry_scope_t *outer = gantry_scope_begin_unobserved(scope);
    if (!outer) return gantry__train_no_inner(scope);
    for (uint32_t i = 0; i < optimizer->home_count && status == GANTRY_OK; ++i)
        status = make_home(optimizer, outer, i);
    return gantry__train_hand_on(scope, gantry_scope_end(outer));
}

gantry_status_t gantry_optimizer_build(gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                       gantry_variable_t *const *variables, size_t count) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    GANTRY__TRY(
        gantry__train_check_lists(optimizer, scope, variables, count, "gantry_optimizer_build"));
    if (count == 0)
        return gantry__train_refuse(
            scope, "gantry_optimizer_build: count is 0; one variable or more are accepted");
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(optimizer_build_check_variable(scope, variables, i));
    if (optimizer->runtime) {
        for (size_t i = 0; i < count; ++i) GANTRY__TRY(check_known(optimizer, scope, variables[i]));
        return GANTRY_OK;
    }
    gantry_status_t status = make_all(optimizer, scope, variables, count);
    if (status == GANTRY_OK) {
        optimizer->runtime = gantry_scope_runtime(scope);
    } else {
        gantry__train_unbuild(optimizer);
    }
    return status;
}
