/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend's matrix products agree with a plain triple loop, with every method
 * (tiny, thin, blocked, library) and instruction set. */
#include <math.h>

#include "cpu_kernel_call.h"
#include "test.h"

#include "host/bits.h"
#include "kernels/matmul/cpu_blas.h"
#include "kernels/matmul/matmul_cpu.h"

#define F32 GANTRY_FLOAT32
#define F64 GANTRY_FLOAT64
#define I32 GANTRY_INT32
#define I64 GANTRY_INT64

static const int32_t dtypes[] = {F32, F64, I32, I64};
static uint64_t random_state = 1;

static uint32_t random_bits(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 32);
}

/* Floats are small multiples of 1/8. All sums are exact here, so every order gives the same value.
 * Integers wrap. */
static void randomize(gantry_arg_t *arg) {
    for (int64_t i = 0; i < arg->element_count; ++i) {
        int32_t value = (int32_t)(random_bits() % 33) - 16;
        switch (arg->dtype) {
            case F32: ((float *)arg->data)[i] = (float)value / 8; break;
            case F64: ((double *)arg->data)[i] = (double)value / 8; break;
            case I32: ((uint32_t *)arg->data)[i] = random_bits(); break;
            default:
                ((uint64_t *)arg->data)[i] = (uint64_t)random_bits() << 32 | random_bits();
                break;
        }
    }
}

/* The element of op(A) op(B) as bits of its type. */
static uint64_t product(const gantry_arg_t *a, int64_t a_first, int64_t a_step,
                        const gantry_arg_t *b, int64_t b_first, int64_t b_step, int64_t k) {
    double sum = 0;
    uint64_t wrapped = 0, bits = 0;
    for (int64_t p = 0; p < k; ++p) {
        int64_t i = a_first + p * a_step, j = b_first + p * b_step;
        if (a->dtype == F32) {
            sum += (double)((float *)a->data)[i] * (double)((float *)b->data)[j];
        } else if (a->dtype == F64) {
            sum += ((double *)a->data)[i] * ((double *)b->data)[j];
        } else if (a->dtype == I32) {
            wrapped += (uint64_t)((uint32_t *)a->data)[i] * ((uint32_t *)b->data)[j];
        } else {
            wrapped += ((uint64_t *)a->data)[i] * ((uint64_t *)b->data)[j];
        }
    }
    if (a->dtype == F32) {
        float value = (float)sum;
        bits = gantry__bits_read(&value, sizeof value);
    } else if (a->dtype == F64) {
        memcpy(&bits, &sum, sizeof sum);
    } else {
        bits = a->dtype == I32 ? (uint32_t)wrapped : wrapped;
    }
    return bits;
}

static uint64_t bits_of(const gantry_arg_t *arg, int64_t i) {
    return gantry__k_size(arg->dtype) == 4 ? ((uint32_t *)arg->data)[i]
                                           : ((uint64_t *)arg->data)[i];
}

static const gantry_kernel_def_t *kernel_of(const char *op) {
    const gantry_kernel_def_t *kernel =
        cpu_kernel(gantry__cpu_matmul_kernels, gantry__cpu_matmul_kernel_count, op);
    assert_non_null(kernel);
    return kernel;
}

static int32_t run(cpu_call_t *cpu, const char *op, const gantry_arg_t *a, const gantry_arg_t *b,
                   int ta, int tb, gantry_arg_t *output) {
    int batched = strcmp(op, "BatchMatMul") == 0;
    gantry_attr_t first = {.struct_size = sizeof first,
                           .kind = GANTRY_ATTR_BOOL,
                           .name = batched ? "adj_x" : "transpose_a",
                           .i = ta};
    gantry_attr_t second = {.struct_size = sizeof second,
                            .kind = GANTRY_ATTR_BOOL,
                            .name = batched ? "adj_y" : "transpose_b",
                            .i = tb};
    const gantry_attr_t *attrs[] = {&first, &second};
    const gantry_arg_t *inputs[] = {a, b};
    return cpu_compute(cpu, kernel_of(op), inputs, 2, output, attrs, 2);
}

static void check_product(cpu_call_t *cpu, int32_t dtype, int64_t m, int64_t n, int64_t k, int ta,
                          int tb) {
    const int64_t a_sizes[] = {ta ? k : m, ta ? m : k}, b_sizes[] = {tb ? n : k, tb ? k : n},
                  c_sizes[] = {m, n};
    gantry_arg_t *a = cpu_tensor(cpu, dtype, 2, a_sizes), *b = cpu_tensor(cpu, dtype, 2, b_sizes),
                 *c = cpu_tensor(cpu, dtype, 2, c_sizes);
    randomize(a);
    randomize(b);
    assert_int_equal(run(cpu, "MatMul", a, b, ta, tb, c), 0);
    int64_t looks = m * n <= 20000 ? m * n : 2000;
    for (int64_t look = 0; look < looks; ++look) {
        int64_t at = looks == m * n ? look : (int64_t)(random_bits() % (uint64_t)(m * n));
        int64_t i = at / n, j = at % n;
        uint64_t expected =
            product(a, ta ? i : i * k, ta ? m : 1, b, tb ? j * k : j, tb ? 1 : n, k);
        if (bits_of(c, at) != expected) {
            fail_msg("type %d, %d x %d x %d, transposes %d %d, element %d", (int)dtype, (int)m,
                     (int)n, (int)k, ta, tb, (int)at);
        }
    }
    cpu_call_clear(cpu);
}

