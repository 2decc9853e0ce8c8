/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend's elementwise kernels agree with plain scalar C, over types, shapes,
 * instruction sets and thread counts. */
#include <math.h>

#include "kernels/elementwise/elementwise_cpu.h"
#include "cpu_kernel_call.h"
#include "host/bits.h"
#include "kernels/elementwise/number_bits.h"
#include "test.h"

#define LEVELS (gantry__cpu_simd_detect(NULL) + 1)

static const int32_t all_types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_INT32,    GANTRY_INT64,
                                    GANTRY_BOOL,    GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_INT8,
                                    GANTRY_INT16,   GANTRY_UINT8,   GANTRY_UINT16,   GANTRY_UINT32,
                                    GANTRY_UINT64};
/* these types have loops for all shapes; the others convert blocks in every shape */
#define COMMON_TYPES 5
#define TYPES (sizeof all_types / sizeof all_types[0])

typedef struct shapes_t {
    int32_t x_rank, y_rank, out_rank;
    int64_t x[8], y[8], out[8];
} shapes_t;

static const shapes_t shapes[] = {
    {0, 0, 0, {0}, {0}, {0}},
    {1, 1, 1, {1}, {1}, {1}},
    {1, 1, 1, {3}, {3}, {3}},
    {1, 1, 1, {17}, {1}, {17}},
    {1, 0, 1, {33}, {0}, {33}},
    {0, 1, 1, {0}, {65}, {65}},
    {1, 1, 1, {4099}, {4099}, {4099}},
    /* from here on, some shapes are large enough for two threads */
    {1, 1, 1, {33001}, {33001}, {33001}},
    {1, 0, 1, {33001}, {0}, {33001}},
    {0, 1, 1, {0}, {33001}, {33001}},
    {2, 1, 2, {1000, 10}, {10}, {1000, 10}},
    {2, 1, 2, {11001, 3}, {3}, {11001, 3}},
    {1, 2, 2, {3}, {11001, 3}, {11001, 3}},
    {2, 2, 2, {9001, 5}, {9001, 1}, {9001, 5}},
    {2, 2, 2, {180, 1}, {1, 200}, {180, 200}},
    {2, 2, 2, {1, 200}, {180, 1}, {180, 200}},
    {3, 2, 3, {7, 1, 101}, {9, 1}, {7, 9, 101}},
    {3, 3, 3, {7, 90, 2}, {7, 1, 2}, {7, 90, 2}},
    {2, 2, 2, {17, 2000}, {17, 1}, {17, 2000}},
    {8, 8, 8, {2, 1, 3, 1, 2, 1, 3, 1}, {1, 2, 1, 3, 1, 2, 1, 3}, {2, 2, 3, 3, 2, 2, 3, 3}},
    {8, 3, 8, {2, 1, 3, 1, 2, 1, 5, 7}, {4, 1, 7}, {2, 1, 3, 1, 2, 4, 5, 7}},
};
#define SHAPES (sizeof shapes / sizeof shapes[0])
#define LARGE_COUNT 12000 /* elements */

/* Any integer but 0 up to both ends of 64 bits; the highest bit makes the least signed one. */
static void store_int(void *element, int32_t dtype, int64_t whole) {
    const uint32_t bytes = gantry__k_size(dtype);
    uint64_t bits = (uint64_t)whole;
    if (whole == INT64_MIN) bits = UINT64_C(1) << (8 * bytes - 1);
    gantry__bits_write(bits, element, bytes);
}

