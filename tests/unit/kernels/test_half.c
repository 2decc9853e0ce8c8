/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Float16 and bfloat16 convert exactly: every value is widened, every border between two
 * values is narrowed, and the CPU multiplies matrices of halves.
 * Promise: Products of float16 and bfloat16 matrices on the CPU are sums in float32, rounded once.
 *
 * The expected values come from arithmetic on doubles, not from bits. */
#include <math.h>

#include "cpu_kernel_call.h"
#include "test.h"

#define LEVELS (gantry__cpu_simd_detect(NULL) + 1)
#define BORDERS (3 * 0x8000)

static const int32_t halves[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16};

/* Exponent and fraction of the type, and infinity's bits. */
typedef struct half_t {
    int fraction_bits;
    int least_step; /* denormals are multiples of 2^least_step */
    uint16_t infinity;
} half_t;

static half_t half_of(int32_t dtype) {
    return dtype == GANTRY_FLOAT16 ? (half_t){10, -24, 0x7c00} : (half_t){7, -133, 0x7f80};
}

static double number_of(int32_t dtype, uint16_t bits) {
    const half_t half = half_of(dtype);
    const int fraction = bits & ((1 << half.fraction_bits) - 1);
    const int exponent = (bits & 0x7fff) >> half.fraction_bits;
    double value = ldexp(fraction, half.least_step);

    if ((bits & 0x7fff) > half.infinity) {
        return (double)NAN;
    }
    if ((bits & 0x7fff) == half.infinity) {
        value = (double)INFINITY;
    } else if (exponent > 0) {
        value = ldexp(fraction + (1 << half.fraction_bits), half.least_step + exponent - 1);
    }
    return bits >> 15 ? -value : value;
}

static gantry_arg_t *cast(cpu_call_t *device, const gantry_arg_t *x, int32_t to, int truncate) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_elementwise_kernels, gantry__cpu_elementwise_kernel_count, "Cast");
    const gantry_attr_t attr = {
        .struct_size = sizeof attr, .kind = GANTRY_ATTR_BOOL, .name = "Truncate", .i = truncate};
    const gantry_attr_t *attrs[1] = {&attr};
    gantry_arg_t *out = cpu_tensor(device, to, x->rank, x->dims);

    assert_int_equal(cpu_compute(device, kernel, &x, 1, out, attrs, 1), 0);
    return out;
}

/* ---- Cast ---- */

static void check_widened(cpu_call_t *device, int32_t dtype) {
    const int64_t count = 0x10000;
    gantry_arg_t *x = cpu_tensor(device, dtype, 1, &count);

    for (int64_t i = 0; i < count; ++i) {
        ((uint16_t *)x->data)[i] = (uint16_t)i;
    }
    const float *single = cast(device, x, GANTRY_FLOAT32, 0)->data;
    const double *wide = cast(device, x, GANTRY_FLOAT64, 0)->data;
    const uint8_t *truth = cast(device, x, GANTRY_BOOL, 0)->data;
    for (int64_t i = 0; i < count; ++i) {
        const double want = number_of(dtype, (uint16_t)i);
        if (isnan(want)) {
            assert_true(isnan(single[i]) && isnan(wide[i]));
        } else if ((double)single[i] != want || !signbit(single[i]) != !signbit(want) ||
                   wide[i] != want) {
            fail_msg("%#llx is %a and %a, not %a", (unsigned long long)i, (double)single[i],
                     wide[i], want);
        }
        assert_int_equal(truth[i], want != 0);
    }
    cpu_call_clear(device);
}

TEST(every_half_widens_to_its_number) {
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_t device;
        cpu_call_open(&device, level, 1);
        check_widened(&device, halves[0]);
        check_widened(&device, halves[1]);
        cpu_call_close(&device);
    }
}

/* Rounding is monotonous, so it is right everywhere if it is right at each value's two borders. A
 * border is the midpoint to the next value, which rounds to the even one of the two, and the
 * float32 on either side of it. The power of 2 above the largest value stands for infinity. */