TEST(matmul_odd_sizes_match_the_plain_loop) {
    static const int64_t sizes[][3] = {
        {1, 1, 1},     {2, 3, 4},     {4, 4, 4},     {7, 5, 3},      {8, 8, 8},      {12, 32, 10},
        {13, 33, 11},  {1, 100, 70},  {100, 1, 70},  {3, 300, 65},   {300, 4, 130},  {5, 64, 7},
        {65, 65, 65},  {1, 1, 5000},  {31, 17, 513}, {100, 90, 300}, {97, 129, 257}, {1, 3000, 40},
        {3000, 2, 40}, {5, 37, 9001}, {41, 6, 4099}, {3, 2, 5000},   {1, 512, 784},  {170, 6, 300}};
    int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, level, 2);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            for (int variant = 0; variant < 16; ++variant) {
                check_product(&cpu, dtypes[variant / 4], sizes[s][0], sizes[s][1], sizes[s][2],
                              variant & 1, variant >> 1 & 1);
            }
        }
        cpu_call_close(&cpu);
    }
}

TEST(matmul_every_small_size_matches_the_plain_loop) {
    cpu_call_t cpu;
    cpu_call_open(&cpu, -1, 2);
    for (int64_t m = 1; m <= 27; m += 2) {
        for (int64_t n = 1; n <= 70; n += 3) {
            check_product(&cpu, dtypes[(m + n) % 4], m, n, (m * n) % 23 + 1, (int)(m & 1),
                          (int)(n & 1));
        }
    }
    cpu_call_close(&cpu);
}

TEST(matmul_large_sizes_match_the_plain_loop) {
    static const int64_t sizes[][3] = {
        {300, 2100, 70}, {2500, 40, 90}, {129, 600, 700}, {2100, 2100, 9}};
    int best = gantry__cpu_simd_detect(NULL);
    for (int level = 0; level <= best; ++level) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, level, 2);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            check_product(&cpu, F32, sizes[s][0], sizes[s][1], sizes[s][2], (int)(s & 1),
                          (int)(s >> 1));
            check_product(&cpu, dtypes[1 + s % 3], sizes[s][0], sizes[s][1], sizes[s][2],
                          (int)(s >> 1), (int)(s & 1));
        }
        cpu_call_close(&cpu);
    }
}

TEST(matmul_libraries_match_the_plain_loop) {
    static const char *const choices[] = {"onednn", "openblas", "auto", "own", "nonsense"};
    for (int choice = 0; choice < 5; ++choice) {
        cpu_call_t cpu;
        cpu_call_open(&cpu, -1, 2);
        cpu.options[0][0] = "GANTRY_CPU_MATMUL";
        cpu.options[0][1] = choices[choice];
        cpu.option_count = 1;
        assert_int_equal(
            gantry__cpu_blas_create(&cpu.host, cpu.device.simd_level, &cpu.device.blas), 0);
        assert_non_null(strstr(gantry__cpu_blas_library(cpu.device.blas), "matrix products"));
        for (int variant = 0; variant < 4; ++variant) {
            check_product(&cpu, F32, 130, 257, 300, variant & 1, variant >> 1);
            check_product(&cpu, F32, 257, 130, 300, variant & 1, variant >> 1);
            check_product(&cpu, F32, 1030, 1025, 1, variant & 1, variant >> 1);
        }
        int serving = gantry__cpu_blas_choose(cpu.device.blas, 300, 300, 300);
        assert_true(choice != 3 || serving == GANTRY_CPU_BLAS_OWN);
        print_message("%s: %s\n", choices[choice], gantry__cpu_blas_library(cpu.device.blas));
        gantry__cpu_blas_release(cpu.device.blas);
        cpu_call_close(&cpu);
    }
}

TEST(matmul_without_k_gives_zeros) {
    cpu_call_t cpu;
    const int64_t a_sizes[] = {2, 0}, b_sizes[] = {0, 3}, c_sizes[] = {2, 3};
    cpu_call_open(&cpu, -1, 1);
    gantry_arg_t *c = cpu_tensor(&cpu, F32, 2, c_sizes);
    assert_int_equal(run(&cpu, "MatMul", cpu_tensor(&cpu, F32, 2, a_sizes),
                         cpu_tensor(&cpu, F32, 2, b_sizes), 0, 0, c),
                     0);
    for (int i = 0; i < 6; ++i) {
        assert_true(((float *)c->data)[i] == 0.0f);
    }
    cpu_call_close(&cpu);
}