/* A value that tests signs, zeros, wrap-around and, for floats, NaN, infinities and denormals. */
static void store_value(void *data, int32_t dtype, int64_t i, uint32_t salt) {
    static const float specials[] = {0.0f,    -0.0f, 1.0f,   -1.0f, 1e-40f,
                                     -1e-40f, 3e38f, -3e38f, 0.5f,  -2.5f};
    uint32_t r = (uint32_t)i * 2654435761u + salt * 40503u;
    r ^= r >> 15;
    r *= 2246822519u;
    r ^= r >> 13;
    float f = (float)(int32_t)(r >> 8) / 1048576.0f - 8.0f;
    if (r % 11 == 0) {
        f = specials[r / 11 % 10];
    } else if (r % 97 == 1) {
        f = r & 256 ? INFINITY : -INFINITY;
    } else if (r % 97 == 2) {
        f = NAN;
    }
    const int64_t whole = r % 7 == 0   ? INT64_MIN
                          : r % 5 == 0 ? -1
                                       : ((int64_t)(int32_t)r * 1000003) | 1;
    switch (dtype) {
        case GANTRY_FLOAT32: ((float *)data)[i] = f; break;
        case GANTRY_FLOAT64: ((double *)data)[i] = (double)f * 1.0000000001; break;
        case GANTRY_FLOAT16: ((uint16_t *)data)[i] = gantry__f32_to_f16(f); break;
        case GANTRY_BFLOAT16: ((uint16_t *)data)[i] = gantry__f32_to_bf16(f); break;
        case GANTRY_BOOL: ((uint8_t *)data)[i] = r >> 7 & 1; break;
        default: store_int((char *)data + i * gantry__k_size(dtype), dtype, whole);
    }
}

static gantry_arg_t *make_values(cpu_call_t *device, int32_t dtype, int32_t rank,
                                 const int64_t *dims, uint32_t salt) {
    gantry_arg_t *arg = cpu_tensor(device, dtype, rank, dims);
    for (int64_t i = 0; i < arg->element_count; ++i) {
        store_value(arg->data, dtype, i, salt);
    }
    return arg;
}

/* The offset of arg's element for output position i of shape dims. */
static int64_t broadcast_offset(const gantry_arg_t *arg, int32_t rank, const int64_t *dims,
                                int64_t i) {
    int64_t offset = 0;
    int64_t step = 1;
    for (int32_t d = rank - 1, a = arg->rank - 1; a >= 0; d--, a--) {
        offset += arg->dims[a] == 1 ? 0 : i % dims[d] * step;
        step *= arg->dims[a];
        i /= dims[d];
    }
    return offset;
}

enum { UNARY, ACTIVATION, VALUE, PRECISION, CHOICE, UNARY_CHOICE, VARIANT };
enum { BINARY = 16, ANGLE, EQUALITY, BINARY_CHOICE, BINARY_VARIANT };
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {#name, form},
static const struct {
    const char *name;
    int form;
} ops[] = {
#include "ops/elementwise.def"
};
#undef GANTRY_ELEMENTWISE
#define OPS (sizeof ops / sizeof ops[0])

static bool is_variant(size_t op) {
    return ops[op].form == VARIANT || ops[op].form == BINARY_VARIANT;
}

#define ALPHA 0.25

/* ---- the reference: one element ----
 *
 * Only the first ops have a reference here. Golden files check the others' values, and this test
 * compares their loops. */

static int has_reference(size_t op) {
    static const int known[] = {
        GANTRY_K_ROW_Add,          GANTRY_K_ROW_Sub,        GANTRY_K_ROW_Mul,
        GANTRY_K_ROW_Div,          GANTRY_K_ROW_Maximum,    GANTRY_K_ROW_Minimum,
        GANTRY_K_ROW_Neg,          GANTRY_K_ROW_Abs,        GANTRY_K_ROW_Square,
        GANTRY_K_ROW_Relu,         GANTRY_K_ROW_LeakyRelu,  GANTRY_K_ROW_Sqrt,
        GANTRY_K_ROW_Exp,          GANTRY_K_ROW_Log,        GANTRY_K_ROW_Tanh,
        GANTRY_K_ROW_Sigmoid,      GANTRY_K_ROW_Equal,      GANTRY_K_ROW_NotEqual,
        GANTRY_K_ROW_Less,         GANTRY_K_ROW_LessEqual,  GANTRY_K_ROW_Greater,
        GANTRY_K_ROW_GreaterEqual, GANTRY_K_ROW_LogicalAnd, GANTRY_K_ROW_LogicalOr,
        GANTRY_K_ROW_LogicalNot};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if ((size_t)known[i] == op) return 1;
    }
    return 0;
}

