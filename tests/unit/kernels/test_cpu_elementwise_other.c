/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Cast, Select, Fill, ZerosLike, OnesLike, Range, AddN and BiasAdd of the CPU backend
 * agree with scalar C.
 *
 * Lgamma leaves the C library's global state to the program. */
#define _DEFAULT_SOURCE /* signgam */
#include <limits.h>
#include <math.h>

#include "cpu_kernel_call.h"
#include "test.h"

#define LEVELS (gantry__cpu_simd_detect(NULL) + 1)
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

static const gantry_kernel_def_t *find(const char *op) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_elementwise_kernels, gantry__cpu_elementwise_kernel_count, op);
    assert_non_null(kernel);
    return kernel;
}

static gantry_arg_t *tensor_of(cpu_call_t *device, int32_t dtype, int64_t count,
                               const void *values) {
    gantry_arg_t *arg = cpu_tensor(device, dtype, 1, &count);
    memcpy(arg->data, values, (size_t)count * gantry__k_size(dtype));
    return arg;
}

/* ---- Cast ---- */

static void cast_is(int32_t from, const void *x, int64_t count, int32_t to, const void *want,
                    int truncate) {
    const gantry_attr_t attr = {
        .struct_size = sizeof attr, .kind = GANTRY_ATTR_BOOL, .name = "Truncate", .i = truncate};
    const gantry_attr_t *attrs[1] = {&attr};
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_t device;
        cpu_call_open(&device, level, 1);
        /* The values repeat, so that both the vector code and the scalar tail see each of them. */
        const int64_t total = count * 19;
        gantry_arg_t *in = cpu_tensor(&device, from, 1, &total);
        gantry_arg_t *out = cpu_tensor(&device, to, 1, &total);
        const gantry_arg_t *inputs[1] = {in};
        for (int i = 0; i < 19; ++i) {
            memcpy((char *)in->data + i * count * gantry__k_size(from), x,
                   (size_t)count * gantry__k_size(from));
        }
        assert_int_equal(cpu_compute(&device, find("Cast"), inputs, 1, out, attrs, 1), 0);
        for (int i = 0; i < 19; ++i) {
            assert_memory_equal((char *)out->data + i * count * gantry__k_size(to), want,
                                (size_t)count * gantry__k_size(to));
        }
        cpu_call_close(&device);
    }
}

TEST(cast_float_out_of_range_saturates_and_nan_is_zero) {
    const float f[] = {NAN,   INFINITY,      -INFINITY,      3e9f,
                       -3e9f, 2147483648.0f, -2147483648.0f, 2147483520.0f,
                       1.9f,  -1.9f,         -0.0f,          1e-40f};
    const int32_t f_i32[] = {0,         INT32_MAX,  INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX,
                             INT32_MIN, 2147483520, 1,         -1,        0,         0};
    const float g[] = {
        NAN,  INFINITY, -INFINITY, 1e19f, -1e19f, 9223372036854775808.0f, -9223372036854775808.0f,
        3e9f, -1.5f};
    const int64_t g_i64[] = {0,         INT64_MAX, INT64_MIN,  INT64_MAX, INT64_MIN,
                             INT64_MAX, INT64_MIN, 3000000000, -1};
    const double d[] = {NAN,           1e10,          -1e10,        2147483647.9,
                        -2147483648.9, -2147483649.0, 2147483648.0, 0.99};
    const int32_t d_i32[] = {0,         INT32_MAX, INT32_MIN, INT32_MAX,
                             INT32_MIN, INT32_MIN, INT32_MAX, 0};
    const double e[] = {
        NAN, 1e300, -1e300, 9223372036854775808.0, -9223372036854775808.0, 9223372036854774784.0};
    const int64_t e_i64[] = {0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 9223372036854774784};
    cast_is(GANTRY_FLOAT32, f, COUNT(f), GANTRY_INT32, f_i32, 0);
    cast_is(GANTRY_FLOAT32, g, COUNT(g), GANTRY_INT64, g_i64, 0);
    cast_is(GANTRY_FLOAT64, d, COUNT(d), GANTRY_INT32, d_i32, 0);
    cast_is(GANTRY_FLOAT64, e, COUNT(e), GANTRY_INT64, e_i64, 0);
}

