/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend's products of small integers equal a plain loop in 64 bits modulo 2^32,
 * with zero points, in every instruction set, with products of bytes and without.
 * Promise: So do those of a constant that is packed once, and products of the types' ends, which
 * nothing saturates.
 * Promise: A product of small integers that gets no scratch memory fails, and says so. */
#include "cpu_kernel_call.h"
#include "test.h"

#define I8 GANTRY_INT8
#define U8 GANTRY_UINT8
#define I16 GANTRY_INT16
#define B8 GANTRY_BOOL

static uint64_t random_state = 1;

static uint32_t random_bits(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 32);
}

/* A quarter of the elements are the ends of their type: products of these show saturation. */
static void randomize(gantry_arg_t *arg) {
    for (int64_t i = 0; i < arg->element_count; ++i) {
        const uint32_t bits = random_bits();
        const bool is_end = bits >> 30 == 0, is_low = (bits & 1) != 0;
        if (arg->dtype == I16)
            ((int16_t *)arg->data)[i] = !is_end ? (int16_t)bits : is_low ? INT16_MIN : INT16_MAX;
        else if (arg->dtype == I8)
            ((int8_t *)arg->data)[i] = !is_end ? (int8_t)bits : is_low ? INT8_MIN : INT8_MAX;
        else
            ((uint8_t *)arg->data)[i] = arg->dtype == B8 ? is_low : is_end ? 255 : (uint8_t)bits;
    }
}

static int64_t element(const gantry_arg_t *arg, int64_t i) {
    if (arg->dtype == I16) return ((const int16_t *)arg->data)[i];
    return arg->dtype == I8 ? ((const int8_t *)arg->data)[i] : ((const uint8_t *)arg->data)[i];
}

/* The batches of A and B, 1 or equal; which operands are transposed; which zero points there are:
 * 0 none, 1 a scalar, 2 a vector, 3 one vector for each matrix. */
typedef struct {
    int64_t a_batch, b_batch, m, n, k;
    bool ta, tb;
    int zeros[2];
    int32_t types[3];
} integer_case_t;

static gantry_arg_t *operand(cpu_call_t *cpu, int32_t dtype, int64_t batch, int64_t rows,
                             int64_t columns, bool transposed) {
    const int64_t sizes[] = {batch, transposed ? columns : rows, transposed ? rows : columns};
    gantry_arg_t *arg = cpu_tensor(cpu, dtype, 3, sizes);
    randomize(arg);
    return arg;
}

static gantry_arg_t *zero_points(cpu_call_t *cpu, const integer_case_t *c, int side) {
    const int64_t lines = side == 0 ? c->m : c->n, batch = side == 0 ? c->a_batch : c->b_batch;
    const int64_t each[] = {batch, side == 0 ? lines : 1, side == 0 ? 1 : lines};
    const int kind = c->zeros[side];
    gantry_arg_t *arg = kind == 3   ? cpu_tensor(cpu, c->types[side], 3, each)
                        : kind == 2 ? cpu_tensor(cpu, c->types[side], 1, &lines)
                                    : cpu_tensor(cpu, c->types[side], 0, NULL);
    randomize(arg);
    return arg;
}

static int64_t zero_of(const gantry_arg_t *zero, int64_t matrix, int64_t line, int64_t lines) {
    if (!zero) return 0;
    const int64_t own = zero->rank < 3 || zero->dims[0] == 1 ? 0 : matrix * lines;
    return element(zero, zero->element_count == 1 ? 0 : own + line);
}

static int32_t expected(const integer_case_t *c, gantry_arg_t *const *in, int64_t matrix, int64_t i,
                        int64_t j) {
    const int64_t a = (c->a_batch > 1 ? matrix : 0) * c->m * c->k,
                  b = (c->b_batch > 1 ? matrix : 0) * c->k * c->n;
    const int64_t x = zero_of(in[2], matrix, i, c->m), y = zero_of(in[3], matrix, j, c->n);
    uint64_t sum = 0;
    for (int64_t p = 0; p < c->k; ++p) {
        sum += (uint64_t)((element(in[0], a + (c->ta ? p * c->m + i : i * c->k + p)) - x) *
                          (element(in[1], b + (c->tb ? j * c->k + p : p * c->n + j)) - y));
    }
    return (int32_t)(uint32_t)sum;
}

static int32_t run_integer(cpu_call_t *cpu, const integer_case_t *c, gantry_arg_t *const *in,
                           gantry_arg_t *out) {
    const gantry_attr_t first = {
        .struct_size = sizeof first, .kind = GANTRY_ATTR_BOOL, .name = "adj_x", .i = c->ta};
    const gantry_attr_t second = {
        .struct_size = sizeof second, .kind = GANTRY_ATTR_BOOL, .name = "adj_y", .i = c->tb};
    const gantry_attr_t *attrs[] = {&first, &second};
    return cpu_compute(cpu,
                       cpu_kernel(gantry__cpu_matmul_integer_kernels,
                                  gantry__cpu_matmul_integer_kernel_count, "MatMulInteger"),
                       (const gantry_arg_t *const *)in,
                       c->zeros[1]   ? 4
                       : c->zeros[0] ? 3
                                     : 2,
                       out, attrs, 2);
}

