/* SPDX-License-Identifier: Apache-2.0 */
/* Checks variables on the device: placement, assignments, and the values of earlier reads. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

static gantry_variable_t *make_floats(conformance_t *c, gantry_scope_t *scope, const char *name) {
    gantry_variable_t *v = gantry_variable_create(scope, conformance_iota(scope, 3), name);
    CHECK(c, v, "no variable: %s", gantry_scope_message(scope));
    return v;
}

static void a_variable_holds_its_initial_value(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    gantry_variable_t *v = make_floats(c, scope, "weights");
    if (v) {
        CHECK(c, gantry_variable_dtype(v) == GANTRY_FLOAT32, "the type is %s",
              gantry_dtype_name(gantry_variable_dtype(v)));
        CHECK(c, gantry_shape_equal(gantry_variable_shape(v), &GANTRY_SHAPE(3)),
              "the shape is wrong");
        CHECK(c, gantry_variable_device(v) == c->device, "it lives on %s",
              gantry_logical_device_full_name(gantry_variable_device(v)));
        CHECK(c, strcmp(gantry_variable_name(v), "weights") == 0, "its name is %s",
              gantry_variable_name(v));
        conformance_check_floats(c, "its value", gantry_variable_read(scope, v),
                                 (const float[]){0, 1, 2}, 3);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(v);
}

static void assignments_change_it(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    gantry_variable_t *v = make_floats(c, scope, NULL);
    const gantry_tensor_t *x = conformance_iota(scope, 3);
    if (v) {
        const gantry_tensor_t *old = gantry_variable_read(scope, v);
        CHECK(c, gantry_variable_assign_add(scope, v, x) == GANTRY_OK, "assign_add: %s",
              gantry_scope_message(scope));
        conformance_check_floats(c, "after assign_add", gantry_variable_read(scope, v),
                                 (const float[]){0, 2, 4}, 3);
        conformance_check_floats(c, "an old reading", old, (const float[]){0, 1, 2}, 3);
        CHECK(c, gantry_variable_assign_sub(scope, v, gantry_ones_like(scope, x)) == GANTRY_OK,
              "assign_sub: %s", gantry_scope_message(scope));
        conformance_check_floats(c, "after assign_sub", gantry_variable_read(scope, v),
                                 (const float[]){-1, 1, 3}, 3);
        CHECK(c, gantry_variable_assign(scope, v, x) == GANTRY_OK, "assign: %s",
              gantry_scope_message(scope));
        conformance_check_floats(c, "after assign", gantry_variable_read(scope, v),
                                 (const float[]){0, 1, 2}, 3);
        CHECK(c, gantry_variable_assign_add(scope, v, x) == GANTRY_OK, "assign_add: %s",
              gantry_scope_message(scope));
        conformance_check_floats(c, "the tensor that was assigned", x, (const float[]){0, 1, 2}, 3);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(v);
}

static void a_variable_outlives_its_scope(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    gantry_variable_t *v = make_floats(c, scope, "kept");
    const gantry_tensor_t *one = gantry_scalar_f32(scope, 1.0f);
    CHECK(c, one, "%s", gantry_scope_message(scope));
    conformance_end_scope(c, scope, GANTRY_OK);
    for (int step = 0; v && step < 50; ++step) {
        gantry_scope_t *inner = conformance_scope(c);
        const gantry_tensor_t *delta = gantry_ones_like(inner, gantry_variable_read(inner, v));
        CHECK(c, gantry_variable_assign_add(inner, v, delta) == GANTRY_OK, "step %d: %s", step,
              gantry_scope_message(inner));
        conformance_end_scope(c, inner, GANTRY_OK);
    }
    gantry_scope_t *last = conformance_scope(c);
    if (v)
        conformance_check_floats(c, "after 50 steps", gantry_variable_read(last, v),
                                 (const float[]){50, 51, 52}, 3);
    conformance_end_scope(c, last, GANTRY_OK);
    gantry_variable_release(v);
}

static void refuse_assignment(conformance_t *c, const char *what, gantry_variable_t *v,
                              gantry_dtype_t dtype, int64_t n) {
    const int64_t zeros[8] = {0};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *value = n < 0 ? NULL
                                         : gantry_constant(scope, dtype, GANTRY_SHAPE(n), zeros,
                                                           (size_t)n * gantry_dtype_size(dtype));
    gantry_status_t status = gantry_variable_assign(scope, v, value);
    conformance_check_status(c, what, status, GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope),
                             "");
    gantry_scope_clear(scope);
    status = gantry_variable_assign_add(scope, v, value);
    conformance_check_status(c, what, status, GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope),
                             "");
    gantry_scope_end(scope);
}

static void wrong_assignments_are_refused(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    gantry_variable_t *v = make_floats(c, scope, "weights");
    if (v) {
        refuse_assignment(c, "another shape", v, GANTRY_FLOAT32, 4);
        refuse_assignment(c, "another type", v, GANTRY_INT32, 3);
        refuse_assignment(c, "NULL", v, GANTRY_FLOAT32, -1);
        conformance_check_floats(c, "its value", gantry_variable_read(scope, v),
                                 (const float[]){0, 1, 2}, 3);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(v);
    scope = conformance_scope(c);
    CHECK(c, !gantry_variable_create(scope, NULL, "x"), "a variable was made from NULL");
    CHECK(c, gantry_scope_status(scope) == GANTRY_INVALID_ARGUMENT, "NULL gave %s",
          gantry_status_name(gantry_scope_status(scope)));
    gantry_scope_end(scope);
}

static void ops_on_a_variable_run_where_it_lives(conformance_t *c) {
    if (!c->elsewhere) {
        conformance_skip(c, "there is no second device");
        return;
    }
    gantry_scope_t *scope = conformance_scope(c);
    gantry_variable_t *v = make_floats(c, scope, "pinned");
    gantry_scope_t *other = conformance_scope_on(c, gantry_logical_device_full_name(c->elsewhere));
    const gantry_tensor_t *x = conformance_iota(other, 3);
    if (v) {
        CHECK(c, gantry_variable_assign_add(other, v, x) == GANTRY_OK, "%s",
              gantry_scope_message(other));
        CHECK(c, c->record.reason == GANTRY_PLACED_WITH_VARIABLE, "the placement of %s was \"%s\"",
              c->record.op, gantry_placement_reason_text(c->record.reason));
        CHECK(c, strcmp(c->record.device, gantry_logical_device_full_name(c->device)) == 0,
              "%s ran on %s", c->record.op, c->record.device);
        conformance_check_floats(c, "its value", gantry_variable_read(other, v),
                                 (const float[]){0, 2, 4}, 3);
    }
    conformance_end_scope(c, other, GANTRY_OK);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(v);
}

static void int64_variables_live_on_the_device(conformance_t *c) {
    const int64_t start[] = {5, -5};
    int64_t got[2] = {0};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(2), start, sizeof start);
    gantry_variable_t *v = gantry_variable_create(scope, x, "step");
    CHECK(c, v && gantry_variable_device(v) == c->device, "not on the device: %s",
          gantry_scope_message(scope));
    if (v && gantry_variable_assign_add(scope, v, x) == GANTRY_OK) {
        const gantry_tensor_t *now = gantry_variable_read(scope, v);
        CHECK(c, now && gantry_tensor_read(now, got, sizeof got) == GANTRY_OK, "%s",
              gantry_last_message());
        CHECK(c, got[0] == 10 && got[1] == -10, "the values are wrong");
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(v);
}

/* As in TensorFlow: integer variables other than int64 live on the CPU. */
static void int32_variables_live_on_the_cpu(conformance_t *c) {
    const int32_t start[] = {5, -5};
    int32_t got[2] = {0};
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), start, sizeof start);
    gantry_variable_t *v = gantry_variable_create(scope, x, "count");
    CHECK(c, v && strcmp(gantry_logical_device_type(gantry_variable_device(v)), "CPU") == 0,
          "not on a CPU: %s", gantry_scope_message(scope));
    if (v && gantry_variable_assign_sub(scope, v, gantry_ones_like(scope, x)) == GANTRY_OK) {
        const gantry_tensor_t *now = gantry_variable_read(scope, v);
        CHECK(c, now && gantry_tensor_read(now, got, sizeof got) == GANTRY_OK, "%s",
              gantry_last_message());
        CHECK(c, got[0] == 4 && got[1] == -6, "the values are %d, %d", got[0], got[1]);
    }
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(v);
}