TEST(cast_to_bool_is_not_equal_to_zero) {
    const float f[] = {0.0f, -0.0f, 1e-45f, NAN, -2.0f};
    const uint8_t f_b[] = {0, 0, 1, 1, 1};
    const int64_t i[] = {0, INT64_C(1) << 32, -1};
    const uint8_t i_b[] = {0, 1, 1};
    cast_is(GANTRY_FLOAT32, f, COUNT(f), GANTRY_BOOL, f_b, 0);
    cast_is(GANTRY_INT64, i, COUNT(i), GANTRY_BOOL, i_b, 0);
}

TEST(cast_between_widths_wraps_rounds_and_truncates) {
    const int64_t i[] = {INT64_C(0x1234567890), -1, INT64_MIN, 16777217};
    const int32_t i_i32[] = {0x34567890, -1, 0, 16777217};
    const float i_f32[] = {78187493376.0f, -1.0f, -9223372036854775808.0f, 16777216.0f};
    const double d[] = {0.1, -0.1, 1e300, -1e300, 1.0, 1e-46, -1e-46, 0.0};
    const float nearest[] = {0.1f, -0.1f, INFINITY, -INFINITY, 1.0f, 0.0f, -0.0f, 0.0f};
    const float truncated[] = {0x1.999998p-4f,
                               -0x1.999998p-4f,
                               0x1.fffffep127f,
                               -0x1.fffffep127f,
                               1.0f,
                               0.0f,
                               -0.0f,
                               0.0f};
    const uint8_t b[] = {0, 1};
    const double b_f64[] = {0.0, 1.0};
    cast_is(GANTRY_INT64, i, COUNT(i), GANTRY_INT32, i_i32, 0);
    cast_is(GANTRY_INT64, i, COUNT(i), GANTRY_FLOAT32, i_f32, 0);
    cast_is(GANTRY_FLOAT64, d, COUNT(d), GANTRY_FLOAT32, nearest, 0);
    cast_is(GANTRY_FLOAT64, d, COUNT(d), GANTRY_FLOAT32, truncated, 1);
    cast_is(GANTRY_BOOL, b, COUNT(b), GANTRY_FLOAT64, b_f64, 0);
}

/* ---- Select ---- */

TEST(select_broadcast_operands_matches_scalar_code) {
    static const int32_t types[] = {GANTRY_BOOL, GANTRY_FLOAT16, GANTRY_INT32, GANTRY_INT64};
    const int64_t c_dims[] = {5000, 1}, x_dims[] = {7}, out_dims[] = {5000, 7};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
        for (int level = 0; level < LEVELS; ++level) {
            cpu_call_t device;
            cpu_call_open(&device, level, 2);
            const uint32_t bytes = gantry__k_size(types[t]);
            gantry_arg_t *c = cpu_tensor(&device, GANTRY_BOOL, 2, c_dims);
            gantry_arg_t *x = cpu_tensor(&device, types[t], 1, x_dims);
            gantry_arg_t *y = cpu_tensor(&device, types[t], 2, out_dims);
            gantry_arg_t *out = cpu_tensor(&device, types[t], 2, out_dims);
            for (int64_t i = 0; i < 5000; ++i) ((uint8_t *)c->data)[i] = (uint8_t)(i % 3 == 0);
            for (int64_t i = 0; i < 7 * bytes; ++i) ((uint8_t *)x->data)[i] = (uint8_t)(i + 1);
            for (int64_t i = 0; i < 35000 * bytes; ++i)
                ((uint8_t *)y->data)[i] = (uint8_t)(i * 7 + 3);
            const gantry_arg_t *in[3] = {c, x, y};
            assert_int_equal(cpu_compute(&device, find("Select"), in, 3, out, NULL, 0), 0);
            for (int64_t i = 0; i < 35000; ++i) {
                const char *want =
                    i / 7 % 3 == 0 ? (char *)x->data + i % 7 * bytes : (char *)y->data + i * bytes;
                assert_memory_equal((char *)out->data + i * bytes, want, bytes);
            }
            cpu_call_close(&device);
        }
    }
}

/* ---- Fill, ZerosLike, OnesLike ---- */

