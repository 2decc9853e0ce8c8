/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry_train/optimizer.h>

#include <math.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/optimizer/optimizer_state.h"

void gantry_optimizer_release(gantry_optimizer_t *optimizer) {
    if (!optimizer || optimizer->owner) return;
    gantry__train_unbuild(optimizer);
    gantry_schedule_release(optimizer->schedule);
    gantry__free(optimizer);
}

gantry_status_t gantry__train_check_lists(const gantry_optimizer_t *optimizer,
                                          gantry_scope_t *scope, const void *list, size_t count,
                                          const char *function) {
    GANTRY__TRY(gantry__train_check_scope(scope));
    if (!optimizer) return gantry__train_fail_null(scope, function, "optimizer", "one");
    if (!list && count > 0)
        return gantry__train_refuse(
            scope, "%s: a list is NULL and count is %zu; NULL is accepted if count is 0", function,
            count);
    return GANTRY_OK;
}

gantry__train_member_t *gantry__train_find_member(const gantry_optimizer_t *optimizer,
                                                  const gantry_variable_t *variable) {
    for (size_t i = 0; i < optimizer->member_count; ++i) {
        if (optimizer->members[i].variable == variable) return &optimizer->members[i];
    }
    return NULL;
}

/* ---- the learning rate ---- */

static gantry_status_t fail_place(const char *function, const char *what) {
    return gantry__train_refuse(NULL, "%s: %s is NULL; a place for it is accepted", function, what);
}

static gantry_status_t optimizer_check_rate(const gantry_optimizer_t *optimizer, double rate) {
    const char *function = "gantry_optimizer_set_learning_rate";
    if (!optimizer) return gantry__train_fail_null(NULL, function, "optimizer", "one");
    if (!isfinite(rate) || rate < 0)
        return gantry__train_refuse(
            NULL, "%s: learning_rate is %g; a number of 0 or more is accepted", function, rate);
    if (optimizer->schedule)
        return gantry__train_fail(GANTRY_FAILED_PRECONDITION,
                                  "%s: optimizer %s has a schedule, which gives its learning rates",
                                  function, optimizer->rule->name);
    return GANTRY_OK;
}

static void assign_rate(const gantry__train_home_t *home, gantry_scope_t *outer, double rate) {
    gantry_scope_t *scope = gantry__train_begin_on(outer, gantry_logical_device_name(home->device));
    if (!scope) return;
    (void)gantry_variable_assign(
        scope, home->rate,
        gantry__train_number(scope, gantry__train_scalar_dtype(home->dtype), rate));
    (void)gantry__train_hand_on(outer, gantry_scope_end(scope));
}

gantry_status_t gantry_optimizer_set_learning_rate(gantry_optimizer_t *optimizer,
                                                   double learning_rate) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    GANTRY__TRY(optimizer_check_rate(optimizer, learning_rate));
    if (optimizer->runtime) {
        gantry_scope_t *scope = gantry_scope_begin(optimizer->runtime, NULL);
        if (!scope) return gantry__train_no_scope(optimizer->runtime);
        for (size_t i = 0; i < optimizer->home_count; ++i)
            assign_rate(&optimizer->homes[i], scope, learning_rate);
        GANTRY__TRY(gantry_scope_end(scope));
    }
    optimizer->settings.learning_rate = learning_rate;
    return GANTRY_OK;
}

static gantry_status_t read_scalar(const gantry_tensor_t *tensor, double *out_value) {
    if (gantry_tensor_dtype(tensor) == GANTRY_FLOAT64)
        return gantry_tensor_read(tensor, out_value, sizeof *out_value);
    float value;
    GANTRY__TRY(gantry_tensor_read(tensor, &value, sizeof value));
    *out_value = (double)value;
    return GANTRY_OK;
}

static gantry_status_t read_rate(const gantry_optimizer_t *optimizer, gantry_scope_t *scope,
                                 double *out_rate) {
    const gantry__train_home_t *home = &optimizer->homes[0];
    const gantry_tensor_t *rate =
        home->rate ? gantry_variable_read(scope, home->rate)
                   : gantry_schedule_rate(scope, optimizer->schedule,
                                          gantry_variable_read(scope, home->iteration),
                                          gantry__train_scalar_dtype(home->dtype));
    return rate ? read_scalar(rate, out_rate) : gantry_scope_status(scope);
}

gantry_status_t gantry_optimizer_get_learning_rate(gantry_optimizer_t *optimizer,
                                                   double *out_learning_rate) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    const char *function = "gantry_optimizer_get_learning_rate";
    if (!optimizer) return gantry__train_fail_null(NULL, function, "optimizer", "one");
    if (!out_learning_rate) return fail_place(function, "out_learning_rate");
    if (!optimizer->runtime) {
        if (optimizer->schedule)
            return gantry__train_fail(
                GANTRY_FAILED_PRECONDITION,
                "%s: optimizer %s has a schedule and is not built; gantry_optimizer_build builds it",
                function, optimizer->rule->name);
        *out_learning_rate = optimizer->settings.learning_rate;
        return GANTRY_OK;
    }
    gantry_scope_t *scope = gantry_scope_begin(
        optimizer->runtime, gantry_logical_device_name(optimizer->homes[0].device));
    if (!scope) return gantry__train_no_scope(optimizer->runtime);
    double rate = 0;
    gantry_status_t read = read_rate(optimizer, scope, &rate);
    GANTRY__TRY(gantry_scope_end(scope));
    if (read == GANTRY_OK) *out_learning_rate = rate;
    return read;
}

/* ---- its variables ---- */

typedef struct listing_t {
    gantry_variable_t **out;
    size_t capacity, count;
} listing_t;

static void list(listing_t *listing, gantry_variable_t *variable) {
    if (!variable) return;
    if (listing->count < listing->capacity) listing->out[listing->count] = variable;
    ++listing->count;
}

static void list_home(listing_t *listing, const gantry_optimizer_t *optimizer, size_t home) {
    list(listing, optimizer->homes[home].iteration);
    list(listing, optimizer->homes[home].rate);
    list(listing, optimizer->homes[home].carried);
    for (size_t i = 0; i < optimizer->group_count; ++i) {
        for (size_t k = 0; optimizer->groups[i].home == home && k < optimizer->slot_count; ++k)
            list(listing, optimizer->groups[i].slots[k]);
    }
}

gantry_status_t gantry_optimizer_get_variables(gantry_optimizer_t *optimizer, size_t capacity,
                                               gantry_variable_t **out_variables,
                                               size_t *out_count) {
    const char *function = "gantry_optimizer_get_variables";
    if (!optimizer) return gantry__train_fail_null(NULL, function, "optimizer", "one");
    if (!out_count) return fail_place(function, "out_count");
    if (!out_variables && capacity > 0) return fail_place(function, "out_variables");
    listing_t listing = {.out = out_variables, .capacity = capacity};
    for (size_t i = 0; i < optimizer->home_count; ++i) list_home(&listing, optimizer, i);
    *out_count = listing.count;
    return GANTRY_OK;
}
