/* SPDX-License-Identifier: Apache-2.0 */
/* Variables with a copy on each replica. */
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/strategy/strategy_state.h"

typedef const gantry_tensor_t tensor;

struct gantry_mirrored_variable_t {
    const gantry_strategy_t *strategy;
    gantry_aggregation_t aggregation;
    gantry_variable_t **copies;
};

/* ---- create ---- */

static gantry_status_t check_new(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                                 tensor *initial, gantry_aggregation_t aggregation) {
    if (!strategy || !scope || !initial)
        return gantry__train_fail_null(scope, "gantry_mirrored_variable",
                                       !scope      ? "scope"
                                       : !strategy ? "strategy"
                                                   : "initial value",
                                       "one");
    if ((int)aggregation < GANTRY_AGGREGATION_NONE ||
        aggregation > GANTRY_AGGREGATION_ONLY_FIRST_REPLICA)
        return gantry__train_refuse(
            scope,
            "gantry_mirrored_variable: aggregation is %d; one of gantry_aggregation_t is accepted",
            (int)aggregation);
    if (aggregation == GANTRY_AGGREGATION_MEAN &&
        !gantry__train_is_float(gantry_tensor_dtype(initial)))
        return gantry__train_refuse(
            scope,
            "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is not supported, please use a different aggregation or dtype");
    return gantry_scope_status(scope);
}

/* Replica 0 gets the first value, the others copy it. */
static gantry_status_t make_copy(gantry_mirrored_variable_t *variable, gantry_scope_t *scope,
                                 size_t replica, tensor *initial, const char *name) {
    char text[256];
    gantry_scope_t *own = gantry_scope_begin_in(scope, variable->strategy->devices[replica]);
    if (!own) return gantry__train_no_inner(scope);
    if (name && replica > 0) {
        (void)snprintf(text, sizeof text, "%.200s/replica_%zu", name, replica);
        name = text;
    }
    variable->copies[replica] = gantry_variable_create(own, initial, name);
    return gantry__train_hand_on(scope, gantry_scope_end(own));
}

gantry_mirrored_variable_t *gantry_mirrored_variable(const gantry_strategy_t *strategy,
                                                     gantry_scope_t *scope, tensor *initial,
                                                     const char *name,
                                                     gantry_aggregation_t aggregation) {
    if (check_new(strategy, scope, initial, aggregation) != GANTRY_OK) return NULL;
    gantry_mirrored_variable_t *variable = gantry__alloc(1, sizeof *variable);
    gantry_status_t status = variable ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (variable) {
        variable->strategy = strategy;
        variable->aggregation = aggregation;
        variable->copies = gantry__alloc(strategy->count, sizeof *variable->copies);
        if (!variable->copies) status = GANTRY_RESOURCE_EXHAUSTED;
    }
    status = gantry__train_hand_on(scope, status);
    for (size_t r = 0; r < strategy->count && status == GANTRY_OK; ++r)
        status = make_copy(variable, scope, r, initial, name);
    if (status == GANTRY_OK) return variable;
    gantry_mirrored_variable_release(variable);
    return NULL;
}

void gantry_mirrored_variable_release(gantry_mirrored_variable_t *variable) {
    if (!variable) return;
    for (size_t r = 0; variable->copies && r < variable->strategy->count; ++r)
        gantry_variable_release(variable->copies[r]);
    gantry__free((void *)variable->copies);
    gantry__free(variable);
}

gantry_variable_t *gantry_mirrored_variable_copy(const gantry_mirrored_variable_t *variable,
                                                 size_t replica) {
    return variable && replica < variable->strategy->count ? variable->copies[replica] : NULL;
}

/* ---- assign ---- */

static gantry_status_t aggregate(const gantry_mirrored_variable_t *variable, gantry_scope_t *scope,
                                 tensor *const *values, tensor **out) {
    const gantry_strategy_t *strategy = variable->strategy;
    if (variable->aggregation == GANTRY_AGGREGATION_NONE)
        return gantry__train_refuse(
            scope,
            "You must specify an aggregation method to update a MirroredVariable in Replica Context. Variable %s has none",
            gantry_variable_name(variable->copies[0]));
    if (variable->aggregation != GANTRY_AGGREGATION_ONLY_FIRST_REPLICA)
        return gantry_strategy_reduce(strategy, scope,
                                      variable->aggregation == GANTRY_AGGREGATION_MEAN
                                          ? GANTRY_REDUCE_MEAN
                                          : GANTRY_REDUCE_SUM,
                                      values, out);
    if (!values || !values[0])
        return gantry__train_refuse(
            scope, "gantry_mirrored_variable_assign: the value of replica 0 is NULL");
    for (size_t r = 0; r < strategy->count; ++r) out[r] = values[0];
    return GANTRY_OK;
}

static void assign_all(const gantry_mirrored_variable_t *variable, gantry_scope_t *scope,
                       tensor *const *values) {
    const size_t count = variable->strategy->count;
    tensor **results = gantry__alloc(count, sizeof *results);
    if (!results) {
        (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    if (aggregate(variable, scope, values, results) == GANTRY_OK) {
        for (size_t r = 0; r < count; ++r)
            (void)gantry_variable_assign(scope, variable->copies[r], results[r]);
    }
    gantry__free((void *)results);
}

gantry_status_t gantry_mirrored_variable_assign(gantry_mirrored_variable_t *variable,
                                                gantry_scope_t *scope, tensor *const *values) {
    if (!variable)
        return gantry__train_fail_null(scope, "gantry_mirrored_variable_assign", "variable", "one");
    gantry_scope_t *inner = gantry__train_begin(scope, "gantry_mirrored_variable_assign");
    if (!inner) return scope ? gantry_scope_status(scope) : GANTRY_INVALID_ARGUMENT;
    assign_all(variable, inner, values);
    (void)gantry__train_end(scope, inner, NULL);
    return gantry_scope_status(scope);
}
