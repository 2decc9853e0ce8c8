/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Float8_e4m3fn and float8_e5m2 cast exactly and rounded once: all their values, all
 * halves, and the borders of float32 and float64.
 * Promise: A function of casts to and from float8 has the bits of single ops.
 * Promise: Ops move float8 bit for bit, and an op that computes refuses it by name.
 * Promise: Float8 is printed, saved as .npy under the names of ml_dtypes, and loaded again. */
#include "float8_case.h"
#include "test.h"

static gantry_runtime_t *start(void) {
    gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

TEST(the_cpu_casts_and_moves_it) {
    gantry_runtime_t *runtime = start();
    float8_check(runtime, "/CPU:0", true);
    gantry_runtime_release(runtime);
}

/* Casts between elementwise ops, which a function fuses where it can. */
static void body(gantry_scope_t *s, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    const gantry_dtype_t *dtype = user;
    const gantry_tensor_t *twice = gantry_add(s, inputs[0], inputs[0]);
    const gantry_tensor_t *low = gantry_cast(s, gantry_neg(s, twice), *dtype);
    outputs[0] = gantry_neg(s, gantry_cast(s, low, GANTRY_FLOAT32));
    outputs[1] = gantry_identity(s, low);
}

TEST(a_function_casts_as_single_ops_do) {
    const gantry_dtype_t dtypes[] = {GANTRY_FLOAT8_E5M2, GANTRY_FLOAT8_E4M3FN};
    float x[100], wide[100], eager_wide[100];
    unsigned char low[100], eager_low[100];
    for (int i = 0; i < 100; ++i) x[i] = ldexpf((float)(i - 50), i % 13 - 6);
    gantry_runtime_t *runtime = start();
    for (int d = 0; d < 2; ++d) {
        const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(100)};
        const gantry_tensor_t *outputs[2], *eager[2];
        gantry_function_t *function;
        gantry_scope_t *s = gantry_scope_begin(runtime, "/CPU:0");
        gantry_dtype_t dtype = dtypes[d];
        assert_int_equal(
            gantry_function_trace(runtime, "low", body, &dtype, &spec, 1, 2, NULL, &function),
            GANTRY_OK);
        const gantry_tensor_t *t =
            gantry_constant(s, GANTRY_FLOAT32, GANTRY_SHAPE(100), x, sizeof x);
        assert_int_equal(gantry_function_call(s, function, &t, 1, outputs, 2), GANTRY_OK);
        body(s, &t, eager, &dtype);
        float8_read(outputs[0], wide, sizeof wide);
        float8_read(outputs[1], low, sizeof low);
        float8_read(eager[0], eager_wide, sizeof eager_wide);
        float8_read(eager[1], eager_low, sizeof eager_low);
        assert_memory_equal(wide, eager_wide, sizeof wide);
        assert_memory_equal(low, eager_low, sizeof low);
        float8_check_scope(s);
        gantry_function_release(function);
    }
    gantry_runtime_release(runtime);
}

TEST(texts_are_shortest_digits) {
    char text[128];
    const unsigned char e4m3[] = {0x38, 0x3c, 0x0f, 0x77, 0x80, 0x7f},
                        e5m2[] = {0x3c, 0x3e, 0x28, 0x7c, 0xfc, 0x7e};
    gantry_runtime_t *runtime = start();
    gantry_scope_t *s = gantry_scope_begin(runtime, "/CPU:0");
    const gantry_tensor_t *t[] = {
        gantry_constant(s, GANTRY_FLOAT8_E4M3FN, GANTRY_SHAPE(6), e4m3, 6),
        gantry_constant(s, GANTRY_FLOAT8_E5M2, GANTRY_SHAPE(6), e5m2, 6),
        gantry_constant(s, GANTRY_FLOAT8_E5M2, GANTRY_SCALAR, e5m2 + 1, 1)};
    static const char *const wanted[] = {"[ 1.0e+00  1.5e+00  2.9e-02  2.4e+02 -0.0e+00      nan]",
                                         "[1.   1.5  0.03  inf -inf  nan]", "1.5"};
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(gantry_tensor_format(t[i], NULL, text, sizeof text, NULL), GANTRY_OK);
        if (strcmp(text, wanted[i]) != 0) print_message("%s\n", text);
        assert_string_equal(text, wanted[i]);
    }
    float8_check_scope(s);
    gantry_runtime_release(runtime);
}

/* The headers that numpy.save of an array of ml_dtypes writes. */
TEST(npy_files_have_the_names_of_ml_dtypes) {
    static const struct {
        gantry_dtype_t dtype;
        const char *descr;
    } rows[] = {
        {GANTRY_FLOAT8_E5M2, "{'descr': '<f1', 'fortran_order': False, 'shape': (6,), }"},
        {GANTRY_FLOAT8_E4M3FN, "{'descr': '<V1', 'fortran_order': False, 'shape': (6,), }"}};
    const gantry_shape_t shape = GANTRY_SHAPE(6);
    for (int i = 0; i < 2; ++i) {
        char header[GANTRY_NPY_HEADER_BYTES + 6];
        unsigned char got[6];
        size_t bytes;
        gantry_dtype_t dtype;
        gantry_shape_t read;
        assert_int_equal(gantry_format_npy_header(rows[i].dtype, &shape, header, &bytes),
                         GANTRY_OK);
        assert_int_equal(bytes, 128);
        assert_memory_equal(header + 10, rows[i].descr, strlen(rows[i].descr));
        memcpy(header + bytes, "\x38\x3c\x0f\x77\x80\x7f", 6);
        assert_int_equal(gantry_parse_npy(header, bytes + 6, &dtype, &read, got, 6), GANTRY_OK);
        assert_int_equal(dtype, rows[i].dtype);
        assert_memory_equal(got, header + bytes, 6);
    }
}

int main(void) { return test_main(); }