TEST(matmul_scratch_exhausted_returns_the_status) {
    cpu_call_t cpu;
    const int64_t sizes[] = {200, 200};
    cpu_call_open(&cpu, -1, 1);
    gantry_arg_t *a = cpu_tensor(&cpu, F64, 2, sizes), *c = cpu_tensor(&cpu, F64, 2, sizes);
    randomize(a);
    cpu.scratch_left = 0;
    assert_int_equal(run(&cpu, "MatMul", a, a, 0, 0, c), GANTRY_RESOURCE_EXHAUSTED);
    const int64_t batch_sizes[] = {3, 200, 200};
    gantry_arg_t *x = cpu_tensor(&cpu, F64, 3, batch_sizes),
                 *z = cpu_tensor(&cpu, F64, 3, batch_sizes);
    randomize(x);
    assert_int_equal(run(&cpu, "BatchMatMul", x, x, 0, 0, z), GANTRY_RESOURCE_EXHAUSTED);
    cpu_call_close(&cpu);
}

/* A call may request scratch only a few times, for any number of products. */
TEST(batch_of_large_products_takes_scratch_once) {
    const int64_t side = 260, batch_sizes[] = {9, side, side};
    cpu_call_t cpu;
    cpu_call_open(&cpu, -1, 2);
    gantry_arg_t *x = cpu_tensor(&cpu, F64, 3, batch_sizes),
                 *z = cpu_tensor(&cpu, F64, 3, batch_sizes);
    randomize(x);
    assert_int_equal(run(&cpu, "BatchMatMul", x, x, 0, 0, z), 0);
    assert_int_equal(cpu.scratch_count, 1);
    for (int64_t look = 0; look < 2000; ++look) {
        int64_t at = (int64_t)(random_bits() % (uint64_t)z->element_count),
                begin = at / (side * side) * side * side;
        int64_t i = (at - begin) / side, j = at % side;
        assert_true(bits_of(z, at) == product(x, begin + i * side, 1, x, begin + j, side, side));
    }
    cpu_call_close(&cpu);
}

TEST(matmul_run_twice_gives_equal_bits) {
    const int64_t sizes[] = {300, 300};
    float first[300];
    for (int run_number = 0; run_number < 6; ++run_number) {
        cpu_call_t cpu;
        /* Gantry's own loops: the number of threads does not change the bits, either */
        cpu_call_open(&cpu, -1, (uint32_t)(run_number % 3 + 1));
        gantry_arg_t *a = cpu_tensor(&cpu, F32, 2, sizes), *c = cpu_tensor(&cpu, F32, 2, sizes);
        random_state = 9;
        for (int64_t i = 0; i < a->element_count; ++i) {
            ((float *)a->data)[i] = (float)random_bits() / 4294967296.0f - 0.5f;
        }
        assert_int_equal(run(&cpu, "MatMul", a, a, 0, 1, c), 0);
        if (run_number == 0) {
            memcpy(first, (float *)c->data + 12345, sizeof first);
        }
        assert_memory_equal(first, (float *)c->data + 12345, sizeof first);
        cpu_call_close(&cpu);
    }
}

static void fill_fractions(gantry_arg_t *arg) {
    for (int64_t i = 0; i < arg->element_count; ++i)
        ((float *)arg->data)[i] = (float)random_bits() / 4294967296.0f - 0.5f;
}

/* Right but for the rounding of each product and of each step of the sum. */
static void check_few_rows(const gantry_arg_t *a, const gantry_arg_t *b, const gantry_arg_t *c) {
    const int64_t k = a->dims[1], n = b->dims[1];
    for (int64_t at = 0; at < c->element_count; ++at) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < k; ++p) {
            const double part = (double)((float *)a->data)[at / n * k + p] *
                                (double)((float *)b->data)[p * n + at % n];
            sum += part;
            size += fabs(part);
        }
        assert_true(fabs(sum - (double)((float *)c->data)[at]) <= size * (double)k * 0x1p-24);
    }
}

