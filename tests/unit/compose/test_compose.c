/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Composed ops run their parts on the caller's device and record them under the called
 * op's name.
 * Promise: An error in a part of a composed op names the composed op, shapes are refused before a
 * part runs, and only results remain.
 * Promise: A type runs on a device if all parts do but those that the op can do without. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "compose/compose.h"
#include "run/eager.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static gantry_status_t split(gantry_scope_t *scope, const gantry_tensor_t *x, int64_t num,
                             const gantry_tensor_t **outputs) {
    const gantry_tensor_t *inputs[] = {gantry_scalar_i32(scope, 0), x};
    const gantry_attr_value_t attr = {.name = "num_split", .kind = GANTRY_ATTR_INT, .i = num};
    size_t count = (size_t)num;
    return gantry_op_call(scope, "Split", inputs, 2, &attr, 1, outputs, &count);
}

static const gantry_tensor_t *pack(gantry_scope_t *scope, const gantry_tensor_t *x,
                                   const gantry_tensor_t *y) {
    const gantry_tensor_t *inputs[] = {x, y}, *output = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, "Stack", inputs, 2, NULL, 0, &output, &count);
    return output;
}

/* ---- the table ---- */

static bool has_row(const gantry__op_def_t *op) {
    static const gantry__op_id_t rows[] = {
#define PART(name)
#define COMPOSED(name, function, parts) GANTRY__OP_ID_##name,
#include "op/composed.def"
#undef COMPOSED
#undef PART
    };
    size_t found = 0;
    for (size_t i = 0; i < COUNT(rows); ++i) {
        found += rows[i] == (gantry__op_id_t)op->id;
    }
    assert_true(found <= 1);
    return found > 0;
}

/* Follows the parts down. Only an op that is a part of itself reaches this depth. */
static void expect_end(const gantry__op_def_t *op, int depth) {
    uint32_t count;
    const uint16_t *parts = gantry__op_parts(op, &count);
    if (depth > 6) fail_msg("%s is a part of itself", op->name);
    for (uint32_t i = 0; i < count; ++i) expect_end(gantry__op_get(parts[i]), depth + 1);
}

TEST(table_lists_parts_of_composed_ops) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)i);
        gantry_op_info_t info = {.struct_size = sizeof info};
        uint32_t count;
        const uint16_t *parts = gantry__op_parts(op, &count);
        assert_int_equal(gantry_op_info(i, &info), GANTRY_OK);
        if (has_row(op) != ((op->flags & GANTRY__OP_COMPOSED) != 0))
            fail_msg("%s: flag and composed.def", op->name);
        assert_int_equal(info.is_composed, has_row(op));
        assert_int_equal(info.part_count, count);
        for (uint32_t k = 0; k < count; ++k)
            assert_string_equal(info.parts[k], gantry__op_get(parts[k])->name);
        expect_end(op, 0);
    }
}

TEST(kernels_of_a_composed_op_are_those_of_its_parts) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const gantry_logical_device_t *cpu, *gpu;
    size_t count;
    bool has;
    const char *source;
    assert_int_equal(gantry_list_logical_devices(f.runtime, "CPU", 1, &cpu, &count), GANTRY_OK);
    assert_int_equal(gantry_list_logical_devices(f.runtime, "GPU", 1, &gpu, &count), GANTRY_OK);
    assert_int_equal(gantry_op_has_kernel(f.runtime, "Split", cpu, GANTRY_INT16, &has, &source),
                     GANTRY_OK);
    assert_true(has);
    assert_string_equal(source, "composed");
    assert_int_equal(gantry_op_has_kernel(f.runtime, "Split", gpu, GANTRY_FLOAT32, &has, &source),
                     GANTRY_OK);
    assert_false(has); /* the fake backend has no Slice */
    assert_string_equal(source, "");
    runtime_fixture_close(&f);
}

/* The CPU backend has products of groups, which Conv2D can do without, of float32 and float64. */
TEST(an_optional_part_without_a_kernel_excludes_no_type) {
    static const gantry_dtype_t types[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT32};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    const gantry_logical_device_t *cpu;
    size_t count;
    assert_int_equal(gantry_list_logical_devices(f.runtime, "CPU", 1, &cpu, &count), GANTRY_OK);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        bool has = false;
        assert_int_equal(gantry_op_has_kernel(f.runtime, "Conv2D", cpu, types[i], &has, NULL),
                         GANTRY_OK);
        if (!has) fail_msg("Conv2D of %s", gantry_dtype_name(types[i]));
    }
    runtime_fixture_close(&f);
}

/* ---- parts ---- */

