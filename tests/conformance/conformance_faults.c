/* SPDX-License-Identifier: Apache-2.0 */
/* Bad data found while a kernel runs: it surfaces at the read of what depends on it, and nowhere else. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

/* [6, 5] / [3, 0] on the device; NULL when the call itself already failed, as it may on a synchronous device. */
static const gantry_tensor_t *divide_by_zero(gantry_scope_t *scope)
{
    const int32_t x[] = {6, 5}, y[] = {3, 0};
    return gantry_div(scope, gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), x, sizeof x),
                      gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), y, sizeof y));
}

static void check_poisoned(conformance_t *c, const char *what, const gantry_tensor_t *tensor, const char *part)
{
    golden_tensor_t got;
    if (!tensor) {
        conformance_fail(c, "%s: no tensor, though the op before it succeeded", what);
        return;
    }
    gantry_status_t status = conformance_read(tensor, &got);
    conformance_free_outputs(&got, 1);
    conformance_check_status(c, what, status, GANTRY_INVALID_ARGUMENT, gantry_last_message(), part);
}

static void dependants_of_a_fault_fail_too(conformance_t *c)
{
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *bad = divide_by_zero(scope);
    if (!bad) {
        conformance_check_status(c, "the call", gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                                 gantry_scope_message(scope), "division by zero");
    } else {
        const gantry_tensor_t *sum = gantry_add(scope, bad, bad), *alias = gantry_identity(scope, sum);
        const gantry_tensor_t *cast = gantry_cast(scope, alias, GANTRY_FLOAT32);
        check_poisoned(c, "a result of a cast of an alias of a sum", cast, "division by zero");
        check_poisoned(c, "the result itself", bad, "Div");
        check_poisoned(c, "the result once more", bad, "Div");
        gantry_status_t status = gantry_tensor_wait(sum);
        CHECK(c, status == GANTRY_INVALID_ARGUMENT, "waiting for a dependant gave %s", gantry_status_name(status));
    }
    gantry_scope_end(scope);
}

static void others_are_not_touched_by_a_fault(conformance_t *c)
{
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *good = conformance_iota(scope, 3);
    (void)divide_by_zero(scope);
    gantry_scope_clear(scope);
    const gantry_tensor_t *after = gantry_add(scope, good, good);
    conformance_check_floats(c, "an op after the fault", after, (const float[]){0, 2, 4}, 3);
    gantry_scope_end(scope);
    (void)gantry_runtime_synchronize(c->runtime); /* may tell of the fault, once */
    CHECK(c, gantry_runtime_synchronize(c->runtime) == GANTRY_OK, "the fault is told twice: %s", gantry_last_message());
}

/* More faults than any table of slots holds. */
static void dropped_faults_are_forgotten(conformance_t *c)
{
    gantry_scope_t *scope = conformance_scope(c);
    const int32_t bad_index[] = {0, 9};
    const gantry_tensor_t *params = conformance_iota(scope, 4);
    const gantry_tensor_t *indices = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), bad_index, sizeof bad_index);
    for (int i = 0; i < 3000 && c->reasons == 0; i++) {
        const gantry_tensor_t *row = gantry_gather(scope, params, indices, 0);
        gantry_status_t status = gantry_scope_status(scope);
        CHECK(c, row || status == GANTRY_INVALID_ARGUMENT, "gather %d: %s", i, gantry_scope_message(scope));
        gantry_tensor_drop(scope, row);
        gantry_scope_clear(scope);
    }
    conformance_check_floats(c, "a good gather after them",
                             gantry_gather(scope, params, gantry_scalar_i32(scope, 3), 0), (const float[]){3}, 1);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void bad_positions_give_defined_values_only(conformance_t *c)
{
    gantry_scope_t *scope = conformance_scope(c);
    conformance_sentinels_t sentinels;
    const int64_t wild[] = {INT64_MAX, INT64_MIN, -1, 4};
    const gantry_tensor_t *params = conformance_iota(scope, 4);
    const gantry_tensor_t *indices = gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(4), wild, sizeof wild);
    conformance_sentinels_place(c, scope, 16, &sentinels);
    const gantry_tensor_t *row = gantry_gather(scope, params, indices, 0);
    if (row) check_poisoned(c, "gather with wild indices", row, "indices[");
    gantry_scope_clear(scope);
    conformance_sentinels_check(c, scope, &sentinels);
    conformance_end_scope(c, scope, GANTRY_OK);
}

void conformance_run_faults(conformance_t *c)
{
    static const conformance_check_t checks[] = {
        {"dependants_of_a_fault_fail_too", dependants_of_a_fault_fail_too},
        {"others_are_not_touched_by_a_fault", others_are_not_touched_by_a_fault},
        {"dropped_faults_are_forgotten", dropped_faults_are_forgotten},
        {"bad_positions_give_defined_values_only", bad_positions_give_defined_values_only},
    };
    conformance_run_checks(c, "fault", checks, sizeof checks / sizeof checks[0]);
}
