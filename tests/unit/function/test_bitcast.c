/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Bitcast shares its input's memory, at once and in functions, on every device; only a
 * view that begins where elements of the other type may not is copied.
 * Promise: A kernel writes over no memory that a Bitcast of another element size reads. */
#define _XOPEN_SOURCE 700

#include "device/buffer.h"
#include "function_fixture.h"
#include "test.h"

#include "run/scope_state.h"

typedef const gantry_tensor_t tensor;

enum { COUNT = 256 };

static const char *const devices[] = {"CPU:0", "GPU:0"};

static uint64_t memory_of(tensor *x) {
    assert_non_null(x);
    assert_non_null(x->buffer);
    return x->buffer->span.region + x->buffer->span.offset_bytes + x->offset_bytes;
}

static tensor *steps_of(gantry_scope_t *scope) {
    int32_t values[COUNT];
    for (int i = 0; i < COUNT; ++i) values[i] = i;
    return make_i32(scope, COUNT, values);
}

static void expect_bytes(tensor *x, tensor *of, size_t first_byte) {
    unsigned char got[COUNT * 4], wanted[COUNT * 4];
    assert_non_null(x);
    assert_int_equal(gantry_tensor_read(of, wanted, sizeof wanted), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(x, got, gantry_tensor_bytes(x)), GANTRY_OK);
    assert_memory_equal(got, wanted + first_byte, gantry_tensor_bytes(x));
}

/* ---- at once ---- */

TEST(bitcast_shares_memory) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        tensor *x = steps_of(scope), *bytes = gantry_bitcast(scope, x, GANTRY_UINT8);
        assert_true(memory_of(bytes) == memory_of(x));
        assert_true(gantry_shape_equal(gantry_tensor_shape(bytes), &GANTRY_SHAPE(COUNT, 4)));
        assert_int_equal(gantry_tensor_bytes(bytes), COUNT * 4);
        tensor *back = gantry_bitcast(scope, bytes, GANTRY_FLOAT32);
        assert_true(memory_of(back) == memory_of(x));
        assert_true(gantry_shape_equal(gantry_tensor_shape(back), &GANTRY_SHAPE(COUNT)));
        expect_bytes(back, x, 0);
        expect_bytes(gantry_bitcast(scope, I32(scope, 1, 2), GANTRY_UINT16), x, 4); /* inline */
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

TEST(bitcast_of_a_view_is_aligned) {
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        tensor *x = steps_of(scope);
        for (uint64_t first = 4; first <= 8; first += 4) {
            tensor *view = gantry_tensor_view(scope, x, first, GANTRY_INT32, GANTRY_SHAPE(100, 2));
            tensor *wide = gantry_bitcast(scope, view, GANTRY_INT64);
            assert_int_equal(memory_of(wide) % 8, 0);
            assert_int_equal(memory_of(wide) == memory_of(view), first == 8);
            expect_bytes(wide, x, first);
        }
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* ---- in functions ---- */

/* Pairs as one number each, and as bytes: of the argument, and of a constant. */
static void casting(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *constant = *(tensor **)user;
    outputs[0] = gantry_bitcast(scope, inputs[0], GANTRY_INT64);
    outputs[1] = gantry_bitcast(scope, outputs[0], GANTRY_UINT8);
    outputs[2] = gantry_bitcast(scope, constant, GANTRY_INT64);
    assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[1]), &GANTRY_SHAPE(100, 8)));
}