static int no_reference(size_t op) {
    fail_msg("no reference for %s", ops[op].name);
    return 0;
}

/* op is a row of the table: GANTRY_K_ROW_... */
#define IS(name) (op == GANTRY_K_ROW_##name)

#define COMPARE()                        \
    if (IS(Equal)) return x == y;        \
    if (IS(NotEqual)) return x != y;     \
    if (IS(Less)) return x < y;          \
    if (IS(LessEqual)) return x <= y;    \
    if (IS(Greater)) return x > y;       \
    if (IS(GreaterEqual)) return x >= y; \
    return 99

static int compare_f(size_t op, double x, double y) { COMPARE(); }
static int compare_i(size_t op, int64_t x, int64_t y) { COMPARE(); }
static int compare_u(size_t op, uint64_t x, uint64_t y) { COMPARE(); }

static double float_result(size_t op, double x, double y) {
    if (IS(Add)) return x + y;
    if (IS(Sub)) return x - y;
    if (IS(Mul)) return x * y;
    if (IS(Div)) return x / y;
    if (IS(Maximum)) return isnan(x) || isnan(y) ? NAN : fmax(x, y);
    if (IS(Minimum)) return isnan(x) || isnan(y) ? NAN : fmin(x, y);
    if (IS(Neg)) return -x;
    if (IS(Abs)) return fabs(x);
    if (IS(Square)) return x * x;
    if (IS(Relu)) return isnan(x) ? x : x > 0 ? x : 0;
    if (IS(LeakyRelu)) return x > 0 ? x : x * ALPHA;
    if (IS(Sqrt)) return sqrt(x);
    if (IS(Exp)) return exp(x);
    if (IS(Log)) return log(x);
    if (IS(Tanh)) return tanh(x);
    if (IS(Sigmoid)) return 1 / (1 + exp(-x));
    return no_reference(op);
}

/* Modulo 2^64; the caller narrows the result. x and y were sign-extended, so a large uint64 is
 * negative here. */
static uint64_t int_result(size_t op, int64_t x, int64_t y, int is_unsigned) {
    if (is_unsigned) {
        const uint64_t a = (uint64_t)x, b = (uint64_t)y;
        if (IS(Div)) return a / b;
        if (IS(Maximum)) return a > b ? a : b;
        if (IS(Minimum)) return a < b ? a : b;
        if (IS(Abs) || IS(Relu)) return a;
    }

    const uint64_t a = (uint64_t)x;
    const uint64_t b = (uint64_t)y;
    if (IS(Add)) return a + b;
    if (IS(Sub)) return a - b;
    if (IS(Mul)) return a * b;
    if (IS(Div)) return y == -1 ? 0 - a : (uint64_t)(x / y);
    if (IS(Maximum)) return x > y ? a : b;
    if (IS(Minimum)) return x < y ? a : b;
    if (IS(Neg)) return 0 - a;
    if (IS(Abs)) return x < 0 ? 0 - a : a;
    if (IS(Square)) return a * a;
    if (IS(Relu)) return x < 0 ? 0 : a;
    return (uint64_t)no_reference(op);
}

static int same_f(double got, double want, double ulps, double eps, double least) {
    if (isnan(want) || isnan(got) || isinf(want) || isinf(got)) {
        return (isnan(want) && isnan(got)) || got == want;
    }
    return fabs(got - want) <= ulps * fmax(fabs(want) * eps, least);
}

static double load_float(int32_t dtype, const void *p) {
    switch (dtype) {
        case GANTRY_FLOAT32: return (double)*(const float *)p;
        case GANTRY_FLOAT64: return *(const double *)p;
        case GANTRY_FLOAT16: return (double)gantry__f16_to_f32(*(const uint16_t *)p);
        default: return (double)gantry__bf16_to_f32(*(const uint16_t *)p);
    }
}

