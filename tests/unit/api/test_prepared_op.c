/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A prepared op gives what a call by name gives, keeps its attributes, and is refused
 * where such a call is.
 *
 * A scope on a device's handle is a scope on its name. */
#define _XOPEN_SOURCE 700

#include "run/scope_state.h"
#include "runtime_fixture.h"
#include "test.h"

static const gantry_tensor_t *call(gantry_scope_t *scope, const gantry_prepared_op_t *op,
                                   const gantry_tensor_t *a, const gantry_tensor_t *b) {
    const gantry_tensor_t *inputs[] = {a, b}, *output;
    size_t count = 1;
    if (gantry_op_call_prepared(scope, op, inputs, b ? 2 : 1, &output, &count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(count, 1);
    return output;
}

static gantry_prepared_op_t *prepare(const runtime_fixture_t *f, const char *name,
                                     const gantry_attr_value_t *attrs, size_t count) {
    gantry_prepared_op_t *op = NULL;
    if (gantry_op_prepare(f->runtime, name, attrs, count, &op) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return op;
}

TEST(prepared_op_is_called_again_and_again) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_prepared_op_t *add = prepare(&f, "AddV2", NULL, 0);
    for (int i = 0; i < 2; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[i]);
        const gantry_tensor_t *sum = F32(scope, 1, 2);
        for (int k = 0; k < 3; ++k) sum = call(scope, add, sum, F32(scope, 1, 0.5f));
        EXPECT_F32(sum, 4, 3.5f);
        EXPECT_I32(call(scope, add, I32(scope, 1), I32(scope, 2)), 3);
        expect_ended_well(scope);
    }
    gantry_prepared_op_release(add);
    runtime_fixture_close(&f);
}

/* Lists and texts are copied, in any order; aliases of attributes are known. */
TEST(prepared_op_keeps_its_attributes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    int64_t sizes[] = {1, 2, 2, 1}, axes[] = {0, 3};
    char padding[] = "VALID", format[] = "NHWC";
    const gantry_attr_value_t pool[] = {
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = padding},
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = sizes},
        {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = format},
        {.name = "ksize", .kind = GANTRY_ATTR_INTS, .i = 4, .list = sizes}};
    const gantry_attr_value_t squeeze = {
        .name = "axis", .kind = GANTRY_ATTR_INTS, .i = 2, .list = axes};
    gantry_prepared_op_t *max_pool = prepare(&f, "MaxPool", pool, 4),
                         *squeezed = prepare(&f, "Squeeze", &squeeze, 1);
    memset(sizes, 9, sizeof sizes);
    memset(axes, 9, sizeof axes);
    memset(padding, 'x', 5);
    memset(format, 'x', 4);
    const gantry_tensor_t *image =
        gantry_reshape(scope, F32(scope, 1, 5, 2, 3, 4, 0, 7, 6), GANTRY_SHAPE(1, 2, 4, 1));
    const gantry_tensor_t *pooled = call(scope, max_pool, image, NULL);
    EXPECT_F32(pooled, 5, 7);
    pooled = call(scope, squeezed, pooled, NULL);
    assert_true(gantry_shape_equal(gantry_tensor_shape(pooled), &GANTRY_SHAPE(1, 2)));
    gantry_prepared_op_release(max_pool);
    gantry_prepared_op_release(squeezed);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(prepared_op_has_as_many_outputs_as_its_attribute_says) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_attr_value_t attr = {.name = "num_split", .kind = GANTRY_ATTR_INT, .i = 3};
    gantry_prepared_op_t *split = prepare(&f, "Split", &attr, 1);
    const gantry_tensor_t *inputs[] = {gantry_scalar_i32(scope, 0), F32(scope, 1, 2, 3)};
    const gantry_tensor_t *outputs[4] = {inputs[0], inputs[0], inputs[0], inputs[0]};
    size_t count = 4;
    assert_int_equal(gantry_op_call_prepared(scope, split, inputs, 2, outputs, &count), GANTRY_OK);
    assert_int_equal(count, 3);
    EXPECT_F32(outputs[2], 3);
    assert_null(outputs[3]);
    count = 2;
    assert_int_equal(gantry_op_call_prepared(scope, split, inputs, 2, outputs, &count),
                     GANTRY_INVALID_ARGUMENT);
    assert_true(count == 0 && !outputs[0]);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "Split has 3 outputs; room for 2");
    gantry_prepared_op_release(split);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(op_that_cannot_be_prepared_is_refused) {
    static const int64_t one[] = {1};
    static const struct {
        const char *op;
        gantry_attr_value_t attr;
        gantry_status_t status;
        const char *message;
    } rows[] = {
        {"Nonesuch", {.name = NULL}, GANTRY_NOT_FOUND, "Op type not registered 'Nonesuch'"},
        {"Const", {.name = NULL}, GANTRY_INVALID_ARGUMENT, "op Const is not called by name"},
        {"Split", {.name = NULL}, GANTRY_INVALID_ARGUMENT, "'num_split' (int) must be given"},
        {"Neg", {.name = "x"}, GANTRY_INVALID_ARGUMENT, "attribute 'x' does not exist"},
        {"MatMul",
         {.name = "transpose_a", .kind = GANTRY_ATTR_INT},
         GANTRY_INVALID_ARGUMENT,
         "MatMul: expecting bool value for attr transpose_a, got int"},
        {"Neg",
         {.name = "T", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_BOOL},
         GANTRY_INVALID_ARGUMENT,
         "value for attr 'T' of bool is not in the list"},
        {"Squeeze",
         {.name = "squeeze_dims", .kind = GANTRY_ATTR_INTS, .i = -1, .list = one},
         GANTRY_INVALID_ARGUMENT,
         "attribute 'squeeze_dims' has -1 entries"},
        {"Squeeze",
         {.name = "squeeze_dims", .kind = GANTRY_ATTR_INTS, .i = INT64_MAX, .list = one},
         GANTRY_INVALID_ARGUMENT,
         "'squeeze_dims' has 9223372036854775807 entries; accepted are 0 to 65536"},
    };
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        gantry_prepared_op_t *op = (gantry_prepared_op_t *)&f;
        gantry_status_t status =
            gantry_op_prepare(f.runtime, rows[i].op, &rows[i].attr, rows[i].attr.name ? 1 : 0, &op);
        assert_int_equal(status, rows[i].status);
        assert_null(op);
        if (!strstr(gantry_last_message(), rows[i].message)) fail_msg("%s", gantry_last_message());
    }
    runtime_fixture_close(&f);
}

