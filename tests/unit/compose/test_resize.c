/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Resize by whole factors broadcasts elements without a table of places, and other sizes
 * take or join them.
 * Promise: A resize that runs out of host memory fails with ResourceExhausted and leaks nothing.
 * Promise: A dimension that would have 2^31 places is refused before any memory is taken for it.
 * Promise: A resize without elements gives none, whatever its sizes, and makes no tables.
 *
 * Values, refusals, open sizes and numbers that are not known: golden cases. */
#define _XOPEN_SOURCE 700

#include <gantry/op.h>

#include "runtime_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static tensor *resize_by(gantry_scope_t *scope, tensor *x, const char *mode, const int64_t *sizes,
                         size_t count) {
    const gantry_attr_value_t attr = {.name = "mode", .kind = GANTRY_ATTR_STRING, .s = mode};
    tensor *inputs[] = {x, gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE((int64_t)count), sizes,
                                           count * sizeof *sizes)};
    tensor *y = NULL;
    size_t outputs = 1;
    (void)gantry_op_call(scope, "Resize", inputs, 2, &attr, 1, &y, &outputs);
    return y;
}

static tensor *matrix(gantry_scope_t *scope) {
    return gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), (float[]){1, 2, 3, 5}, 16);
}

/* Whether a part of the last call had this name. */
static bool has_run(const runtime_fixture_t *f, const char *op) {
    gantry_placement_record_t records[64] = {{.struct_size = sizeof records[0]}};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(f->runtime, 64, records, &count), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(records[i].op, op) == 0) return true;
    }
    return false;
}

TEST(whole_factors_repeat_and_other_sizes_take_or_join) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    expect_f32(resize_by(scope, matrix(scope), "NEAREST", (int64_t[]){4, 2}, 2), 8,
               (float[]){1, 2, 1, 2, 3, 5, 3, 5});
    assert_true(has_run(&f, "BroadcastTo"));
    assert_false(has_run(&f, "Gather"));
    expect_f32(resize_by(scope, matrix(scope), "LINEAR", (int64_t[]){2, 4}, 2), 8,
               (float[]){1, 1.25f, 1.75f, 2, 3, 3.5f, 4.5f, 5});
    assert_true(has_run(&f, "_ResizeLinear"));
    expect_f32(resize_by(scope, matrix(scope), "NEAREST", (int64_t[]){2, 3}, 2), 6,
               (float[]){1, 1, 2, 3, 3, 5});
    assert_true(has_run(&f, "Gather"));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static gantry_status_t resize_in_all_ways(gantry_scope_t *scope) {
    const int64_t sizes[] = {3, 5};
    tensor *y = resize_by(scope, matrix(scope), "NEAREST", sizes, 2);
    y = resize_by(scope, y, "LINEAR", (const int64_t[]){2, 2}, 2);
    y = resize_by(scope, y, "CUBIC", sizes, 2);
    float values[15];
    return y ? gantry_tensor_read(y, values, sizeof values) : gantry_scope_status(scope);
}

TEST(resize_without_memory_fails_and_leaks_nothing) {
    runtime_fixture_starve_each(0, "CPU:0", resize_in_all_ways);
}

TEST(dimension_of_too_many_places_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    tensor *x = gantry_constant(scope, GANTRY_INT8, GANTRY_SHAPE(1), "", 1);
    assert_null(resize_by(scope, x, "NEAREST", (int64_t[]){INT64_C(1) << 31}, 1));
    assert_int_equal(gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT);
    assert_non_null(
        strstr(gantry_scope_message(scope),
               "a dimension of size 1 is resized to 2147483648; less than 2^31 is accepted"));
    gantry_scope_clear(scope);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(resize_of_nothing_makes_no_tables) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const int64_t wide = INT64_C(1) << 31;
    tensor *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(0, 2), NULL, 0);
    for (int linear = 0; linear < 2; ++linear) {
        tensor *y = resize_by(scope, x, linear ? "LINEAR" : "NEAREST", (int64_t[]){0, wide}, 2);
        if (!y) fail_msg("%s", gantry_scope_message(scope));
        assert_true(gantry_shape_equal(gantry_tensor_shape(y), &GANTRY_SHAPE(0, wide)));
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