/* The form of the second operand, which the first call makes. */
static void *kept_form;
static uint64_t kept_bytes;

static void *form_of_b(gantry_op_call_t *call, uint32_t input, uint64_t number, uint64_t bytes,
                       bool *out_is_made) {
    (void)number;
    if (input != 1) return NULL;
    *out_is_made = kept_form != NULL;
    if (!kept_form) kept_form = cpu_call_block(((cpu_op_t *)call)->owner, (size_t)bytes);
    assert_true(kept_bytes == 0 || kept_bytes == bytes);
    kept_bytes = bytes;
    return kept_form;
}

/* Whether calls with B as a constant, of which the first one packs it, give these numbers. */
static bool forms_give(cpu_call_t *cpu, const integer_case_t *c, gantry_arg_t *const *in,
                       const gantry_arg_t *wanted) {
    gantry_arg_t *out = cpu_tensor(cpu, wanted->dtype, wanted->rank, wanted->dims);
    bool equal = true;
    cpu->form = form_of_b;
    for (int call = 0; call < 2 && equal; ++call) {
        memset(out->data, 0xa5, (size_t)out->span.size_bytes);
        assert_int_equal(run_integer(cpu, c, in, out), GANTRY_OK);
        equal = memcmp(out->data, wanted->data, (size_t)out->span.size_bytes) == 0;
    }
    cpu->form = NULL;
    kept_form = NULL;
    kept_bytes = 0;
    return equal;
}

static void check_integer(cpu_call_t *cpu, const integer_case_t *c) {
    const int64_t batch = c->a_batch > c->b_batch ? c->a_batch : c->b_batch;
    const int64_t sizes[] = {batch, c->m, c->n};
    gantry_arg_t *in[] = {operand(cpu, c->types[0], c->a_batch, c->m, c->k, c->ta),
                          operand(cpu, c->types[1], c->b_batch, c->k, c->n, c->tb),
                          c->zeros[0] ? zero_points(cpu, c, 0) : NULL,
                          c->zeros[1] ? zero_points(cpu, c, 1) : NULL};
    gantry_arg_t *out = cpu_tensor(cpu, c->types[2], 3, sizes);
    assert_int_equal(run_integer(cpu, c, in, out), GANTRY_OK);
    const int64_t all = out->element_count, looks = all <= 1000 ? all : 300;
    for (int64_t look = 0; look < looks; ++look) {
        const int64_t at = looks == all ? look : (int64_t)(random_bits() % (uint64_t)all);
        const int64_t matrix = at / (c->m * c->n), i = at / c->n % c->m, j = at % c->n;
        const int32_t sum = expected(c, in, matrix, i, j);
        const int32_t got =
            c->types[2] == B8 ? ((uint8_t *)out->data)[at] : ((int32_t *)out->data)[at];
        if (got != (c->types[2] == B8 ? sum != 0 : sum)) {
            fail_msg(
                "types %d %d, [%d, %d x %d] [%d, %d x %d], transposed %d %d, zero points %d %d, "
                "element %d of matrix %d: %d, not %d",
                c->types[0], c->types[1], (int)c->a_batch, (int)c->m, (int)c->k, (int)c->b_batch,
                (int)c->k, (int)c->n, c->ta, c->tb, c->zeros[0], c->zeros[1],
                (int)(at % (c->m * c->n)), (int)matrix, got, sum);
        }
    }
    if (!forms_give(cpu, c, in, out))
        fail_msg(
            "types %d %d, [%d x %d] [%d x %d], transposed %d %d, zero points %d %d: other "
            "numbers of a constant",
            c->types[0], c->types[1], (int)c->m, (int)c->k, (int)c->k, (int)c->n, c->ta, c->tb,
            c->zeros[0], c->zeros[1]);
    cpu_call_clear(cpu);
}

/* Of all kinds: a few multiplications, few rows or columns with both layouts, panels that are not
 * full, several blocks of k, batches with shared matrices, more matrices than panels are kept. */
static const int64_t integer_sizes[][5] = {
    {1, 1, 1, 1, 1},    {1, 1, 3, 5, 4},     {1, 1, 12, 32, 8},    {1, 1, 13, 33, 9},
    {1, 1, 1, 70, 130}, {1, 1, 70, 1, 130},  {1, 1, 4, 300, 70},   {1, 1, 300, 3, 67},
    {1, 1, 17, 41, 3},  {1, 1, 40, 100, 64}, {1, 1, 50, 45, 2100}, {1, 1, 2, 3, 5001},
    {3, 3, 5, 7, 6},    {1, 4, 9, 33, 31},   {5, 1, 20, 3, 40},    {600, 600, 1, 2, 150}};