static int64_t fill_borders(int32_t dtype, float *x, uint16_t *want) {
    const half_t half = half_of(dtype);
    int64_t count = 0;

    for (uint32_t bits = 0; bits < half.infinity; ++bits) {
        const double low = number_of(dtype, (uint16_t)bits);
        const double high = bits + 1u < half.infinity
                                ? number_of(dtype, (uint16_t)(bits + 1))
                                : 2 * low - number_of(dtype, (uint16_t)(bits - 1));
        const float middle = (float)((low + high) / 2);

        assert_true((double)middle == (low + high) / 2);
        x[count] = middle;
        want[count++] = (uint16_t)(bits + (bits & 1));
        x[count] = nextafterf(middle, -INFINITY);
        want[count++] = (uint16_t)bits;
        x[count] = nextafterf(middle, INFINITY);
        want[count++] = (uint16_t)(bits + 1);
    }
    return count;
}

static void check_narrowed(cpu_call_t *device, int32_t dtype, float sign) {
    static float values[BORDERS];
    static uint16_t want[BORDERS];
    const int64_t count = fill_borders(dtype, values, want);
    gantry_arg_t *x = cpu_tensor(device, GANTRY_FLOAT32, 1, &count);

    for (int64_t i = 0; i < count; ++i) {
        ((float *)x->data)[i] = sign * values[i];
    }
    const uint16_t *single = cast(device, x, dtype, 0)->data;
    const uint16_t *wide = cast(device, cast(device, x, GANTRY_FLOAT64, 0), dtype, 0)->data;
    for (int64_t i = 0; i < count; ++i) {
        const uint16_t signed_want = (uint16_t)(want[i] | (sign < 0 ? 0x8000 : 0));
        if (single[i] != signed_want || wide[i] != signed_want) {
            fail_msg("%a is %#x, as float64 %#x, not %#x", (double)(sign * values[i]), single[i],
                     wide[i], signed_want);
        }
    }
    cpu_call_clear(device);
}

TEST(every_border_between_two_halves_narrows_to_the_nearest) {
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_t device;
        cpu_call_open(&device, level, 1);
        for (int i = 0; i < 2; ++i) {
            check_narrowed(&device, halves[i], 1.0f);
            check_narrowed(&device, halves[i], -1.0f);
        }
        cpu_call_close(&device);
    }
}

static void narrow_is(const float *x, int64_t count, int32_t dtype, int truncate,
                      const uint16_t *want) {
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_t device;
        cpu_call_open(&device, level, 1);
        gantry_arg_t *in = cpu_tensor(&device, GANTRY_FLOAT32, 1, &count);
        memcpy(in->data, x, (size_t)count * sizeof *x);
        assert_memory_equal(cast(&device, in, dtype, truncate)->data, want,
                            (size_t)count * sizeof *want);
        cpu_call_close(&device);
    }
}

TEST(specials_and_truncation_are_as_defined) {
    const float specials[] = {NAN, -NAN, INFINITY, -INFINITY, -0.0f, 3e38f, -1e30f};
    const uint16_t as_f16[] = {0x7e00, 0x7e00, 0x7c00, 0xfc00, 0x8000, 0x7c00, 0xfc00};
    const uint16_t as_bf16[] = {0x7fc0, 0x7fc0, 0x7f80, 0xff80, 0x8000, 0x7f62, 0xf14a};
    const float long_ones[] = {1.9999999f, -1.9999999f, 65519.0f, INFINITY};
    const uint16_t cut_f16[] = {0x3fff, 0xbfff, 0x7bff, 0x7c00};
    const uint16_t cut_bf16[] = {0x3fff, 0xbfff, 0x477f, 0x7f80};

    narrow_is(specials, 7, GANTRY_FLOAT16, 0, as_f16);
    narrow_is(specials, 7, GANTRY_FLOAT16, 1, as_f16);
    narrow_is(specials, 7, GANTRY_BFLOAT16, 0, as_bf16);
    narrow_is(long_ones, 4, GANTRY_FLOAT16, 1, cut_f16);
    narrow_is(long_ones, 4, GANTRY_BFLOAT16, 1, cut_bf16);
}

/* ---- matrix products ---- */

