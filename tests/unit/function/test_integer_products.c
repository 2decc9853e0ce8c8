/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_matmul_integer and gantry_conv_integer pass operands, zero points and options on;
 * only the second operand may have a zero point.
 * Promise: A function of open sizes with products of small integers, and ops after them, has the
 * bits of the ops one by one, with passes and without. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static void expect_ints(gantry_scope_t *s, tensor *got, gantry_shape_t shape,
                        const int32_t *wanted) {
    int32_t values[64];
    const size_t bytes = (size_t)gantry_shape_elements(&shape) * sizeof *values;
    if (!got) fail_msg("%s", gantry_scope_message(s));
    assert_int_equal(gantry_tensor_dtype(got), GANTRY_INT32);
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), &shape));
    assert_int_equal(gantry_tensor_read(got, values, bytes), GANTRY_OK);
    assert_memory_equal(values, wanted, bytes);
}

static tensor *bytes_of(gantry_scope_t *s, gantry_dtype_t dtype, gantry_shape_t shape,
                        const char *values) {
    return gantry_constant(s, dtype, shape, values, (size_t)gantry_shape_elements(&shape));
}

TEST(matmul_integer_takes_zero_points_and_transposes) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    tensor *a = bytes_of(s, GANTRY_INT8, GANTRY_SHAPE(2, 2), (const char[]){1, -2, 3, 4});
    tensor *b = bytes_of(s, GANTRY_UINT8, GANTRY_SHAPE(2, 2), (const char[]){(char)200, 1, 2, 3});
    tensor *rows = bytes_of(s, GANTRY_INT8, GANTRY_SHAPE(2), (const char[]){1, 2});
    tensor *one = bytes_of(s, GANTRY_UINT8, (gantry_shape_t){.rank = 0}, (const char[]){1});
    const gantry_matmul_options_t turned = {.transpose_a = true, .transpose_b = true};
    expect_ints(s, gantry_matmul_integer(s, a, b, NULL, NULL, NULL), GANTRY_SHAPE(2, 2),
                (const int32_t[]){196, -5, 608, 15});
    expect_ints(s, gantry_matmul_integer(s, a, b, NULL, one, NULL), GANTRY_SHAPE(2, 2),
                (const int32_t[]){197, -4, 601, 8});
    expect_ints(s, gantry_matmul_integer(s, a, b, rows, one, NULL), GANTRY_SHAPE(2, 2),
                (const int32_t[]){-3, -6, 201, 4});
    expect_ints(s, gantry_matmul_integer(s, a, b, NULL, NULL, &turned), GANTRY_SHAPE(2, 2),
                (const int32_t[]){203, 11, -396, 8});
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

TEST(conv_integer_takes_zero_points_and_options) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *s = runtime_fixture_scope(&f, "CPU:0");
    const gantry_window_options_t strides = {.strides = {2, 1}, .channels_first = true};
    tensor *x = bytes_of(s, GANTRY_UINT8, GANTRY_SHAPE(1, 2, 2, 1), (const char[]){1, 2, 3, 4});
    tensor *first = bytes_of(s, GANTRY_UINT8, GANTRY_SHAPE(1, 1, 2, 2), (const char[]){1, 2, 3, 4});
    tensor *w = bytes_of(s, GANTRY_INT8, GANTRY_SHAPE(2, 2, 1, 1), (const char[]){1, -1, 2, 3});
    tensor *z = bytes_of(s, GANTRY_UINT8, GANTRY_SHAPE(1), (const char[]){2});
    tensor *y = bytes_of(s, GANTRY_INT8, GANTRY_SHAPE(1), (const char[]){1});
    expect_ints(s, gantry_conv_integer(s, x, w, NULL, NULL, NULL), GANTRY_SHAPE(1, 2, 2, 1),
                (const int32_t[]){17, 10, -1, 4});
    expect_ints(s, gantry_conv_integer(s, x, w, z, y, NULL), GANTRY_SHAPE(1, 2, 2, 1),
                (const int32_t[]){5, 2, -4, 0});
    expect_ints(s, gantry_conv_integer(s, first, w, NULL, y, &strides), GANTRY_SHAPE(1, 1, 1, 2),
                (const int32_t[]){7, 4});
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

/* A layer of a quantized net: its product, made float32, scaled, and cut at 0. */
static void quantized_layer(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    (void)user;
    tensor *product = gantry_matmul_integer(s, in[0], in[1], in[2], NULL, NULL);
    tensor *scaled =
        gantry_mul(s, gantry_cast(s, product, GANTRY_FLOAT32), gantry_scalar_f32(s, 0.37f));
    out[0] = gantry_relu(s, gantry_add(s, scaled, in[3]));
    out[1] = gantry_add(s, product, product);
}

TEST(function_of_open_rows_has_the_bits_of_the_ops) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    static const gantry_input_spec_t specs[] = {
        {"x", GANTRY_UINT8, {.rank = 2, .dims = {GANTRY_OPEN_SIZE, 37}}},
        {"w", GANTRY_INT8, {.rank = 2, .dims = {37, 21}}},
        {"z", GANTRY_UINT8, {.rank = 0}},
        {"b", GANTRY_FLOAT32, {.rank = 1, .dims = {21}}}};
    for (int round = 0; round < 4; ++round) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = round / 2 ? GANTRY_PASS_ALL : 0};
        char bytes[40 * 37];
        float bias[21];
        static float values[2][40 * 21];
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *s = runtime_fixture_scope(&f, devices[round % 2]);
        for (int i = 0; i < 40 * 37; ++i) bytes[i] = (char)(i * 37 + i / 5);
        for (int i = 0; i < 21; ++i) bias[i] = (float)i - 9.5f;
        gantry_function_t *function =
            function_fixture_trace(f.runtime, quantized_layer, NULL, specs, 4, 2, &options);
        for (int64_t rows = 1; rows <= 40; rows += 39) {
            tensor *in[] = {
                bytes_of(s, GANTRY_UINT8, GANTRY_SHAPE(rows, 37), bytes),
                bytes_of(s, GANTRY_INT8, GANTRY_SHAPE(37, 21), bytes + 100),
                bytes_of(s, GANTRY_UINT8, (gantry_shape_t){.rank = 0}, bytes + 3),
                gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(21), bias, sizeof bias)};
            tensor *got[2], *expected[2];
            function_fixture_call(s, function, in, 4, got, 2);
            quantized_layer(s, in, expected, NULL);
            for (int i = 0; i < 2; ++i) {
                const size_t size = (size_t)rows * 21 * sizeof **values;
                assert_int_equal(gantry_tensor_read(got[i], values[0], size), GANTRY_OK);
                assert_int_equal(gantry_tensor_read(expected[i], values[1], size), GANTRY_OK);
                assert_memory_equal(values[0], values[1], size);
            }
        }
        gantry_function_release(function);
        expect_ended_well(s);
        runtime_fixture_close(&f);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