TEST(fill_every_type_and_size_fills_all) {
    static const int64_t counts[] = {1, 3, 31, 1000, 200003, 7 << 20};
    const int64_t value = 0x0102030405060708;
    for (int level = 0; level < LEVELS; ++level) {
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; ++k) {
            static const int32_t types[] = {GANTRY_BOOL, GANTRY_BFLOAT16, GANTRY_FLOAT32,
                                            GANTRY_INT64};
            for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
                cpu_call_t device;
                cpu_call_open(&device, level, 2);
                const uint32_t bytes = gantry__k_size(types[t]);
                gantry_arg_t *v = tensor_of(&device, types[t], 1, &value);
                gantry_arg_t *out = cpu_tensor(&device, types[t], 1, &counts[k]);
                const gantry_arg_t *in[2] = {v, v};
                assert_int_equal(cpu_compute(&device, find("Fill"), in, 2, out, NULL, 0), 0);
                assert_memory_equal(out->data, &value, bytes);
                /* all equal: each element equals the one before */
                assert_memory_equal(out->data, (char *)out->data + bytes,
                                    (size_t)(counts[k] - 1) * bytes);
                cpu_call_close(&device);
            }
        }
    }
}

TEST(likes_give_zero_and_one_of_the_type) {
    const int64_t count = 5;
    const double one_f64 = 1.0;
    const float one_f32 = 1.0f;
    const int32_t one_i32 = 1;
    const int64_t one_i64 = 1;
    const uint8_t one_b8 = 1;
    const uint16_t one_f16 = 0x3c00, one_bf16 = 0x3f80, one_u16 = 1;
    const float one_c64[] = {1.0f, 0.0f};
    const int64_t zero = 0;
    const struct {
        int32_t dtype;
        const void *one;
    } cases[] = {
        {GANTRY_FLOAT64, &one_f64},   {GANTRY_FLOAT32, &one_f32}, {GANTRY_INT32, &one_i32},
        {GANTRY_INT64, &one_i64},     {GANTRY_BOOL, &one_b8},     {GANTRY_FLOAT16, &one_f16},
        {GANTRY_BFLOAT16, &one_bf16}, {GANTRY_UINT16, &one_u16},  {GANTRY_COMPLEX64, one_c64}};
    cpu_call_t device;
    cpu_call_open(&device, -1, 1);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        gantry_arg_t *out = cpu_tensor(&device, cases[c].dtype, 1, &count);
        const gantry_arg_t *in[1] = {out};
        assert_int_equal(cpu_compute(&device, find("OnesLike"), in, 1, out, NULL, 0), 0);
        assert_memory_equal((char *)out->data + 4 * gantry__k_size(cases[c].dtype), cases[c].one,
                            gantry__k_size(cases[c].dtype));
        assert_int_equal(cpu_compute(&device, find("ZerosLike"), in, 1, out, NULL, 0), 0);
        assert_memory_equal((char *)out->data + 4 * gantry__k_size(cases[c].dtype), &zero,
                            gantry__k_size(cases[c].dtype));
    }
    cpu_call_close(&device);
}

/* ---- Range ---- */

TEST(range_is_start_plus_index_times_delta) {
    const float start = 0.5f, delta = 0.1f;
    const int32_t i_start = INT32_MAX - 2, i_delta = 3;
    const int64_t count = 70001;
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_t device;
        cpu_call_open(&device, level, 2);
        gantry_arg_t *s = tensor_of(&device, GANTRY_FLOAT32, 1, &start);
        const gantry_arg_t *in[3] = {s, s, tensor_of(&device, GANTRY_FLOAT32, 1, &delta)};
        gantry_arg_t *out = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
        assert_int_equal(cpu_compute(&device, find("Range"), in, 3, out, NULL, 0), 0);
        for (int64_t i = 0; i < count; ++i) {
            volatile float product = (float)i * delta; /* each element is rounded once */
            float want = start + product;
            assert_memory_equal((float *)out->data + i, &want, sizeof want);
        }
        const gantry_arg_t *ints[3] = {tensor_of(&device, GANTRY_INT32, 1, &i_start), s,
                                       tensor_of(&device, GANTRY_INT32, 1, &i_delta)};
        out = cpu_tensor(&device, GANTRY_INT32, 1, &count);
        assert_int_equal(cpu_compute(&device, find("Range"), ints, 3, out, NULL, 0), 0);
        assert_int_equal(((int32_t *)out->data)[0], INT32_MAX - 2);
        assert_int_equal(((int32_t *)out->data)[1], INT32_MIN); /* it wraps around */
        cpu_call_close(&device);
    }
}

/* ---- AddN, BiasAdd ---- */