static const int32_t integer_types[][3] = {{I8, I8, GANTRY_INT32},
                                           {U8, I8, GANTRY_INT32},
                                           {I8, U8, GANTRY_INT32},
                                           {U8, U8, GANTRY_INT32},
                                           {I16, I16, GANTRY_INT32},
                                           {B8, B8, GANTRY_INT32},
                                           {B8, B8, B8}};

static void check_integers(int level, bool has_dots) {
    cpu_call_t cpu;
    cpu_call_open(&cpu, level, 2);
    cpu.device.has_dots = has_dots;
    int round = 0;
    for (size_t s = 0; s < sizeof integer_sizes / sizeof integer_sizes[0]; ++s) {
        const int64_t *z = integer_sizes[s];
        for (size_t t = 0; t < sizeof integer_types / sizeof integer_types[0]; ++t) {
            const int32_t *types = integer_types[t];
            for (int layout = 0; layout < 4; ++layout, ++round) {
                const int kind = types[0] == B8 ? 0 : round % 4;
                const integer_case_t c = {.a_batch = z[0],
                                          .b_batch = z[1],
                                          .m = z[2],
                                          .n = z[3],
                                          .k = z[4],
                                          .ta = (layout & 1) != 0,
                                          .tb = layout >> 1 != 0,
                                          .zeros = {kind, kind == 0 ? 0 : round / 4 % 4},
                                          .types = {types[0], types[1], types[2]}};
                check_integer(&cpu, &c);
            }
        }
    }
    cpu_call_close(&cpu);
}

TEST(matmul_integer_every_loop_matches_the_plain_loop) {
    const int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        check_integers(level, false);
        if (gantry__cpu_dots_detect(level)) check_integers(level, true);
    }
}

/* The ends of a type: low, high. */
static int64_t end_of(int32_t dtype, int high) {
    return dtype == I8 ? (high ? INT8_MAX : INT8_MIN) : high ? UINT8_MAX : 0;
}

/* A product of two matrices that have one element everywhere. */
static void check_ends(cpu_call_t *cpu, const int32_t *types, int a_end, int b_end) {
    const integer_case_t c = {.a_batch = 1,
                              .b_batch = 1,
                              .m = 7,
                              .n = 25,
                              .k = 1030,
                              .types = {types[0], types[1], types[2]}};
    const int64_t sizes[] = {1, c.m, c.n}, a = end_of(types[0], a_end), b = end_of(types[1], b_end);
    gantry_arg_t *in[] = {operand(cpu, types[0], 1, c.m, c.k, false),
                          operand(cpu, types[1], 1, c.k, c.n, false)};
    gantry_arg_t *out = cpu_tensor(cpu, GANTRY_INT32, 3, sizes);
    memset(in[0]->data, (int)a, (size_t)in[0]->span.size_bytes);
    memset(in[1]->data, (int)b, (size_t)in[1]->span.size_bytes);
    assert_int_equal(run_integer(cpu, &c, in, out), GANTRY_OK);
    for (int64_t i = 0; i < out->element_count; ++i)
        assert_int_equal(((const int32_t *)out->data)[i], c.k * a * b);
    assert_true(forms_give(cpu, &c, in, out));
    cpu_call_clear(cpu);
}

TEST(matmul_integer_saturates_nowhere) {
    const int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        for (int dots = 0; dots <= gantry__cpu_dots_detect(level); ++dots) {
            cpu_call_t cpu;
            cpu_call_open(&cpu, level, 2);
            cpu.device.has_dots = dots != 0;
            for (int t = 0; t < 4; ++t)
                for (int ends = 0; ends < 4; ++ends)
                    check_ends(&cpu, integer_types[t], ends & 1, ends >> 1);
            cpu_call_close(&cpu);
        }
    }
}

TEST(matmul_integer_without_scratch_fails) {
    const integer_case_t c = {
        .a_batch = 1, .b_batch = 1, .m = 20, .n = 40, .k = 8, .types = {B8, B8, B8}};
    const int64_t sizes[] = {1, c.m, c.n};
    for (int left = 0; left < 2; ++left) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, -1, 1);
        gantry_arg_t *in[] = {operand(&cpu, B8, 1, c.m, c.k, false),
                              operand(&cpu, B8, 1, c.k, c.n, false)};
        cpu.scratch_left = left;
        assert_int_equal(run_integer(&cpu, &c, in, cpu_tensor(&cpu, B8, 3, sizes)),
                         GANTRY_RESOURCE_EXHAUSTED);
        cpu_call_close(&cpu);
    }
}

int main(void) { return test_main(); }
