/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of a program's own: work for each replica, and values of all replicas that become one. */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/strategy/all_reduce.h"
#include "train/strategy/strategy_state.h"

typedef const gantry_tensor_t tensor;

static gantry_status_t check_strategy(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                                      const char *call) {
    if (!scope || !strategy)
        return gantry__train_fail_null(
            scope, call, scope ? "strategy" : "scope",
            scope ? "one from gantry_mirrored_strategy" : "one from gantry_scope_begin");
    return gantry__train_check_scope(scope);
}

/* ---- run ---- */

gantry_status_t gantry_strategy_run(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                                    gantry_replica_fn run, void *user) {
    GANTRY__TRY(check_strategy(strategy, scope, "gantry_strategy_run"));
    if (!run)
        return gantry__train_refuse(
            scope, "gantry_strategy_run: the function is NULL; a function is accepted");
    for (size_t r = 0; r < strategy->count; ++r) {
        gantry_scope_t *own = gantry_scope_begin_in(scope, strategy->devices[r]);
        if (!own) return gantry__train_no_inner(scope);
        if (gantry_scope_lend(own) == GANTRY_OK) {
            run(own, r, user);
            gantry_scope_take_back(own);
        }
        GANTRY__TRY(gantry__train_hand_on(scope, gantry_scope_end(own)));
    }
    return gantry_scope_status(scope);
}

/* ---- reduce ---- */

static gantry_status_t refuse_value(gantry_scope_t *scope, tensor *first, tensor *value,
                                    size_t replica) {
    char got[256], accepted[256];
    (void)gantry_shape_format(gantry_tensor_shape(value), got, sizeof got);
    (void)gantry_shape_format(gantry_tensor_shape(first), accepted, sizeof accepted);
    return gantry__train_refuse(
        scope, "gantry_strategy_reduce: the value of replica %zu is %s%s; replica 0 has %s%s",
        replica, gantry_dtype_name(gantry_tensor_dtype(value)), got,
        gantry_dtype_name(gantry_tensor_dtype(first)), accepted);
}

static gantry_status_t replicas_check_values(const gantry_strategy_t *strategy,
                                             gantry_scope_t *scope, tensor *const *values) {
    for (size_t r = 0; r < strategy->count; ++r) {
        if (!values || !values[r])
            return gantry__train_refuse(scope,
                                        "gantry_strategy_reduce: the value of replica %zu is "
                                        "NULL; a tensor of each of %zu is accepted",
                                        r, strategy->count);
        if (gantry_tensor_dtype(values[r]) != gantry_tensor_dtype(values[0]) ||
            !gantry_shape_equal(gantry_tensor_shape(values[r]), gantry_tensor_shape(values[0])))
            return refuse_value(scope, values[0], values[r], r);
    }
    return GANTRY_OK;
}

static gantry_status_t check_reduce(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                                    gantry_reduce_op_t op, tensor *const *values, tensor **out) {
    GANTRY__TRY(check_strategy(strategy, scope, "gantry_strategy_reduce"));
    if (strategy->communicator.size > 1)
        return gantry__train_hand_on(
            scope,
            gantry__train_fail(
                GANTRY_UNIMPLEMENTED,
                "gantry_strategy_reduce: the strategy has %zu processes; one is accepted (the communicator's all_reduce adds the numbers of all)",
                strategy->communicator.size));
    if (op != GANTRY_REDUCE_SUM && op != GANTRY_REDUCE_MEAN)
        return gantry__train_refuse(
            scope, "`reduce_op` must be Reduce.SUM or Reduce.MEAN. It is %d", (int)op);
    if (!out) return gantry__train_refuse(scope, "destinations can not be empty");
    GANTRY__TRY(replicas_check_values(strategy, scope, values));
    if (op == GANTRY_REDUCE_MEAN && !gantry__train_is_float(gantry_tensor_dtype(values[0])))
        return gantry__train_refuse(
            scope, "gantry_strategy_reduce: a mean of %s; floating types are accepted",
            gantry_dtype_name(gantry_tensor_dtype(values[0])));
    return GANTRY_OK;
}

/* Parts of a vector are cut from its one dimension. */
static tensor *as_vector(const gantry_strategy_t *strategy, gantry_scope_t *scope, size_t replica,
                         tensor *value) {
    gantry_scope_t *own = gantry_scope_begin_in(scope, strategy->devices[replica]);
    if (!own) return NULL;
    return gantry__train_end(
        scope, own, gantry_reshape(own, value, GANTRY_SHAPE(gantry_tensor_elements(value))));
}

static tensor *replicas_finish(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                               size_t replica, gantry_reduce_op_t op, tensor *sum, tensor *like) {
    gantry_scope_t *own = gantry_scope_begin_in(scope, strategy->devices[replica]);
    if (!own) return NULL;
    if (op == GANTRY_REDUCE_MEAN)
        sum = gantry_div(
            own, sum,
            gantry__train_constant(own, gantry_tensor_dtype(like), (double)strategy->count));
    return gantry__train_end(scope, own, gantry_reshape(own, sum, *gantry_tensor_shape(like)));
}

static void reduce_in(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                      gantry_reduce_op_t op, tensor *const *values, tensor **out) {
    const gantry__all_reduce_t call = {.scope = scope,
                                       .devices = strategy->devices,
                                       .value_count = strategy->count,
                                       .sum_count = strategy->count,
                                       .has_nccl = strategy->has_nccl};
    tensor **vectors = gantry__alloc(2 * strategy->count, sizeof *vectors);
    if (!vectors) {
        (void)gantry__train_hand_on(scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    tensor **sums = vectors + strategy->count;
    for (size_t r = 0; r < strategy->count; ++r)
        vectors[r] = as_vector(strategy, scope, r, values[r]);
    gantry__all_reduce(&call, vectors, sums);
    for (size_t r = 0; r < strategy->count && sums[r]; ++r)
        out[r] =
            gantry_scope_keep(scope, replicas_finish(strategy, scope, r, op, sums[r], values[r]));

    gantry__free((void *)vectors);
}

gantry_status_t gantry_strategy_reduce(const gantry_strategy_t *strategy, gantry_scope_t *scope,
                                       gantry_reduce_op_t op, const gantry_tensor_t *const *values,
                                       const gantry_tensor_t **out_values) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    for (size_t r = 0; strategy && out_values && r < strategy->count; ++r) out_values[r] = NULL;
    GANTRY__TRY(check_reduce(strategy, scope, op, values, out_values));
    gantry_scope_t *inner = gantry__train_begin(scope, "gantry_strategy_reduce");
    if (!inner) return gantry_scope_status(scope);
    reduce_in(strategy, inner, op, values, out_values);
    (void)gantry__train_end(scope, inner, NULL);
    for (size_t r = 0; gantry_scope_status(scope) != GANTRY_OK && r < strategy->count; ++r)
        out_values[r] = NULL;
    return gantry_scope_status(scope);
}