static int64_t load_int(int32_t dtype, const void *p) {
    switch (dtype) {
        case GANTRY_INT8: return *(const int8_t *)p;
        case GANTRY_INT16: return *(const int16_t *)p;
        case GANTRY_INT32: return *(const int32_t *)p;
        case GANTRY_UINT16: return *(const uint16_t *)p;
        case GANTRY_UINT32: return *(const uint32_t *)p;
        case GANTRY_INT64:
        case GANTRY_UINT64: return *(const int64_t *)p;
        default: return *(const uint8_t *)p;
    }
}

static int in_set(int32_t dtype, uint64_t set) { return (GANTRY_DTYPE_BIT(dtype) & set) != 0; }

static int wanted_bool(size_t op, int32_t dtype, const void *x, const void *y) {
    if (IS(LogicalAnd)) return load_int(dtype, x) && load_int(dtype, y);
    if (IS(LogicalOr)) return load_int(dtype, x) || load_int(dtype, y);
    if (IS(LogicalNot)) return !load_int(dtype, x);
    if (dtype == GANTRY_BOOL && IS(Maximum)) return load_int(dtype, x) || load_int(dtype, y);
    if (dtype == GANTRY_BOOL && IS(Minimum)) return load_int(dtype, x) && load_int(dtype, y);
    if (in_set(dtype, GANTRY_DTYPES_FLOATING))
        return compare_f(op, load_float(dtype, x), load_float(dtype, y));
    if (in_set(dtype, GANTRY_DTYPES_UNSIGNED)) {
        return compare_u(op, (uint64_t)load_int(dtype, x), (uint64_t)load_int(dtype, y));
    }
    return compare_i(op, load_int(dtype, x), load_int(dtype, y));
}

/* The result of float32 arithmetic, rounded to dtype. */
static double rounded(int32_t dtype, double x) {
    const float single = (float)x;
    if (dtype == GANTRY_FLOAT16) return (double)gantry__f16_to_f32(gantry__f32_to_f16(single));
    if (dtype == GANTRY_BFLOAT16) return (double)gantry__bf16_to_f32(gantry__f32_to_bf16(single));
    return dtype == GANTRY_FLOAT32 ? (double)single : x;
}

static void check_float(size_t op, int32_t dtype, const void *x, const void *y, const void *out,
                        double ulps) {
    const double a = load_float(dtype, x), b = load_float(dtype, y), got = load_float(dtype, out);
    const double want = rounded(dtype, float_result(op, a, b));
    const double eps = dtype == GANTRY_FLOAT64   ? 0x1p-52
                       : dtype == GANTRY_FLOAT32 ? 0x1p-23
                       : dtype == GANTRY_FLOAT16 ? 0x1p-10
                                                 : 0x1p-7;
    const double least = dtype == GANTRY_FLOAT64   ? 0x1p-1074
                         : dtype == GANTRY_FLOAT16 ? 0x1p-24
                                                   : eps * 0x1p-126;
    if (!same_f(got, want, ulps, eps, least))
        fail_msg("%s(%a, %a) is %a, not %a", ops[op].name, a, b, got, want);
}

static void check_element(size_t op, int32_t dtype, int32_t out_dtype, const void *x, const void *y,
                          const void *out, double ulps) {
    if (out_dtype == GANTRY_BOOL) {
        assert_int_equal(*(const uint8_t *)out, wanted_bool(op, dtype, x, y));
    } else if (in_set(dtype, GANTRY_DTYPES_FLOATING)) {
        check_float(op, dtype, x, y, out, ulps);
    } else {
        const int64_t a = load_int(dtype, x), b = load_int(dtype, y);
        const uint64_t want = int_result(op, a, b, in_set(dtype, GANTRY_DTYPES_UNSIGNED));
        const size_t size = gantry__k_size(dtype);
        if (gantry__bits_read(out, size) != (want & UINT64_MAX >> (64 - 8 * size))) {
            fail_msg("%s(%lld, %lld) of type %d is not %lld", ops[op].name, (long long)a,
                     (long long)b, (int)dtype, (long long)want);
        }
    }
}

