/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Ops move complex128 bit for bit, singly and in a function, and an op that computes
 * refuses it by name.
 * Promise: Complex128 is printed with the digits of float64, saved as .npy under NumPy's name, and
 * loaded again, from either byte order. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "complex128_case.h"
#include "test.h"

static gantry_runtime_t *start(void) {
    gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

TEST(the_cpu_moves_it) {
    gantry_runtime_t *runtime = start();
    complex128_check(runtime, "/CPU:0");
    gantry_runtime_release(runtime);
}

static void body(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    static const int32_t places[] = {2, 0};
    (void)user;
    const gantry_tensor_t *turned = gantry_transpose(s, inputs[0], NULL);
    outputs[0] = gantry_gather(s, turned, complex128_ints(s, GANTRY_SHAPE(2), places), 0);
    outputs[1] = gantry_pad(s, gantry_ones_like(s, turned), (int64_t[]){0, 0, 1, 0}, NULL);
}

TEST(a_function_moves_it) {
    const gantry_input_spec_t spec = {"x", GANTRY_COMPLEX128, GANTRY_SHAPE(2, 3)};
    static const double wanted[] = {5, 6, 11, 12, 1, 2, 7, 8};
    double x[12], picked[8], padded[18];
    const gantry_tensor_t *outputs[2];
    gantry_function_t *function;
    gantry_runtime_t *runtime = start();
    gantry_scope_t *s = gantry_scope_begin(runtime, "/CPU:0");
    for (int i = 0; i < 12; ++i) x[i] = i + 1;
    assert_int_equal(
        gantry_function_trace(runtime, "moves", body, NULL, &spec, 1, 2, NULL, &function),
        GANTRY_OK);
    const gantry_tensor_t *t =
        gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SHAPE(2, 3), x, sizeof x);
    assert_int_equal(gantry_function_call(s, function, &t, 1, outputs, 2), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[0], picked, sizeof picked), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(outputs[1], padded, sizeof padded), GANTRY_OK);
    assert_memory_equal(picked, wanted, sizeof wanted);
    for (int i = 0; i < 9; ++i)
        assert_memory_equal(padded + 2 * i, ((double[]){i % 3 > 0, 0}), 2 * sizeof padded[0]);
    complex128_end(s);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

/* As NumPy writes them; the first text is that of complex64, too. */
TEST(texts_have_the_digits_of_float64) {
    static const double pair[] = {1, 2, 0.5, -1e-3}, third[] = {1 / 3.0, -0x1p-52};
    static const char *const wanted[] = {"[1. +2.e+00j 0.5-1.e-03j]",
                                         "(0.3333333333333333-2.220446049250313e-16j)"};
    char text[128];
    gantry_runtime_t *runtime = start();
    gantry_scope_t *s = gantry_scope_begin(runtime, "/CPU:0");
    const gantry_tensor_t *t[] = {
        gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SHAPE(2), pair, sizeof pair),
        gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SCALAR, third, sizeof third)};
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(gantry_tensor_format(t[i], NULL, text, sizeof text, NULL), GANTRY_OK);
        assert_string_equal(text, wanted[i]);
    }
    complex128_end(s);
    gantry_runtime_release(runtime);
}

TEST(npy_files_are_saved_and_loaded) {
    static const double x[] = {1, -2, 0x1p-1074, 1e300, -0.0, 3};
    char path[] = "/tmp/gantry_complex128_XXXXXX";
    double got[6];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    gantry_runtime_t *runtime = start();
    gantry_scope_t *s = gantry_scope_begin(runtime, "/CPU:0");
    const gantry_tensor_t *t = gantry_constant(s, GANTRY_COMPLEX128, GANTRY_SHAPE(3), x, sizeof x);
    assert_int_equal(gantry_save_npy(s, t, path), GANTRY_OK);
    const gantry_tensor_t *loaded = gantry_load_npy(s, path);
    assert_non_null(loaded);
    assert_int_equal(gantry_tensor_dtype(loaded), GANTRY_COMPLEX128);
    assert_int_equal(gantry_tensor_read(loaded, got, sizeof got), GANTRY_OK);
    assert_memory_equal(got, x, sizeof x);
    complex128_end(s);
    gantry_runtime_release(runtime);
    assert_int_equal(unlink(path), 0);
}

/* Of the other byte order each part is turned, not the whole. */
TEST(npy_parts_are_turned_apart) {
    const gantry_shape_t shape = GANTRY_SHAPE(1);
    const double wanted[] = {1, -2};
    char npy[GANTRY_NPY_HEADER_BYTES + 16];
    double got[2];
    size_t bytes;
    gantry_dtype_t dtype;
    gantry_shape_t read;
    assert_int_equal(gantry_format_npy_header(GANTRY_COMPLEX128, &shape, npy, &bytes), GANTRY_OK);
    assert_memory_equal(npy + 10, "{'descr': '<c16'", 16);
    npy[21] = '>';
    memcpy(npy + bytes, "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16);
    assert_int_equal(gantry_parse_npy(npy, bytes + 16, &dtype, &read, got, sizeof got), GANTRY_OK);
    assert_int_equal(dtype, GANTRY_COMPLEX128);
    assert_memory_equal(got, wanted, sizeof wanted);
}

int main(void) { return test_main(); }