static gantry_status_t prepare_and_call(gantry_scope_t *scope) {
    gantry_prepared_op_t *op;
    const gantry_attr_value_t attr = {.name = "transpose_b", .kind = GANTRY_ATTR_BOOL, .i = true};
    gantry_status_t status =
        gantry_op_prepare(gantry_scope_runtime(scope), "MatMul", &attr, 1, &op);
    if (status != GANTRY_OK) return status;
    const gantry_tensor_t *x = gantry_reshape(scope, F32(scope, 1, 2, 3, 4), GANTRY_SHAPE(2, 2));
    const gantry_tensor_t *inputs[] = {x, x}, *output;
    size_t count = 1;
    status = gantry_op_call_prepared(scope, op, inputs, 2, &output, &count);
    if (status == GANTRY_OK) EXPECT_F32(output, 5, 11, 11, 25);
    gantry_prepared_op_release(op);
    return status;
}

TEST(prepared_op_without_host_memory_fails_and_leaks_nothing) {
    runtime_fixture_starve_each(0, "CPU:0", prepare_and_call);
}

/* It holds its runtime. */
TEST(prepared_op_outlives_the_programs_runtime) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_prepared_op_t *op = prepare(&f, "Neg", NULL, 0);
    gantry_runtime_release(f.runtime);
    gantry_prepared_op_release(op);
    gantry_prepared_op_release(NULL);
    runtime_fixture_expect_no_leak(&f);
    locked_heap_deinit(&f.heap);
}

/* ---- random numbers ---- */