/* ---- running ---- */

static const gantry_kernel_def_t *find(const char *op) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_elementwise_kernels, gantry__cpu_elementwise_kernel_count, op);
    assert_non_null(kernel);
    return kernel;
}

static int takes(const gantry_kernel_def_t *kernel, int32_t dtype) {
    return kernel->type_count == 0 ? dtype == GANTRY_BOOL
                                   : (kernel->types[0].dtype_mask & GANTRY_DTYPE_BIT(dtype)) != 0;
}

static int32_t result_type(size_t op, int32_t dtype) {
    const int predicate = IS(IsNan) || IS(IsInf) || IS(IsFinite) || compare_i(op, 0, 0) != 99;
    if (IS(PopulationCount)) return GANTRY_UINT8;
    return predicate ? GANTRY_BOOL : dtype;
}

static double allowed_ulps(size_t op) {
    return IS(Exp) || IS(Log) || IS(Tanh) || IS(Sigmoid) ? 4 : 0;
}

/* The integer type of the elements' bits, which are compared: NaN has several. */
static int is_nan(int32_t dtype, const void *p) {
    return in_set(dtype, GANTRY_DTYPES_FLOATING) && isnan(load_float(dtype, p));
}

/* Exponents from 0 to 7. */
static void make_exponents(gantry_arg_t *y) {
    const uint32_t size = gantry__k_size(y->dtype);
    if (!in_set(y->dtype, GANTRY_DTYPES_INTEGERS)) return;
    for (int64_t i = 0; i < y->element_count; ++i) {
        char *element = (char *)y->data + i * size;
        const char low = element[0] & 7;
        memset(element, 0, size);
        element[0] = low;
    }
}

static void run_one(cpu_call_t *device, size_t o, int32_t dtype, const shapes_t *s) {
    const gantry_kernel_def_t *kernel = find(ops[o].name);
    const int32_t out_dtype = result_type(o, dtype);
    const uint32_t size = gantry__k_size(dtype);
    gantry_arg_t *y_arg = make_values(device, dtype, s->y_rank, s->y, 2);
    const gantry_arg_t *in[2] = {make_values(device, dtype, s->x_rank, s->x, 1), y_arg};
    const int form = ops[o].form;
    const uint32_t arity = form >= BINARY ? 2 : 1;
    const int64_t *dims = arity == 1 ? s->x : s->out;
    const int32_t rank = arity == 1 ? s->x_rank : s->out_rank;
    const gantry_attr_t alpha = {
        .struct_size = sizeof alpha, .kind = GANTRY_ATTR_FLOAT, .name = "alpha", .f = ALPHA};
    const gantry_attr_t type = {.struct_size = sizeof type, .kind = GANTRY_ATTR_TYPE, .name = "T"};
    const gantry_attr_t bits = {
        .struct_size = sizeof bits, .kind = GANTRY_ATTR_INT, .name = "mantissa_bits", .i = 4};
    const gantry_attr_t *const attrs[3] = {&type, form == VALUE ? &alpha : &bits, &bits};
    const uint32_t attr_count = form == VALUE ? 2 : form == PRECISION ? 3 : 1;
    gantry_arg_t *out = cpu_tensor(device, out_dtype, rank, dims);
    const uint32_t out_size = gantry__k_size(out_dtype);
    gantry_arg_t *again = cpu_tensor(device, out_dtype, rank, dims);
    const int best = device->device.simd_level;

    if (o == GANTRY_K_ROW_Pow) make_exponents(y_arg);
    assert_int_equal(cpu_compute(device, kernel, in, arity, out, attrs, attr_count), 0);
    for (int64_t i = 0; has_reference(o) && i < out->element_count; ++i) {
        const char *x = (const char *)in[0]->data + broadcast_offset(in[0], rank, dims, i) * size;
        const char *y =
            arity == 1 ? x
                       : (const char *)in[1]->data + broadcast_offset(in[1], rank, dims, i) * size;
        check_element(o, dtype, out_dtype, x, y, (const char *)out->data + i * out_size,
                      allowed_ulps(o));
    }
    for (int level = 0; level < best; ++level) {
        device->device.simd_level = level;
        memset(again->data, 0x5a, (size_t)out->element_count * out_size);
        assert_int_equal(cpu_compute(device, kernel, in, arity, again, attrs, attr_count), 0);
        for (int64_t i = 0; i < out->element_count * out_size; i += out_size) {
            const char *a = (const char *)out->data + i;
            const char *b = (const char *)again->data + i;
            if (!(is_nan(out_dtype, a) && is_nan(out_dtype, b)) && memcmp(a, b, out_size) != 0) {
                fail_msg("%s: element %lld differs between level %d and %d", ops[o].name,
                         (long long)(i / out_size), level, best);
            }
        }
    }
    device->device.simd_level = best;
    cpu_call_clear(device);
}

