/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A function has a NaN in exactly the elements where its ops run one by one have one; the
 * sign and the payload of a NaN are no part of a result. A function and its ops run one by one give
 * NaN at the same places, and the same bits everywhere else, on every device.
 * Promise: No op gives another number, another order or another count because of the sign or the
 * payload of a NaN. */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "need_opencl.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

/* ---- every elementwise op of floating types ---- */

enum { FLOATING = 1, NUMERIC = 1, SIGNED_NUMERIC = 1, NUMERIC_BOOL = 1, INTEGERS = 0, BOOLS = 0 };
enum { UNARY = 1, ACTIVATION = 1, BINARY = 2, ANGLE = 2, EQUALITY = 2, VALUE = 1, CHOICE = 1 };
enum { UNARY_CHOICE = 1, BINARY_CHOICE = 2, PRECISION = 0, VARIANT = 0, BINARY_VARIANT = 0 };

static const struct {
    const char *name;
    int inputs;
} ops[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, ...) {#name, (types) * (form)},
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
};
enum { OPS = sizeof ops / sizeof ops[0] };

/* On a device that builds programs, each op and each function has one: a few stand for all. */
typedef struct device_t {
    const char *name;
    size_t step, dtypes; /* every step-th op, and the first types */
} device_t;
static const device_t cpu = {"CPU:0", 1, 4}, gpu = {"GPU:0", 5, 1};

static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                        GANTRY_BFLOAT16};

/* ---- data ---- */

enum { VALUES = 16, COUNT = VALUES * VALUES, NANS = 4, MOST_OUTPUTS = 24 };

static const float numbers[VALUES - NANS] = {0,     -0.0f, 1,     -1,     2.5f,  -2.5f,
                                             1e-3f, 0.75f, -3.0f, 100.0f, 1e-5f, 7};

/* Positive and quiet in the first form; of other signs and payloads in the second. */
static double number_of(int i, bool is_mixed) {
    static const uint64_t mixed[NANS] = {0xfff8000000000000, 0x7ff8000000000000, 0xfffc000000000000,
                                         0x7ffe000000000000};
    double nan = NAN;
    if (i >= NANS) return (double)numbers[i - NANS];
    if (is_mixed) memcpy(&nan, &mixed[i], sizeof nan);
    return is_mixed ? nan : copysign(nan, 1);
}

static uint16_t half_of(double x, gantry_dtype_t dtype) {
    const float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (dtype == GANTRY_BFLOAT16) return (uint16_t)(bits >> 16);
    if (isnan(x)) return (uint16_t)((bits >> 16 & 0x8000) | 0x7c00 | (bits >> 13 & 0x3ff));
    if (x == 0) return (uint16_t)(bits >> 16);
    const int exponent = (int)(bits >> 23 & 255) - 112; /* smaller numbers become 1 */
    const uint32_t size = exponent < 1 ? 0x3c00 : (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff);
    return (uint16_t)((bits >> 16 & 0x8000) | size);
}

/* x runs through the values, y changes for each run of them. */
static tensor *values_of(gantry_scope_t *scope, gantry_dtype_t dtype, bool is_mixed, bool is_y) {
    static double f64[COUNT];
    static float f32[COUNT];
    static uint16_t half[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        f64[i] = number_of(is_y ? i / VALUES : i % VALUES, is_mixed);
        f32[i] = (float)f64[i];
        half[i] = half_of(f64[i], dtype);
    }
    const void *data = dtype == GANTRY_FLOAT64   ? (void *)f64
                       : dtype == GANTRY_FLOAT32 ? (void *)f32
                                                 : (void *)half;
    return gantry_constant(scope, dtype, GANTRY_SHAPE(COUNT), data,
                           COUNT * gantry_dtype_size(dtype));
}