TEST(add_n_many_inputs_adds_from_left_to_right) {
    const int64_t count = 40001;
    for (int level = 0; level < LEVELS; ++level) {
        for (uint32_t n = 1; n <= 12; n += 3) {
            cpu_call_t device;
            cpu_call_open(&device, level, 2);
            const gantry_arg_t *in[12];
            gantry_arg_t *last = NULL;
            for (uint32_t k = 0; k < n; ++k) {
                last = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
                for (int64_t i = 0; i < count; ++i)
                    ((float *)last->data)[i] =
                        ldexpf((float)(i % 1001) - 500, (int)(i * k % 40) - 20);
                in[k] = last;
            }
            gantry_arg_t *out = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
            assert_int_equal(cpu_compute(&device, find("AddN"), in, n, out, NULL, 0), 0);
            for (int64_t i = 0; i < count; ++i) {
                float sum = ((const float *)in[0]->data)[i];
                for (uint32_t k = 1; k < n; ++k) sum += ((const float *)in[k]->data)[i];
                assert_memory_equal((float *)out->data + i, &sum, sizeof sum);
            }
            /* the result overwrites its last input */
            assert_int_equal(cpu_compute(&device, find("AddN"), in, n, last, NULL, 0), 0);
            assert_memory_equal(out->data, last->data, (size_t)count * 4);
            cpu_call_close(&device);
        }
    }
}

static void bias_is_added(const char *format, int32_t rank, const int64_t *dims, int32_t channel) {
    const gantry_attr_t attr = {
        .struct_size = sizeof attr, .kind = GANTRY_ATTR_STRING, .name = "data_format", .s = format};
    const gantry_attr_t *attrs[1] = {&attr};
    cpu_call_t device;
    cpu_call_open(&device, -1, 2);
    gantry_arg_t *x = cpu_tensor(&device, GANTRY_INT32, rank, dims);
    gantry_arg_t *bias = cpu_tensor(&device, GANTRY_INT32, 1, &dims[channel]);
    gantry_arg_t *out = cpu_tensor(&device, GANTRY_INT32, rank, dims);
    int64_t inner = 1;
    for (int32_t d = channel + 1; d < rank; ++d) inner *= dims[d];
    for (int64_t i = 0; i < x->element_count; ++i) ((int32_t *)x->data)[i] = (int32_t)i;
    for (int64_t i = 0; i < dims[channel]; ++i)
        ((int32_t *)bias->data)[i] = (int32_t)(1000000 * (i + 1));
    const gantry_arg_t *in[2] = {x, bias};
    assert_int_equal(cpu_compute(&device, find("BiasAdd"), in, 2, out, attrs, 1), 0);
    for (int64_t i = 0; i < x->element_count; ++i) {
        assert_int_equal(((int32_t *)out->data)[i], i + 1000000 * (i / inner % dims[channel] + 1));
    }
    cpu_call_close(&device);
}

TEST(bias_add_both_formats_adds_along_the_channel) {
    static const int64_t dims[] = {3, 5, 4, 60};
    bias_is_added("NHWC", 2, dims, 1);
    bias_is_added("NHWC", 4, dims, 3);
    bias_is_added("NCHW", 4, dims, 1);
    bias_is_added("NCHW", 3, dims, 1);
    bias_is_added("NHWC", 1, dims, 0);
    bias_is_added("NHWC", 2, (const int64_t[]){20000, 3}, 1);
    bias_is_added("NHWC", 2, (const int64_t[]){20, 1}, 1);
}

/* ---- Lgamma ---- */

TEST(lgamma_leaves_the_programs_sign) {
    const double x[2] = {-0.5, 0.5}; /* gamma(-0.5) is negative */
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_t device;
        cpu_call_open(&device, level, 1);
        const gantry_arg_t *in[1] = {tensor_of(&device, GANTRY_FLOAT64, 2, x)};
        gantry_arg_t *out = cpu_tensor(&device, GANTRY_FLOAT64, 1, (int64_t[]){2});
        signgam = 7;
        assert_int_equal(cpu_compute(&device, find("Lgamma"), in, 1, out, NULL, 0), 0);
        assert_int_equal(signgam, 7);
        assert_true(fabs(((const double *)out->data)[0] - 1.2655121234846454) < 1e-14);
        cpu_call_close(&device);
    }
}

int main(void) { return test_main(); }