/* Shapes with fewer than LARGE_COUNT results use one thread, the others two. */
static void run_all(uint32_t threads) {
    cpu_call_t device;
    cpu_call_open(&device, -1, threads);
    for (size_t o = 0; o < OPS; ++o) {
        for (size_t t = 0; t < TYPES; ++t) {
            if (is_variant(o) || !takes(find(ops[o].name), all_types[t])) continue;
            const size_t step = !has_reference(o) ? 11 : t < COMMON_TYPES ? 1 : 7;
            for (size_t s = (t + o) % step; s < SHAPES; s += step) {
                int64_t count = 1;
                for (int32_t d = 0; d < shapes[s].out_rank; ++d) count *= shapes[s].out[d];
                if ((count >= LARGE_COUNT) == (threads == 2))
                    run_one(&device, o, all_types[t], &shapes[s]);
            }
        }
    }
    cpu_call_close(&device);
}

TEST(elementwise_small_shapes_one_thread_matches_scalar_code) { run_all(1); }

TEST(elementwise_large_shapes_two_threads_matches_scalar_code) { run_all(2); }

/* ---- single facts ---- */

static gantry_arg_t *floats(cpu_call_t *device, int64_t count, const float *values) {
    gantry_arg_t *arg = cpu_tensor(device, GANTRY_FLOAT32, 1, &count);
    memcpy(arg->data, values, (size_t)count * sizeof *values);
    return arg;
}

static void binary_result_is(const char *op, float x, float y, float want) {
    cpu_call_t device;
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_open(&device, level, 1);
        const gantry_arg_t *in[2] = {floats(&device, 1, &x), floats(&device, 1, &y)};
        gantry_arg_t *out = cpu_tensor(&device, GANTRY_FLOAT32, 1, (int64_t[]){1});
        assert_int_equal(cpu_compute(&device, find(op), in, 2, out, NULL, 0), 0);
        float got = *(float *)out->data;
        if (isnan(want)) {
            assert_true(isnan(got));
        } else {
            assert_memory_equal(&got, &want, sizeof got);
        }
        cpu_call_close(&device);
    }
}

TEST(maximum_nan_on_either_side_spreads) {
    binary_result_is("Maximum", NAN, 1.0f, NAN);
    binary_result_is("Maximum", 1.0f, NAN, NAN);
    binary_result_is("Minimum", NAN, 1.0f, NAN);
    binary_result_is("Minimum", 1.0f, NAN, NAN);
}

TEST(arithmetic_denormal_is_kept) {
    binary_result_is("Add", 1e-45f, 1e-45f, 2.8e-45f);
    binary_result_is("Mul", 1e-30f, 1e-10f, 1e-40f);
    binary_result_is("Div", 1e-40f, 2.0f, 5e-41f);
    binary_result_is("Div", 1.0f, 0.0f, INFINITY);
}