TEST(parts_are_recorded_with_the_op_that_was_called) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3, 4), *out[2];
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    assert_int_equal(split(scope, x, 2, out), GANTRY_OK);
    EXPECT_F32(out[0], 1, 2);
    EXPECT_F32(out[1], 3, 4);
    gantry_placement_record_t records[3] = {{.struct_size = sizeof records[0]}};
    size_t count = 0;
    assert_int_equal(gantry_get_placements(f.runtime, 3, records, &count), GANTRY_OK);
    assert_int_equal(count, 3);
    /* split_dim belongs to the program; Split itself is placed nowhere */
    assert_string_equal(records[0].op, "Const");
    assert_string_equal(records[0].part_of, "");
    for (int i = 1; i < 3; ++i) {
        assert_string_equal(records[i].op, "Slice");
        assert_string_equal(records[i].part_of, "Split");
    }
    assert_int_equal(log_lines_with(&f.log, "Executing op Slice in device", "(part of Split)"), 2);
    (void)gantry_neg(scope, x);
    assert_string_equal(last_placement(&f).part_of, "");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static uint64_t bytes_in_use(const runtime_fixture_t *f, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(f->runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info.current_bytes;
}

TEST(only_results_stay_and_they_have_the_scopes_tag) {
    runtime_fixture_t f;
    char report[16384];
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0"),
                   *gpu = runtime_fixture_scope(&f, "GPU:0");
    assert_int_equal(gantry_scope_set_tag(gpu, "words"), GANTRY_OK);
    (void)gantry_embedding_lookup(gpu, F32(gpu, 1, 2, 3), I32(gpu, 0, 1));
    assert_int_equal(gantry_get_memory_report(f.runtime, "GPU:0", GANTRY_REPORT_TEXT, report,
                                              sizeof report, NULL),
                     GANTRY_OK);
    const char *line = strstr(report, "Gather");
    if (!line || !strstr(line, "[words]")) fail_msg("%s", report);
    const gantry_tensor_t *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(64, 1024));
    const gantry_tensor_t *one = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1024));
    uint64_t before = bytes_in_use(&f, "CPU:0");
    assert_non_null(gantry_layer_norm(scope, x, one, one, -1, 0.001));
    assert_int_equal(bytes_in_use(&f, "CPU:0") - before, 64 * 1024 * 4);
    expect_ended_well(gpu);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(result_that_is_an_input_is_a_tensor_of_its_own) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *out;
    assert_int_equal(split(scope, x, 1, &out), GANTRY_OK);
    assert_ptr_not_equal(out, x);
    gantry_tensor_drop(scope, x);
    EXPECT_F32(out, 1, 2);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(scope_of_parts_runs_no_other_op) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL), inner;
    const gantry_tensor_t *x = F32(scope, 1, 2);
    gantry__scope_begin_parts(&inner, scope, gantry__op_get(GANTRY__OP_ID_Split));
    assert_null(gantry_neg(&inner, x));
    expect_scope_failure(&inner, GANTRY_INTERNAL, "op Neg is not listed among the parts of Split");
    gantry__scope_end_parts(&inner);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(scalars_of_halves_are_rounded_to_the_nearest) {
    static const struct {
        double value;
        uint16_t float16, bfloat16;
    } rows[] = {{0, 0, 0},
                {1, 0x3c00, 0x3f80},
                {-2, 0xc000, 0xc000},
                {0.1, 0x2e66, 0x3dcd},
                {1.0 / 3, 0x3555, 0x3eab},
                {2049, 0x6800, 0x4500},    /* ties round to even */
                {2051, 0x6802, 0x4500},    /* the same upwards; far below the tie for bfloat16 */
                {65519, 0x7bff, 0x4780},   /* the largest float16 */
                {65520, 0x7c00, 0x4780},   /* it rounds to infinity */
                {0x1p-14, 0x0400, 0x3880}, /* the smallest normal number */
                {0x1p-24, 0x0001, 0x3380}, /* the smallest number */
                {0x1p-25, 0x0000, 0x3300},
                {0x1.8p-24, 0x0002, 0x33c0},
                {0x1.ff8p-15, 0x03ff, 0x3880}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry__compose_t c = {.scope = scope};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        uint16_t got[2] = {0};
        (void)gantry_tensor_read(gantry__compose_scalar(&c, GANTRY_FLOAT16, rows[i].value), &got[0],
                                 2);
        (void)gantry_tensor_read(gantry__compose_scalar(&c, GANTRY_BFLOAT16, rows[i].value),
                                 &got[1], 2);
        if (got[0] != rows[i].float16 || got[1] != rows[i].bfloat16)
            fail_msg("%a is %04x and %04x", rows[i].value, got[0], got[1]);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- failures ---- */

TEST(failing_part_is_told_behind_the_composed_op) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2), *out[2] = {x, x};
    assert_int_equal(split(scope, x, 2, out), GANTRY_INVALID_ARGUMENT); /* it has no Slice */
    assert_null(out[0]);
    assert_null(out[1]);
    if (strncmp(gantry_scope_message(scope), "Split: ", 7) != 0)
        fail_msg("%s", gantry_scope_message(scope));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Slice");
    assert_string_equal(last_placement(&f).part_of, "Split"); /* the refused part has a record */
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(shapes_are_refused_before_any_part_runs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2), *y = F32(scope, 1);
    uint64_t sequence = last_placement(&f).sequence;
    assert_null(pack(scope, x, y));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Pack: Shapes of all inputs must match");
    assert_int_equal(last_placement(&f).sequence, sequence);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static gantry_status_t small_program(gantry_scope_t *scope) {
    const gantry_tensor_t *out[2];
    float values[40] = {1}, got[40] = {0};
    (void)split(scope, make_f32(scope, 40, values), 2, out);
    const gantry_tensor_t *packed = pack(scope, out[1], out[0]);
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK) status = gantry_tensor_read(packed, got, sizeof got);
    if (status == GANTRY_OK) assert_true(got[20] > 0 && got[0] < 1);
    return status;
}

TEST(failing_allocation_leaves_nothing_behind) {
    runtime_fixture_starve_each(0, "CPU:0", small_program);
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