/* Small multiples of 1/4, so that float32 holds every sum exactly. */
static gantry_arg_t *random_halves(cpu_call_t *device, int32_t dtype, int32_t rank,
                                   const int64_t *dims, uint32_t seed) {
    gantry_arg_t *x = cpu_tensor(device, GANTRY_FLOAT32, rank, dims);

    for (int64_t i = 0; i < x->element_count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        ((float *)x->data)[i] = (float)((int)(seed >> 27) - 16) / 4;
    }
    return cast(device, x, dtype, 0);
}

static double element(const gantry_arg_t *x, int64_t i) {
    return number_of(x->dtype, ((const uint16_t *)x->data)[i]);
}

/* c[batch, m, n] of a[batch, m, k] and b[batch or 1, n, k], with b transposed. */
static void check_batch_product(cpu_call_t *device, int32_t dtype, int64_t batch, int64_t m,
                                int64_t k, int64_t n) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_matmul_kernels, gantry__cpu_matmul_kernel_count, "BatchMatMul");
    const gantry_attr_t adjoint = {
        .struct_size = sizeof adjoint, .kind = GANTRY_ATTR_BOOL, .name = "adj_y", .i = 1};
    const gantry_attr_t *attrs[1] = {&adjoint};
    const int64_t b_batch = batch % 2 ? batch : 1;
    const gantry_arg_t *in[2] = {random_halves(device, dtype, 3, (int64_t[]){batch, m, k}, 1),
                                 random_halves(device, dtype, 3, (int64_t[]){b_batch, n, k}, 2)};
    gantry_arg_t *out = cpu_tensor(device, dtype, 3, (int64_t[]){batch, m, n});
    gantry_arg_t *sums = cpu_tensor(device, GANTRY_FLOAT32, 3, (int64_t[]){batch, m, n});

    assert_int_equal(cpu_compute(device, kernel, in, 2, out, attrs, 1), 0);
    for (int64_t i = 0; i < out->element_count; ++i) {
        const int64_t row = i / n, column = (b_batch > 1 ? row / m * n : 0) + i % n;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
            sum += element(in[0], row * k + p) * element(in[1], column * k + p);
        }
        ((float *)sums->data)[i] = (float)sum;
    }
    assert_memory_equal(out->data, cast(device, sums, dtype, 0)->data,
                        (size_t)out->element_count * 2);
    assert_int_equal(*((const unsigned char *)out->data + out->element_count * 2), 0xa5);
    cpu_call_clear(device);
}

TEST(products_are_float32_sums_rounded_once) {
    static const int64_t shapes[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7},     {3, 17, 33, 65},
                                        {5, 2, 0, 3}, {1, 100, 80, 90}, {7, 20, 60, 30}};

    for (uint32_t threads = 1; threads <= 2; ++threads) {
        cpu_call_t device;
        cpu_call_open(&device, -1, threads);
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
            for (int h = 0; h < 2; ++h) {
                check_batch_product(&device, halves[h], shapes[i][0], shapes[i][1], shapes[i][2],
                                    shapes[i][3]);
            }
        }
        cpu_call_close(&device);
    }
}

TEST(product_without_scratch_fails_and_leaves_the_call_as_it_was) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_matmul_kernels, gantry__cpu_matmul_kernel_count, "MatMul");
    const int64_t dims[] = {300, 300};
    cpu_call_t device;

    for (int left = 0; left < 2; ++left) { /* the widened tensors, then the packed panels */
        cpu_call_open(&device, -1, 2);
        gantry_arg_t *x = random_halves(&device, GANTRY_BFLOAT16, 2, dims, 5);
        gantry_arg_t *out = cpu_tensor(&device, GANTRY_BFLOAT16, 2, dims);
        const gantry_arg_t *in[2] = {x, x};
        device.scratch_left = left;
        assert_int_equal(cpu_compute(&device, kernel, in, 2, out, NULL, 0),
                         GANTRY_RESOURCE_EXHAUSTED);
        assert_int_equal(*(const uint16_t *)out->data, 0xa5a5);
        device.scratch_left = -1;
        assert_int_equal(cpu_compute(&device, kernel, in, 2, out, NULL, 0), GANTRY_OK);
        cpu_call_close(&device);
    }
}

int main(void) { return test_main(); }
