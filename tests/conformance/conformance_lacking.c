/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a device without float64: float64 ops run on the CPU and report the reason, and ops that
 * only move bits stay on the device. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

static const double some[] = {1.5, -2.0, 1e300, 0.1};

static const gantry_tensor_t *make_some(gantry_scope_t *scope) {
    return gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(2, 2), some, sizeof some);
}

static void check_doubles(conformance_t *c, const gantry_tensor_t *tensor, const double *values,
                          size_t count) {
    golden_tensor_t got;
    gantry_status_t status = conformance_read(tensor, &got);
    if (status != GANTRY_OK)
        conformance_fail(c, "the result cannot be read: %s", conformance_last_error(status));
    else
        CHECK(c,
              got.dtype == GANTRY_FLOAT64 && got.bytes == count * sizeof *values &&
                  memcmp(got.data, values, got.bytes) == 0,
              "the result is another");
    conformance_free_outputs(&got, 1);
}

static void check_ran(conformance_t *c, const char *op, bool here) {
    const gantry_placement_record_t *record = &c->record;
    const char *asked = gantry_logical_device_full_name(c->device);
    CHECK(c, strcmp(record->op, op) == 0, "the newest placement is of \"%s\"", record->op);
    CHECK(c, (strcmp(record->device, asked) == 0) == here, "%s ran on %s", op, record->device);
    if (here) return;
    CHECK(c,
          record->refusal_count > 0 &&
              record->refusals[0].why == GANTRY_REFUSED_DEVICE_LACKS_TYPE &&
              strcmp(record->refusals[0].device, asked) == 0,
          "the first of %u refusals: %s, %s", record->refusal_count, record->refusals[0].device,
          gantry_refusal_text(record->refusals[0].why));
}

static void arithmetic_runs_elsewhere_and_says_why(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = make_some(scope), *sum = gantry_add(scope, x, x);
    check_ran(c, "Add", false);
    check_doubles(c, sum, (const double[]){3.0, -4.0, 2e300, 0.2}, 4);
    CHECK(c, c->record.reason == GANTRY_PLACED_SOFT_OTHER_TYPE, "the reason is \"%s\"",
          gantry_placement_reason_text(c->record.reason));
    (void)gantry_cast(scope, x, GANTRY_FLOAT32);
    check_ran(c, "Cast", false);
    (void)gantry_cast(scope, conformance_iota(scope, 4), GANTRY_FLOAT64);
    check_ran(c, "Cast", false);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void bits_are_moved_here(conformance_t *c) {
    const int32_t last[] = {1};
    const int64_t margins[] = {1, 0, 0, 0};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = make_some(scope);
    const gantry_tensor_t *row =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1), last, sizeof last);
    const gantry_tensor_t *moved = gantry_gather(scope, x, row, 0);
    check_ran(c, "Gather", true);
    check_doubles(c, moved, (const double[]){1e300, 0.1}, 2);
    moved = gantry_transpose(scope, x, NULL);
    check_ran(c, "Transpose", true);
    check_doubles(c, moved, (const double[]){1.5, 1e300, -2.0, 0.1}, 4);
    moved = gantry_pad(scope, x, margins, NULL);
    check_ran(c, "Pad", true);
    check_doubles(c, moved, (const double[]){0.0, 0.0, 1.5, -2.0, 1e300, 0.1}, 6);
    conformance_end_scope(c, scope, GANTRY_OK);
}

static void without_soft_placement_the_type_is_named(conformance_t *c) {
    char wanted[256];
    snprintf(wanted, sizeof wanted, "Device %s does not compute with float64.",
             gantry_logical_device_full_name(c->device));
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = make_some(scope);
    (void)gantry_set_soft_device_placement(c->runtime, false);
    CHECK(c, !gantry_add(scope, x, x), "float64 is added");
    (void)gantry_set_soft_device_placement(c->runtime, true);
    conformance_check_status(c, "Add", gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                             gantry_scope_message(scope), wanted);
    CHECK(c, c->record.reason == GANTRY_PLACED_REFUSED, "the reason is \"%s\"",
          gantry_placement_reason_text(c->record.reason));
    conformance_end_scope(c, scope, GANTRY_INVALID_ARGUMENT);
}

/* The newest two placements belong to the variable: its place and its first value. */
static void check_handle(conformance_t *c) {
    gantry_placement_record_t records[2] = {{.struct_size = sizeof records[0]}};
    size_t count = 0;
    gantry_status_t status = gantry_get_placements(c->runtime, 2, records, &count);
    CHECK(c, status == GANTRY_OK && count == 2, "%zu records: %s", count,
          conformance_last_error(status));
    if (count < 2) return;
    CHECK(c, strcmp(c->record.device, records[0].device) == 0, "the first value lies on %s",
          c->record.device);
    c->record = records[0];
    check_ran(c, "VarHandleOp", false);
}

static void variable_lives_where_it_can_be_updated(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x = make_some(scope);
    gantry_variable_t *variable = gantry_variable_create(scope, x, NULL);
    if (!variable) {
        conformance_fail(c, "no variable: %s", gantry_scope_message(scope));
    } else {
        check_handle(c);
        gantry_status_t status = gantry_variable_assign_add(scope, variable, x);
        CHECK(c, status == GANTRY_OK, "the update failed: %s", gantry_scope_message(scope));
        check_doubles(c, gantry_variable_read(scope, variable),
                      (const double[]){3.0, -4.0, 2e300, 0.2}, 4);
        gantry_variable_release(variable);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
}

void conformance_run_lacking(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"arithmetic_runs_elsewhere_and_says_why", arithmetic_runs_elsewhere_and_says_why},
        {"bits_are_moved_here", bits_are_moved_here},
        {"without_soft_placement_the_type_is_named", without_soft_placement_the_type_is_named},
        {"variable_lives_where_it_can_be_updated", variable_lives_where_it_can_be_updated},
    };
    if (c->lacks_float64)
        conformance_run_checks(c, "lacking", checks, sizeof checks / sizeof checks[0]);
}
