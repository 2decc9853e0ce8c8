/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_op_update puts an op's results in place of its first inputs, in their memory
 * where nobody else holds it, and leaves the inputs when it fails. */
#define _XOPEN_SOURCE 700

#include "device/buffer.h"
#include "function_fixture.h"
#include "run/tensor_state.h"
#include "test.h"

enum { MANY = 5000 };

static const char *const homes[] = {"CPU:0", "GPU:0"};

/* A tensor that the caller alone holds. */
static gantry_tensor_t *alone(gantry_scope_t *scope, int64_t count, float value) {
    const gantry_tensor_t *made =
        gantry_fill(scope, GANTRY_SHAPE(count), gantry_scalar_f32(scope, value));
    gantry_tensor_t *tensor = gantry_tensor_retain(made);
    assert_non_null(tensor);
    gantry_tensor_drop(scope, made);
    return tensor;
}

static uint64_t place_of(const gantry_tensor_t *tensor) {
    return tensor->buffer->span.offset_bytes + tensor->offset_bytes;
}

static void expect_filled(const gantry_tensor_t *tensor, float value) {
    float got[MANY];
    assert_int_equal(gantry_tensor_elements(tensor), MANY);
    assert_int_equal(gantry_tensor_read(tensor, got, sizeof got), GANTRY_OK);
    for (size_t i = 0; i < MANY; ++i) assert_float_equal(got[i], value, 0);
}

TEST(value_that_nobody_else_holds_is_overwritten) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        gantry_tensor_t *value = alone(scope, MANY, 3);
        const gantry_tensor_t *one =
            gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, 1));
        const uint64_t place = place_of(value);
        assert_int_equal(gantry_op_update(scope, "Sub", &value, 1, &one, 1, NULL, 0), GANTRY_OK);
        expect_filled(value, 2);
        assert_int_equal(place_of(value), place);
        gantry_tensor_release(value);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

TEST(value_that_another_holds_stays) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        gantry_tensor_t *value = alone(scope, MANY, 3), *second = gantry_tensor_retain(value);
        const gantry_tensor_t *one =
            gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, 1));
        assert_int_equal(gantry_op_update(scope, "Sub", &value, 1, &one, 1, NULL, 0), GANTRY_OK);
        expect_filled(value, 2);
        expect_filled(second, 3);
        gantry_tensor_release(value);
        gantry_tensor_release(second);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

TEST(several_values_are_replaced_at_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        gantry_tensor_t *values[] = {alone(scope, MANY, 8), alone(scope, MANY, 2)};
        const gantry_tensor_t *half = gantry_scalar_f32(scope, 0.5f);
        const gantry_tensor_t *const inputs[] = {
            half, gantry_fill(scope, GANTRY_SHAPE(MANY), gantry_scalar_f32(scope, 1)), half};
        const uint64_t places[] = {place_of(values[0]), place_of(values[1])};
        assert_int_equal(
            gantry_op_update(scope, "ResourceApplyMomentum", values, 2, inputs, 3, NULL, 0),
            GANTRY_OK);
        expect_filled(values[1], 2); /* 2 * 0.5 + 1 */
        expect_filled(values[0], 7); /* 8 - 2 * 0.5 */
        for (size_t i = 0; i < 2; ++i) {
            assert_int_equal(place_of(values[i]), places[i]);
            gantry_tensor_release(values[i]);
        }
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

/* Adds 1 to the first element; returns whether the value has kept its memory. */
static bool add_to_first(gantry_scope_t *scope, gantry_tensor_t **value) {
    const int32_t first[] = {0};
    const gantry_attr_value_t attr = {
        .name = "bad_indices_policy", .kind = GANTRY_ATTR_STRING, .s = "IGNORE"};
    const gantry_tensor_t *const inputs[] = {
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1, 1), first, sizeof first),
        F32(scope, 1)};
    const uint64_t place = place_of(*value);
    assert_int_equal(gantry_op_update(scope, "ResourceScatterNdAdd", value, 1, inputs, 2, &attr, 1),
                     GANTRY_OK);
    return place_of(*value) == place;
}

TEST(value_is_overwritten_again_and_again) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    for (size_t h = 0; h < 2; ++h) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, homes[h]);
        gantry_tensor_t *value = alone(scope, MANY, 0);
        float got[MANY];
        for (size_t i = 0; i < 3; ++i) assert_true(add_to_first(scope, &value));
        assert_int_equal(gantry_tensor_read(value, got, sizeof got), GANTRY_OK);
        assert_float_equal(got[0], 3, 0);
        gantry_tensor_release(value);
        expect_ended_well(scope);
    }
    runtime_fixture_close(&f);
}

typedef struct refused_row_t {
    const char *op;
    size_t value_count;
    int64_t size; /* of the input */
    gantry_status_t status;
    const char *text;
} refused_row_t;