TEST(bitcast_in_a_function_shares_memory) {
    const gantry_input_spec_t input = SPEC_I32(100, 2);
    for (int d = 0; d < 2; ++d) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, devices[d]);
        tensor *x = steps_of(scope), *outputs[3];
        tensor *constant = gantry_tensor_view(scope, x, 4, GANTRY_INT32, GANTRY_SHAPE(100, 2));
        gantry_function_t *function =
            function_fixture_trace(f.runtime, casting, (void *)&constant, &input, 1, 3, NULL);
        for (uint64_t first = 4; first <= 8; first += 4) {
            tensor *view = gantry_tensor_view(scope, x, first, GANTRY_INT32, GANTRY_SHAPE(100, 2));
            function_fixture_call(scope, function, &view, 1, outputs, 3);
            assert_int_equal(memory_of(outputs[0]) == memory_of(view), first == 8);
            assert_true(memory_of(outputs[1]) == memory_of(outputs[0]));
            assert_int_equal(gantry_tensor_dtype(outputs[1]), GANTRY_UINT8);
            expect_bytes(outputs[0], x, first);
            expect_bytes(outputs[1], x, first);
            assert_int_equal(memory_of(outputs[2]) % 8, 0);
            expect_bytes(outputs[2], x, 4);
        }
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* Sizes that are open until the call. */
static void casting_open(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                         void *user) {
    (void)user;
    tensor *at = gantry_where(scope, gantry_greater(scope, inputs[0], gantry_scalar_i32(scope, 1)));
    outputs[0] = gantry_bitcast(scope, at, GANTRY_INT32);
    assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[0]), &GANTRY_SHAPE(-1, 1, 2)));
    outputs[1] = gantry_bitcast(scope, outputs[0], GANTRY_INT64);
}

/* A number of a shape is not that of its bits. */
static void reshaping(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)user;
    const int32_t words[] = {2, 0, 2, 0};
    tensor *sizes = gantry_bitcast(
        scope, gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2, 2), words, sizeof words),
        GANTRY_INT64);
    size_t count = 1;
    (void)gantry_op_call(scope, "Reshape", (tensor *[]){inputs[0], sizes}, 2, NULL, 0, outputs,
                         &count);
}

TEST(bitcast_in_a_function_has_open_sizes_and_numbers) {
    const gantry_input_spec_t input = SPEC_I32(4);
    for (uint32_t off = 0; off < 2; ++off) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 0);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = off ? GANTRY_PASS_ALL : 0};
        tensor *x = I32(scope, 0, 1, 2, 3), *outputs[2];
        gantry_function_t *function =
            function_fixture_trace(f.runtime, casting_open, NULL, &input, 1, 2, &options);
        function_fixture_call(scope, function, &x, 1, outputs, 2);
        EXPECT_I32(outputs[0], 2, 0, 3, 0);
        assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[1]), &GANTRY_SHAPE(2, 1)));
        gantry_function_release(function);
        function = function_fixture_trace(f.runtime, reshaping, NULL, &input, 1, 1, &options);
        function_fixture_call(scope, function, &x, 1, outputs, 1);
        assert_true(gantry_shape_equal(gantry_tensor_shape(outputs[0]), &GANTRY_SHAPE(2, 2)));
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* y is as many elements as x, in half of its bytes: one after the other is written over. */
static void overlapping(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    (void)user;
    tensor *x = gantry_add(scope, inputs[0], inputs[0]);
    const int64_t begin[] = {0}, half[] = {COUNT / 2};
    tensor *first = gantry_slice(scope, x, begin, half);
    tensor *words =
        gantry_reshape(scope, gantry_bitcast(scope, first, GANTRY_INT32), GANTRY_SHAPE(COUNT));
    outputs[0] = gantry_add(scope, gantry_add(scope, x, gantry_cast(scope, words, GANTRY_FLOAT64)),
                            inputs[0]);
    outputs[0] =
        gantry_sum(scope, outputs[0],
                   &(gantry_reduce_options_t){.struct_size = sizeof(gantry_reduce_options_t)});
}

TEST(bitcast_of_a_part_keeps_its_bytes) {
    const gantry_input_spec_t input = {NULL, GANTRY_FLOAT64, GANTRY_SHAPE(COUNT)};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    double values[COUNT], sums[2];
    for (int i = 0; i < COUNT; ++i) values[i] = 1.0 / (i + 1);
    tensor *x = gantry_constant(scope, GANTRY_FLOAT64, GANTRY_SHAPE(COUNT), values, sizeof values);
    for (uint32_t off = 0; off < 2; ++off) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = off ? GANTRY_PASS_ALL : 0};
        tensor *sum;
        gantry_function_t *function =
            function_fixture_trace(f.runtime, overlapping, NULL, &input, 1, 1, &options);
        function_fixture_call(scope, function, &x, 1, &sum, 1);
        assert_int_equal(gantry_tensor_read(sum, &sums[off], sizeof sums[off]), GANTRY_OK);
        gantry_function_release(function);
    }
    assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