static void division_fails(int32_t dtype, const shapes_t *s, int64_t zero_at) {
    cpu_call_t device;
    for (int level = 0; level < LEVELS; ++level) {
        cpu_call_open(&device, level, 2);
        const gantry_arg_t *in[2] = {make_values(&device, dtype, s->x_rank, s->x, 1),
                                     make_values(&device, dtype, s->y_rank, s->y, 2)};
        gantry_arg_t *out = cpu_tensor(&device, dtype, s->out_rank, s->out);
        assert_int_equal(cpu_compute(&device, find("Div"), in, 2, out, NULL, 0), 0);
        memset((char *)in[1]->data + zero_at * gantry__k_size(dtype), 0, gantry__k_size(dtype));
        assert_int_equal(cpu_compute(&device, find("Div"), in, 2, out, NULL, 0),
                         GANTRY_INVALID_ARGUMENT);
        assert_string_equal(device.message, "Integer division by zero");
        cpu_call_close(&device);
    }
}

TEST(division_integer_by_zero_is_invalid_argument) {
    static const shapes_t cases[] = {
        {1, 1, 1, {5}, {5}, {5}},
        {1, 0, 1, {9}, {0}, {9}},
        {0, 1, 1, {0}, {40}, {40}},
        {1, 1, 1, {90000}, {90000}, {90000}},
        {2, 1, 2, {90, 4}, {4}, {90, 4}},
        {2, 2, 2, {90, 4}, {90, 1}, {90, 4}},
        {2, 2, 2, {90, 1}, {1, 90}, {90, 90}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        int64_t last = cases[c].y_rank == 0
                           ? 0
                           : cases[c].y[0] * (cases[c].y_rank == 2 ? cases[c].y[1] : 1) - 1;
        division_fails(GANTRY_INT32, &cases[c], last);
        division_fails(GANTRY_INT64, &cases[c], last);
        division_fails(GANTRY_UINT8, &cases[c], last);
    }
}

TEST(add_in_place_gives_the_same) {
    cpu_call_t device;
    const int64_t count = 100003;
    cpu_call_open(&device, -1, 2);
    gantry_arg_t *x = make_values(&device, GANTRY_INT32, 1, &count, 1);
    gantry_arg_t *y = make_values(&device, GANTRY_INT32, 1, &count, 2);
    gantry_arg_t *apart = cpu_tensor(&device, GANTRY_INT32, 1, &count);
    const gantry_arg_t *in[2] = {x, y};
    assert_int_equal(cpu_compute(&device, find("Sub"), in, 2, apart, NULL, 0), 0);
    assert_int_equal(cpu_compute(&device, find("Sub"), in, 2, y, NULL, 0), 0);
    assert_memory_equal(apart->data, y->data, (size_t)count * 4);
    cpu_call_close(&device);
}

TEST(large_output_past_the_caches_gives_the_same) {
    cpu_call_t device;
    const int64_t count = (INT64_C(26) << 18) + 5; /* 26 MiB of float32 */
    cpu_call_open(&device, -1, 2);
    gantry_arg_t *x = make_values(&device, GANTRY_INT32, 1, &count, 1);
    gantry_arg_t *out = cpu_tensor(&device, GANTRY_INT32, 1, &count);
    const gantry_arg_t *in[2] = {x, x};
    for (int level = 0; level < LEVELS; ++level) {
        device.device.simd_level = level;
        memset(out->data, 1, (size_t)count * 4);
        assert_int_equal(cpu_compute(&device, find("Add"), in, 2, out, NULL, 0), 0);
        for (int64_t i = 0; i < count; ++i) {
            if (((int32_t *)out->data)[i] != (int32_t)(2 * ((uint32_t *)x->data)[i])) {
                fail_msg("element %lld", (long long)i);
            }
        }
    }
    cpu_call_close(&device);
}

int main(void) { return test_main(); }
