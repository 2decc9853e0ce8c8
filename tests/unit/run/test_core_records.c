/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Shape, Size, Rank and the ops on shapes like them each leave one placement record, and
 * without soft placement or under require a device that does not exist is refused.
 * Promise: Results of Shape, Size, Rank and the ops on shapes like them are in the memory of the
 * CPU device on which they are placed, or else of the first CPU device.
 * Promise: gantry_variable_assign_add and gantry_variable_assign_sub leave one placement record
 * each, and none in the calls of a function. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

static const char *const shape_ops[] = {"Shape", "Size", "Rank", "BroadcastArgs",
                                        "BroadcastGradientArgs"};
enum { SHAPE_OPS = sizeof shape_ops / sizeof shape_ops[0] };

static size_t read_records(runtime_fixture_t *f, const char *op,
                           gantry_placement_record_t *out_last) {
    static gantry_placement_record_t records[1024];
    size_t count, found = 0;
    records[0].struct_size = sizeof records[0];
    assert_int_equal(gantry_get_placements(f->runtime, 1024, records, &count), GANTRY_OK);
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(records[i].op, op) != 0) continue;
        *out_last = records[i];
        ++found;
    }
    return found;
}

static const gantry_tensor_t *run_shape_op(gantry_scope_t *scope, const char *op) {
    const gantry_tensor_t *inputs[] = {I32(scope, 2, 3), I32(scope, 2, 1)}, *outputs[2] = {NULL};
    size_t count = 2;
    const size_t input_count = strncmp(op, "Broadcast", 9) == 0 ? 2 : 1;
    (void)gantry_op_call(scope, op, inputs, input_count, NULL, 0, outputs, &count);
    return outputs[0];
}

/* Two CPUs and a GPU. */
static void open_devices(runtime_fixture_t *f) {
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.logical_devices = "CPU:0=,";
    runtime_fixture_open_with(f, &options);
}

TEST(each_leaves_one_record) {
    static const struct {
        const char *asked, *device, *result;
        gantry_placement_reason_t reason;
    } rows[] = {
        {NULL, LOCAL("GPU:0"), "/device:CPU:0", GANTRY_PLACED_GPU_PREFERRED},
        {"/GPU:0", LOCAL("GPU:0"), "/device:CPU:0", GANTRY_PLACED_EXPLICIT},
        {"/CPU:0", LOCAL("CPU:0"), "/device:CPU:0", GANTRY_PLACED_EXPLICIT},
        {"/CPU:1", LOCAL("CPU:1"), "/device:CPU:1", GANTRY_PLACED_EXPLICIT},
        {"/GPU:7", LOCAL("GPU:0"), "/device:CPU:0", GANTRY_PLACED_SOFT_SAME_TYPE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        runtime_fixture_t f;
        open_devices(&f);
        gantry_scope_t *scope = runtime_fixture_scope(&f, rows[i].asked);
        for (size_t k = 0; k < SHAPE_OPS; ++k) {
            gantry_placement_record_t record;
            const gantry_tensor_t *result = run_shape_op(scope, shape_ops[k]);
            if (!result) fail_msg("%s: %s", shape_ops[k], gantry_scope_message(scope));
            assert_int_equal(read_records(&f, shape_ops[k], &record), 1);
            assert_string_equal(record.device, rows[i].device);
            assert_string_equal(record.part_of, "");
            assert_string_equal(record.kernel, "core");
            assert_int_equal(record.reason, rows[i].reason);
            assert_string_equal(gantry_logical_device_name(gantry_tensor_device(result)),
                                rows[i].result);
        }
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

static void expect_refused(runtime_fixture_t *f, const char *device, const char *text) {
    for (size_t k = 0; k < SHAPE_OPS; ++k) {
        gantry_placement_record_t record;
        gantry_scope_t *plain = runtime_fixture_scope(f, "/CPU:0"),
                       *scope = gantry_scope_begin(f->runtime, device);
        const gantry_tensor_t *inputs[] = {I32(plain, 2, 3), I32(plain, 2, 1)},
                              *outputs[2] = {NULL};
        const size_t before = read_records(f, shape_ops[k], &record);
        size_t count = 2;
        assert_int_equal(
            gantry_op_call(scope, shape_ops[k], inputs, k < 3 ? 1 : 2, NULL, 0, outputs, &count),
            GANTRY_INVALID_ARGUMENT);
        if (!strstr(gantry_scope_message(scope), text))
            fail_msg("%s: %s", shape_ops[k], gantry_scope_message(scope));
        assert_int_equal(read_records(f, shape_ops[k], &record), before + 1);
        assert_int_equal(record.reason, GANTRY_PLACED_REFUSED);
        assert_string_equal(record.device, "");
        (void)gantry_scope_end(scope);
        expect_ended_well(plain);
    }
}

TEST(missing_devices_are_refused) {
    runtime_fixture_t f;
    open_devices(&f);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    expect_refused(&f, "/GPU:7", "Could not satisfy device specification '" LOCAL("GPU:7"));
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, true), GANTRY_OK);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE), GANTRY_OK);
    expect_refused(&f, "/GPU:7", "GANTRY_PLACEMENT=require");
    gantry_scope_t *scope = runtime_fixture_scope(&f, "/GPU:0");
    for (size_t k = 0; k < SHAPE_OPS; ++k) assert_non_null(run_shape_op(scope, shape_ops[k]));
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void shape_op_elsewhere(gantry_scope_t *scope, const gantry_tensor_t *const *given,
                               const gantry_tensor_t **outputs, void *user) {
    (void)given;
    const char *op = user;
    gantry_scope_t *plain = gantry_scope_begin_in(scope, "/CPU:0"),
                   *elsewhere = gantry_scope_begin_in(scope, "/GPU:7");
    const gantry_tensor_t *inputs[] = {I32(plain, 2, 3), I32(plain, 2, 1)}, *made[2] = {NULL};
    size_t count = 2;
    (void)gantry_op_call(elsewhere, op, inputs, strncmp(op, "Broadcast", 9) == 0 ? 2 : 1, NULL, 0,
                         made, &count);
    if (made[0]) outputs[0] = gantry_scope_keep(elsewhere, made[0]);
    (void)gantry_scope_end(plain);
    (void)gantry_scope_end(elsewhere);
}

