/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The OpenCL backend's matrix product on tensor cores, emulated on PoCL, is exact on small
 * integers, errs no more than float32, and treats special values as float32 does.
 *
 * The kernel is the card's; only the product of one fragment is emulated. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"
#include "test.h"

#include <math.h>

#include "product_case.h"

/* The emulation was made on one version of PoCL. Other versions may build it wrong: PoCL 6
 * sometimes does, with the same text. */
static void open_emulated(core_t *core, fixture_t *fixture) {
    core_open(core, fixture, "GANTRY_OPENCL_MATMUL", "tensor_emulated");
    if (strstr(fixture->info[0].platform_version, "PoCL 3.") == NULL) {
        print_message("skipped: the emulation is for PoCL 3, this is %s\n",
                      fixture->info[0].platform_version);
        core_close(core);
        skip();
    }
    core->dtype_count = 1; /* float32 */
}

/* Both sizes of tiles, rows with and without whole float4, and several steps of k, of which the
 * last is not full. */
TEST(tensor_matmul_shapes_are_exact) {
    static const int64_t shapes[][3] = {{1, 1, 1},       {3, 5, 7},      {16, 8, 8},
                                        {64, 16, 64},    {65, 33, 130},  {128, 36, 60},
                                        {200, 100, 132}, {129, 17, 1100}};
    fixture_t fixture;
    core_t core;

    open_emulated(&core, &fixture);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
        for (int form = 0; form < 4; ++form) {
            product_t p = plain(GANTRY_FLOAT32, shapes[s][0], shapes[s][1], shapes[s][2], form & 1,
                                form >> 1);

            core.compute_units =
                /* large and small tiles: each form of either operand in both */
                form == 0 || form == 3 ? 1 : 1000;
            check_product(&core, &p);
        }
    }
    core_close(&core);
}

TEST(tensor_matmul_batches_are_exact) {
    fixture_t fixture;
    core_t core;

    open_emulated(&core, &fixture);
    check_batches(&core);
    core_close(&core);
}

static float random_float(uint32_t *seed, float least) {
    *seed = *seed * 1664525u + 1013904223u;
    return least + (1 - least) * (float)(*seed >> 8) * 0x1p-24f;
}

/* The largest errors of c and of sums by fmaf against float64, as fractions of sum |a b|. */
static void measure_errors(const float *a, const float *b, const float *c, int m, int k, int n,
                           double *out_own, double *out_plain) {
    *out_own = *out_plain = 0;
    for (int e = 0; e < m * n; ++e) {
        double sum = 0;
        double size = 0;
        float plain_sum = 0;

        for (int p = 0; p < k; ++p) {
            float x = a[e / n * k + p];
            float y = b[p * n + e % n];

            sum += (double)x * y;
            size += fabs((double)x * y);
            plain_sum = fmaf(x, y, plain_sum);
        }
        *out_own = fmax(*out_own, fabs((double)c[e] - sum) / size);
        *out_plain = fmax(*out_plain, fabs((double)plain_sum - sum) / size);
    }
}

/* Three products of TF32 are nearly as accurate as float32. One product alone would exceed the
 * bound a hundredfold. */
TEST(tensor_matmul_errs_as_little_as_float32) {
    enum { M = 70, K = 1500, N = 90 };
    static const float least[] = {-1, 0}; /* random signs; all positive, which shows a bias */
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, M, K, N, 0, 0);
    float *a = malloc(M * K * sizeof *a);
    float *b = malloc(K * N * sizeof *b);
    float *c = malloc(M * N * sizeof *c);
    uint32_t seed = 7;

    assert_true(a != NULL && b != NULL && c != NULL);
    open_emulated(&core, &fixture);
    for (int kind = 0; kind < 2; ++kind) {
        double own;
        double plain_error;

        for (int i = 0; i < M * K; ++i) {
            a[i] = random_float(&seed, least[kind]);
        }
        for (int i = 0; i < K * N; ++i) {
            b[i] = random_float(&seed, least[kind]);
        }
        assert_ok(run(&core, &p, a, b, c));
        measure_errors(a, b, c, M, K, N, &own, &plain_error);
        print_message("from %g to 1: largest error %.3g of sum |a b|, float32 in one sum %.3g\n",
                      (double)least[kind], own, plain_error);
        assert_true(own <= 0x1p-19);
        assert_true(own <= plain_error);
    }
    free(a);
    free(b);
    free(c);
    core_close(&core);
}

/* One step of k contains a number that cannot be split: every sum is then float32's own, in rising
 * order. */
TEST(tensor_matmul_of_special_values_is_that_of_float32) {
    enum { M = 20, K = 16, N = 24 };
    static const float values[] = {INFINITY, -INFINITY,   NAN,       0x1.fffffep127f,
                                   -0x1p60f, 0x1.fp-113f, 0x1p-149f, 0x1.8p-127f,
                                   0x1p100f, -0x1p-120f};
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, M, K, N, 0, 0);
    float a[M * K];
    float b[K * N];
    float c[M * N];
    uint32_t seed = 3;

    open_emulated(&core, &fixture);
    for (size_t v = 0; v < sizeof values / sizeof values[0]; ++v) {
        for (int i = 0; i < M * K; ++i) {
            a[i] = random_float(&seed, -1);
        }
        for (int i = 0; i < K * N; ++i) {
            b[i] = random_float(&seed, -1);
        }
        (v % 2 ? a : b)[v * 31] = values[v];
        assert_ok(run(&core, &p, a, b, c));
        for (int e = 0; e < M * N; ++e) {
            float sum = 0;

            for (int i = 0; i < K; ++i) {
                sum = fmaf(a[e / N * K + i], b[i * N + e % N], sum);
            }
            if (!(isnan(sum) && isnan(c[e])) && sum != c[e]) {
                fail_msg("with %a: %a at %d, float32 has %a", (double)values[v], (double)c[e], e,
                         (double)sum);
            }
        }
    }
    core_close(&core);
}

/* An infinity in one of several steps of k, and zeros in all of them: it affects its row only. */
TEST(tensor_matmul_keeps_an_infinity_to_its_row) {
    enum { M = 5, K = 70, N = 6 };
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, M, K, N, 0, 0);
    float a[M * K] = {0};
    float b[K * N];
    float c[M * N];

    open_emulated(&core, &fixture);
    for (int i = 0; i < K * N; ++i) {
        b[i] = 1;
    }
    for (int i = 0; i < M * K; ++i) {
        a[i] = i % 3 == 0;
    }
    a[2 * K + 40] = -INFINITY;
    assert_ok(run(&core, &p, a, b, c));
    for (int e = 0; e < M * N; ++e) {
        float sum = 0;

        for (int i = 0; i < K; ++i) {
            sum += a[e / N * K + i];
        }
        assert_true(c[e] == sum);
    }
    core_close(&core);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