static const refused_row_t refused_rows[] = {
    {NULL, 1, 4, GANTRY_INVALID_ARGUMENT, "gantry_op_update: the op's name is NULL"},
    {"Nothing", 1, 4, GANTRY_NOT_FOUND, "Op type not registered 'Nothing'"},
    {"ReadVariableOp", 1, 4, GANTRY_INVALID_ARGUMENT, "op ReadVariableOp is not called by name"},
    {"Add", 0, 4, GANTRY_INVALID_ARGUMENT, "op Add: 0 values are given; 1 to 4 are accepted"},
    {"Add", 5, 4, GANTRY_INVALID_ARGUMENT, "op Add: 5 values are given; 1 to 4 are accepted"},
    {"Add", 2, 4, GANTRY_INVALID_ARGUMENT, "Add takes 2 inputs (x, y), got 3"},
    {"AddN", 2, 4, GANTRY_INVALID_ARGUMENT, "op AddN has 1 outputs for 2 values to replace"},
    {"Add", 1, 3, GANTRY_INVALID_ARGUMENT, "Incompatible shapes"},
    {"Less", 1, 4, GANTRY_INVALID_ARGUMENT, "op Less: output 0 has not the type and shape"}};

TEST(failure_leaves_the_values) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof refused_rows / sizeof refused_rows[0]; ++i) {
        const refused_row_t *row = &refused_rows[i];
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        gantry_tensor_t *values[5], *given[5];
        for (size_t k = 0; k < 5; ++k) given[k] = values[k] = alone(scope, 4, (float)k);
        const gantry_tensor_t *input =
            gantry_fill(scope, GANTRY_SHAPE(row->size), gantry_scalar_f32(scope, 1));
        assert_int_equal(
            gantry_op_update(scope, row->op, values, row->value_count, &input, 1, NULL, 0),
            row->status);
        if (!strstr(gantry_scope_message(scope), row->text))
            fail_msg("%s", gantry_scope_message(scope));
        for (size_t k = 0; k < 5; ++k) {
            const float same[] = {(float)k, (float)k, (float)k, (float)k};
            assert_ptr_equal(values[k], given[k]);
            expect_f32(values[k], 4, same);
            gantry_tensor_release(values[k]);
        }
        (void)gantry_scope_end(scope);
    }
    runtime_fixture_close(&f);
}

/* The kernel runs before the missing output is seen, and must not write over the first value. */
TEST(an_output_too_few_leaves_the_values) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_tensor_t *values[] = {alone(scope, MANY, 3), alone(scope, MANY, 4)};
    assert_int_equal(gantry_op_update(scope, "Add", values, 2, NULL, 0, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "op Add has 1 outputs for 2 values");
    expect_filled(values[0], 3);
    expect_filled(values[1], 4);
    gantry_tensor_release(values[0]);
    gantry_tensor_release(values[1]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The op runs where its value lies, also in a scope that follows a tensor of another device. */
TEST(value_stays_at_home_in_a_colocated_scope) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *cpu = runtime_fixture_scope(&f, "CPU:0");
    gantry_scope_t *gpu = runtime_fixture_scope(&f, "GPU:0");
    gantry_tensor_t *value = alone(gpu, MANY, 3);
    const gantry_logical_device_t *home = gantry_tensor_device(value);
    const uint64_t place = place_of(value);
    const gantry_tensor_t *one = gantry_fill(cpu, GANTRY_SHAPE(MANY), gantry_scalar_f32(cpu, 1));
    gantry_scope_t *follows = gantry_scope_begin_with(cpu, one);
    assert_int_equal(gantry_op_update(follows, "Sub", &value, 1, &one, 1, NULL, 0), GANTRY_OK);
    expect_filled(value, 2);
    assert_ptr_equal(gantry_tensor_device(value), home);
    assert_int_equal(place_of(value), place);
    gantry_tensor_release(value);
    expect_ended_well(follows);
    expect_ended_well(cpu);
    expect_ended_well(gpu);
    runtime_fixture_close(&f);
}

/* In a trace nothing runs, so there is no new tensor. */
static void updating_in_a_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    (void)gantry_op_update(scope, "Add", user, 1, inputs, 1, NULL, 0);
    outputs[0] = inputs[0];
}

TEST(trace_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_tensor_t *value = alone(scope, 4, 1);
    const gantry_input_spec_t input = SPEC_F32(4);
    gantry_function_t *function = NULL;
    assert_int_equal(gantry_function_trace(f.runtime, "f", updating_in_a_body, &value, &input, 1, 1,
                                           NULL, &function),
                     GANTRY_FAILED_PRECONDITION);
    assert_non_null(strstr(gantry_last_message(), "while a function is traced"));
    EXPECT_F32(value, 1, 1, 1, 1);
    gantry_tensor_release(value);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