static float draw(gantry_scope_t *scope, const gantry_prepared_op_t *op) {
    float number;
    const int32_t one = 1;
    const gantry_tensor_t *shape =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1), &one, sizeof one);
    assert_int_equal(gantry_tensor_read(call(scope, op, shape, NULL), &number, sizeof number),
                     GANTRY_OK);
    return number;
}

/* As kernels of TensorFlow do: two nodes with the same seeds draw the same numbers. */
TEST(prepared_op_draws_from_a_stream_of_its_own) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_attr_value_t attrs[] = {
        {.name = "dtype", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_FLOAT32},
        {.name = "seed", .kind = GANTRY_ATTR_INT, .i = 3},
        {.name = "seed2", .kind = GANTRY_ATTR_INT, .i = 5}};
    gantry_prepared_op_t *first = prepare(&f, "RandomUniform", attrs, 3);
    const float a = draw(scope, first), b = draw(scope, first);
    assert_true(a != b);
    gantry_prepared_op_t *second = prepare(&f, "RandomUniform", attrs, 3);
    assert_true(draw(scope, second) == a && draw(scope, second) == b);
    assert_true(draw(scope, first) != a);
    assert_int_equal(gantry_set_seed(f.runtime, 9), GANTRY_OK);
    assert_true(draw(scope, first) == a && draw(scope, first) == b);
    gantry_prepared_op_release(first);
    gantry_prepared_op_release(second);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- scopes on a device ---- */

TEST(scope_on_a_device_is_a_scope_on_its_name) {
    static const char *const names[] = {"CPU:0", "GPU:0", "GPU:1"};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    for (int i = 0; i < 6; ++i) { /* each device twice: the second time it has its request */
        const gantry_logical_device_t *device;
        assert_int_equal(gantry_find_logical_device(f.runtime, names[i % 3], &device), GANTRY_OK);
        gantry_scope_t *scope = gantry_scope_begin_on(f.runtime, device),
                       *named = runtime_fixture_scope(&f, names[i % 3]);
        assert_ptr_equal(scope->wish, named->wish);
        const gantry_tensor_t *x = F32(scope, 1, 2);
        assert_ptr_equal(gantry_tensor_device(gantry_add(scope, x, x)), device);
        assert_int_equal(last_placement(&f).reason, GANTRY_PLACED_EXPLICIT);
        gantry_scope_t *inner = gantry_scope_begin_in(scope, "CPU:0");
        expect_on(gantry_neg(inner, x), "/device:CPU:0");
        expect_ended_well(inner);
        expect_ended_well(scope);
        expect_ended_well(named);
    }
    runtime_fixture_close(&f);
}

TEST(handles_of_another_runtime_are_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_runtime_t *second;
    const gantry_logical_device_t *device;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = ""};
    assert_int_equal(gantry_runtime_create(&options, &second), GANTRY_OK);
    assert_int_equal(gantry_find_logical_device(second, "CPU:0", &device), GANTRY_OK);
    gantry_scope_t *scope = gantry_scope_begin_on(f.runtime, device);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT,
                         "/device:CPU:0 belongs to another runtime");
    expect_ended_well(scope);
    bool has = true;
    assert_int_equal(gantry_op_has_kernel(f.runtime, "Neg", device, GANTRY_FLOAT32, &has, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "/device:CPU:0 belongs to another runtime"));
    assert_false(has);
    gantry_prepared_op_t *neg = prepare(&f, "Neg", NULL, 0);
    gantry_scope_t *there = gantry_scope_begin(second, NULL);
    const gantry_tensor_t *x = F32(there, 1), *output;
    size_t count = 1;
    assert_int_equal(gantry_op_call_prepared(there, neg, &x, 1, &output, &count),
                     GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(there, GANTRY_INVALID_ARGUMENT, "prepared belongs to another runtime");
    expect_ended_well(there);
    gantry_prepared_op_release(neg);
    scope = gantry_scope_begin_on(f.runtime, NULL);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "device is NULL");
    expect_ended_well(scope);
    assert_null(gantry_scope_begin_on(NULL, device));
    gantry_runtime_release(second);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