static void expect_traced(runtime_fixture_t *f, const char *text) {
    for (size_t k = 0; k < SHAPE_OPS; ++k) {
        char op[32];
        (void)snprintf(op, sizeof op, "%s", shape_ops[k]);
        gantry_function_t *function = NULL;
        const gantry_status_t status = gantry_function_trace(f->runtime, "f", shape_op_elsewhere,
                                                             op, NULL, 0, 1, NULL, &function);
        assert_int_equal(status, text ? GANTRY_INVALID_ARGUMENT : GANTRY_OK);
        if (text && !strstr(gantry_last_message(), text)) fail_msg("%s", gantry_last_message());
        gantry_function_release(function);
    }
}

TEST(missing_devices_are_refused_in_functions) {
    runtime_fixture_t f;
    open_devices(&f);
    expect_traced(&f, NULL);
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, false), GANTRY_OK);
    expect_traced(&f, "Could not satisfy device specification '" LOCAL("GPU:7"));
    assert_int_equal(gantry_set_soft_device_placement(f.runtime, true), GANTRY_OK);
    assert_int_equal(gantry_set_placement_mode(f.runtime, GANTRY_PLACEMENT_REQUIRE), GANTRY_OK);
    expect_traced(&f, "GANTRY_PLACEMENT=require");
    runtime_fixture_close(&f);
}

static const char *on_second_cpu(const gantry_device_choice_t *choice, void *user) {
    *(int *)user += strcmp(choice->op, "Shape") == 0;
    return "/CPU:1";
}

TEST(device_functions_are_asked) {
    int asked = 0;
    runtime_fixture_t f;
    open_devices(&f);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_scope_t *chosen = gantry_scope_begin_choosing(scope, on_second_cpu, &asked);
    const gantry_tensor_t *shape = run_shape_op(chosen, "Shape");
    assert_non_null(shape);
    assert_int_equal(asked, 1);
    assert_string_equal(gantry_logical_device_name(gantry_tensor_device(shape)), "/device:CPU:1");
    (void)gantry_scope_end(chosen);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- variables ---- */

static void add_to(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    (void)gantry_variable_assign_add(scope, user, inputs[0]);
    outputs[0] = gantry_variable_read(scope, user);
}

TEST(updates_leave_one_record) {
    static const char *const ops[] = {"AssignAddVariableOp", "AssignSubVariableOp"};
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT32, {.rank = 1, .dims = {2}}};
    runtime_fixture_t f;
    gantry_placement_record_t record;
    open_devices(&f);
    gantry_scope_t *gpu = runtime_fixture_scope(&f, "/GPU:0"),
                   *cpu = runtime_fixture_scope(&f, "/CPU:0"),
                   *plain = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *value = F32(cpu, 1, 2);
    gantry_variable_t *v = gantry_variable_create(gpu, F32(gpu, 5, 6), "v");
    assert_int_equal(gantry_variable_assign_add(cpu, v, value), GANTRY_OK);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(read_records(&f, ops[i], &record), 1);
        assert_string_equal(record.device, LOCAL("GPU:0"));
        assert_int_equal(record.reason, GANTRY_PLACED_WITH_VARIABLE);
        assert_int_equal(record.bytes_copied, 2 * sizeof(float)); /* the value came from the CPU */
        assert_int_equal(read_records(&f, i ? "Sub" : "Add", &record), 0);
        if (i == 0) assert_int_equal(gantry_variable_assign_sub(cpu, v, value), GANTRY_OK);
    }
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(f.runtime, "f", add_to, v, &input, 1, 1, NULL, &function), GANTRY_OK);
    assert_int_equal(read_records(&f, ops[0], &record), 1); /* it is placed by its first call */
    for (int i = 0; i < 3; ++i) {
        const gantry_tensor_t *now;
        assert_int_equal(gantry_function_call(plain, function, &value, 1, &now, 1), GANTRY_OK);
    }
    assert_int_equal(read_records(&f, ops[0], &record), 2);
    assert_int_equal(read_records(&f, "Add", &record), 0);
    assert_non_null(gantry_add(cpu, value, value)); /* ops behind it are themselves again */
    assert_int_equal(read_records(&f, "Add", &record), 1);
    gantry_function_release(function);
    gantry_variable_release(v);
    expect_ended_well(plain);
    expect_ended_well(gpu);
    expect_ended_well(cpu);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