/* A series of products of few rows wakes threads: bits stay those of one thread. */
TEST(matmul_of_few_rows_gives_equal_bits_alone_and_shared) {
    static const int64_t sizes[][3] = {{1, 512, 784}, {1, 999, 131},  {1, 10, 6600},
                                       {3, 300, 300}, {1, 1031, 129}, {2, 67, 2000}};
    enum { CALLS = 40 };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        float *first = NULL;
        for (uint32_t threads = 1; threads <= 3; ++threads) {
            cpu_call_t cpu;
            cpu_call_open(&cpu, -1, threads);
            const int64_t a_sizes[] = {m, k}, b_sizes[] = {k, n}, c_sizes[] = {m, n};
            gantry_arg_t *a = cpu_tensor(&cpu, F32, 2, a_sizes),
                         *b = cpu_tensor(&cpu, F32, 2, b_sizes),
                         *c = cpu_tensor(&cpu, F32, 2, c_sizes);
            const size_t bytes = (size_t)(m * n) * sizeof(float);
            random_state = 5;
            fill_fractions(a);
            fill_fractions(b);
            for (int call = 0; call < CALLS; ++call) {
                memset(c->data, 0xa5, bytes);
                assert_int_equal(run(&cpu, "MatMul", a, b, 0, 0, c), 0);
                if (!first) {
                    first = malloc(bytes);
                    assert_non_null(first);
                    memcpy(first, c->data, bytes);
                    check_few_rows(a, b, c);
                }
                assert_memory_equal(first, c->data, bytes);
            }
            cpu_call_close(&cpu);
        }
        free(first);
    }
}

/* ---- batches ---- */

static void check_batch(cpu_call_t *cpu, int32_t dtype, int32_t rank, const int64_t *x_batch,
                        const int64_t *y_batch, int64_t m, int64_t n, int64_t k, int ta, int tb) {
    int64_t x_sizes[8], y_sizes[8], z_sizes[8], count = 1;
    for (int32_t i = 0; i < rank; ++i) {
        x_sizes[i] = x_batch[i];
        y_sizes[i] = y_batch[i];
        z_sizes[i] = x_batch[i] > y_batch[i] ? x_batch[i] : y_batch[i];
        count *= z_sizes[i];
    }
    x_sizes[rank] = ta ? k : m;
    x_sizes[rank + 1] = ta ? m : k;
    y_sizes[rank] = tb ? n : k;
    y_sizes[rank + 1] = tb ? k : n;
    z_sizes[rank] = m;
    z_sizes[rank + 1] = n;
    int32_t y_skip = 0; /* leading dimensions may be missing */
    while (y_skip < rank && y_batch[y_skip] == 1) {
        y_skip++;
    }
    gantry_arg_t *x = cpu_tensor(cpu, dtype, rank + 2, x_sizes),
                 *y = cpu_tensor(cpu, dtype, rank + 2 - y_skip, y_sizes + y_skip);
    gantry_arg_t *z = cpu_tensor(cpu, dtype, rank + 2, z_sizes);
    randomize(x);
    randomize(y);
    assert_int_equal(run(cpu, "BatchMatMul", x, y, ta, tb, z), 0);
    for (int64_t at = 0; at<z->element_count; at += z->element_count> 20000 ? 37 : 1) {
        int64_t index = at / (m * n), i = at % (m * n) / n, j = at % n, xb = 0, yb = 0, xs = 1,
                ys = 1;
        for (int32_t d = rank - 1; d >= 0; --d) {
            int64_t place = index % z_sizes[d];
            xb += x_batch[d] > 1 ? place * xs : 0;
            yb += y_batch[d] > 1 ? place * ys : 0;
            xs *= x_batch[d];
            ys *= y_batch[d];
            index /= z_sizes[d];
        }
        uint64_t expected = product(x, xb * m * k + (ta ? i : i * k), ta ? m : 1, y,
                                    yb * k * n + (tb ? j * k : j), tb ? 1 : n, k);
        assert_true(bits_of(z, at) == expected);
    }
    assert_true(count > 0);
    cpu_call_clear(cpu);
}

TEST(batch_matmul_broadcasts_like_numpy) {
    static const int64_t batches[][2][3] = {{{1, 1, 5}, {1, 1, 5}}, {{2, 3, 4}, {2, 3, 4}},
                                            {{2, 3, 4}, {1, 1, 1}}, {{1, 1, 1}, {2, 1, 3}},
                                            {{2, 1, 4}, {1, 3, 4}}, {{1, 3, 1}, {1, 1, 200}}};
    static const int64_t sizes[][3] = {
        {2, 3, 4}, {1, 40, 33}, {20, 30, 40}, {64, 64, 64}, {130, 70, 300}};
    cpu_call_t cpu;
    cpu_call_open(&cpu, -1, 2);
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; ++b) {
        for (size_t s = 0; s < (b == 5 ? 3 : sizeof sizes / sizeof sizes[0]); ++s) {
            for (int variant = 0; variant < 4; ++variant) {
                check_batch(&cpu, dtypes[(b + s + (size_t)variant) % 4], 3, batches[b][0],
                            batches[b][1], sizes[s][0], sizes[s][1], sizes[s][2], variant & 1,
                            variant >> 1);
            }
        }
    }
    cpu_call_close(&cpu);
}

int main(void) { return test_main(); }