static void int32_variables_without_soft_placement_are_refused(conformance_t *c) {
    const int32_t start[] = {5, -5};
    if (strcmp(gantry_logical_device_type(c->device), "GPU") != 0) {
        conformance_skip(c, "%s is no GPU", c->options.device);
        return;
    }
    gantry_set_soft_device_placement(c->runtime, false);
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), start, sizeof start);
    gantry_variable_t *v = gantry_variable_create(scope, x, "count");
    CHECK(c, !v, "the variable was made on %s",
          v ? gantry_logical_device_full_name(gantry_variable_device(v)) : "");
    conformance_check_status(c, "an int32 variable", gantry_scope_status(scope),
                             GANTRY_INVALID_ARGUMENT, gantry_scope_message(scope),
                             "Cannot assign a device for operation");
    gantry_scope_end(scope);
    gantry_set_soft_device_placement(c->runtime, true);
    gantry_variable_release(v);
}

void conformance_run_variables(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"a_variable_holds_its_initial_value", a_variable_holds_its_initial_value},
        {"assignments_change_it", assignments_change_it},
        {"a_variable_outlives_its_scope", a_variable_outlives_its_scope},
        {"wrong_assignments_are_refused", wrong_assignments_are_refused},
        {"ops_on_a_variable_run_where_it_lives", ops_on_a_variable_run_where_it_lives},
        {"int64_variables_live_on_the_device", int64_variables_live_on_the_device},
        {"int32_variables_live_on_the_cpu", int32_variables_live_on_the_cpu},
        {"int32_variables_without_soft_placement_are_refused",
         int32_variables_without_soft_placement_are_refused},
    };
    conformance_run_checks(c, "variable", checks, sizeof checks / sizeof checks[0]);
}