static bool is_nan_at(gantry_dtype_t dtype, const void *data, int64_t i) {
    switch (dtype) {
        case GANTRY_FLOAT32: return isnan(((const float *)data)[i]);
        case GANTRY_FLOAT64: return isnan(((const double *)data)[i]);
        case GANTRY_FLOAT16: return (((const uint16_t *)data)[i] & 0x7fff) > 0x7c00;
        case GANTRY_BFLOAT16: return (((const uint16_t *)data)[i] & 0x7fff) > 0x7f80;
        default: return false;
    }
}

static void read_tensor(tensor *x, unsigned char *out) {
    if (!x || gantry_tensor_read(x, out, gantry_tensor_bytes(x)) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

/* Equal, but for the bits of NaN. */
static void expect_same(const char *what, tensor *a, tensor *b) {
    static unsigned char left[1 << 16], right[1 << 16];
    read_tensor(a, left);
    read_tensor(b, right);
    const gantry_dtype_t dtype = gantry_tensor_dtype(a);
    const size_t size = gantry_dtype_size(dtype);
    if (gantry_tensor_dtype(b) != dtype ||
        !gantry_shape_equal(gantry_tensor_shape(a), gantry_tensor_shape(b)))
        fail_msg("%s: another type or shape", what);
    for (int64_t i = 0; i < gantry_tensor_elements(a); ++i) {
        const bool is_nan = is_nan_at(dtype, left, i);
        if (is_nan != is_nan_at(dtype, right, i) ||
            (!is_nan && memcmp(left + (size_t)i * size, right + (size_t)i * size, size) != 0))
            fail_msg("%s of %s: element %lld differs", what, gantry_dtype_name(dtype),
                     (long long)i);
    }
}

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(
            &(gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                        .backends = "cpu,opencl",
                                        .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                        .opencl_cpu_as_gpu = GANTRY_ON,
                                        .kernel_cache = ""},
            &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* ---- functions ---- */

/* Op, then others that a function fuses with it: these change and carry the sign of a NaN. */
static tensor *chain(gantry_scope_t *scope, size_t op, tensor *x, tensor *y) {
    tensor *in[] = {x, y}, *out = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, ops[op].name, in, (size_t)ops[op].inputs, NULL, 0, &out, &count);
    if (!out || gantry_tensor_dtype(out) == GANTRY_BOOL) return out;
    return gantry_sub(scope, gantry_mul(scope, gantry_neg(scope, out), x), y);
}

typedef struct chosen_t {
    size_t first, step; /* of the ops */
} chosen_t;

static void chains(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    const chosen_t *chosen = user;
    for (size_t i = 0; i < MOST_OUTPUTS; ++i) {
        const size_t op = chosen->first + i * chosen->step;
        outputs[i] = op < OPS && ops[op].inputs > 0 ? chain(scope, op, inputs[0], inputs[1])
                                                    : gantry_add(scope, inputs[0], inputs[1]);
    }
}

static void check_functions(gantry_runtime_t *runtime, const device_t *device,
                            gantry_dtype_t dtype) {
    const gantry_input_spec_t specs[2] = {{NULL, dtype, GANTRY_SHAPE(COUNT)},
                                          {NULL, dtype, GANTRY_SHAPE(COUNT)}};
    for (chosen_t chosen = {0, device->step}; chosen.first < OPS;
         chosen.first += MOST_OUTPUTS * device->step) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, device->name);
        tensor *in[] = {values_of(scope, dtype, true, false), values_of(scope, dtype, true, true)};
        tensor *usual[MOST_OUTPUTS], *fused[MOST_OUTPUTS];
        gantry_function_t *f;
        chains(scope, in, usual, &chosen);
        if (gantry_function_trace(runtime, "f", chains, &chosen, specs, 2, MOST_OUTPUTS, NULL,
                                  &f) != GANTRY_OK ||
            gantry_function_call(scope, f, in, 2, fused, MOST_OUTPUTS) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        for (size_t i = 0; i < MOST_OUTPUTS && chosen.first + i * device->step < OPS; ++i)
            expect_same(ops[chosen.first + i * device->step].name, usual[i], fused[i]);
        gantry_function_release(f);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

static void check_all_functions(const device_t *device) {
    gantry_runtime_t *runtime = open_runtime();
    for (size_t i = 0; i < device->dtypes; ++i) check_functions(runtime, device, dtypes[i]);
    gantry_runtime_release(runtime);
}

TEST(function_has_the_nans_of_its_ops) { check_all_functions(&cpu); }

TEST(function_on_opencl_has_the_nans_of_its_ops) {
    need_opencl();
    check_all_functions(&gpu);
}

/* ---- signs and payloads ---- */

/* What a result could depend on: orders, comparisons, counts, conversions, sums. */
static size_t others(gantry_scope_t *s, tensor *x, tensor **out) {
    static const int32_t ids[COUNT] = {0};
    tensor *rows = gantry_reshape(s, x, GANTRY_SHAPE(VALUES, VALUES)), *index, *times;
    tensor *segments = gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(COUNT), ids, sizeof ids);
    size_t n = 0;
    out[n++] = gantry_sort(s, x, 0, false);
    out[n++] = gantry_sort(s, rows, 1, true);
    out[n++] = gantry_argsort(s, x, 0, false);
    out[n++] = gantry_argsort(s, rows, 1, true);
    out[n++] = gantry_top_k(s, rows, 9, &index);
    out[n++] = index;
    out[n++] = gantry_unique(s, x, &index, &times);
    out[n++] = index;
    out[n++] = times;
    out[n++] = gantry_argmax(s, rows, 1);
    out[n++] = gantry_argmin(s, rows, 1);
    out[n++] = gantry_max(s, rows, NULL);
    out[n++] = gantry_min(s, rows, NULL);
    out[n++] = gantry_segment_max(s, x, segments);
    out[n++] = gantry_where(s, gantry_cast(s, x, GANTRY_BOOL));
    out[n++] = gantry_cast(s, x, GANTRY_INT32);
    out[n++] = gantry_cast(s, x, GANTRY_UINT8);
    out[n++] = gantry_cast(s, x, GANTRY_FLOAT16);
    out[n++] = gantry_cast(s, x, GANTRY_FLOAT64);
    out[n++] = gantry_clip_by_value(s, x, gantry_neg(s, x), x);
    out[n++] = gantry_select(s, gantry_less(s, x, x), x, gantry_neg(s, x));
    out[n++] = gantry_cumsum(s, x, 0, NULL);
    out[n++] = gantry_softmax(s, rows);
    out[n++] = gantry_in_top_k(
        s, gantry_cast(s, rows, GANTRY_FLOAT32),
        gantry_reshape(s, gantry_slice(s, segments, (int64_t[]){0}, (int64_t[]){VALUES}),
                       GANTRY_SHAPE(VALUES)),
        3);
    return n;
}

static void check_signs(gantry_runtime_t *runtime, const device_t *device, gantry_dtype_t dtype) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device->name);
    tensor *x[2], *y[2], *out[2][32];
    size_t count = 0;
    char what[64];
    for (int form = 0; form < 2; ++form) {
        x[form] = values_of(scope, dtype, form == 1, false);
        y[form] = values_of(scope, dtype, form == 1, true);
        count = others(scope, x[form], out[form]);
    }
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(what, sizeof what, "result %zu", i);
        expect_same(what, out[0][i], out[1][i]);
    }
    for (size_t op = 0; op < OPS; op += device->step) {
        if (ops[op].inputs > 0)
            expect_same(ops[op].name, chain(scope, op, x[0], y[0]), chain(scope, op, x[1], y[1]));
    }
    if (gantry_scope_end(scope) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void check_all_signs(const device_t *device) {
    gantry_runtime_t *runtime = open_runtime();
    for (size_t i = 0; i < device->dtypes; ++i) check_signs(runtime, device, dtypes[i]);
    gantry_runtime_release(runtime);
}

TEST(no_op_tells_the_sign_of_a_nan) { check_all_signs(&cpu); }

TEST(no_op_on_opencl_tells_the_sign_of_a_nan) {
    need_opencl();
    check_all_signs(&gpu);
}

int main(void) { return test_main(); }
