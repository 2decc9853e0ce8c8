/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CUDA backend computes matrix products by cuBLASLt, on the stand-in's library.
 * Promise: An option makes float32 products on CUDA round their inputs to TF32, bfloat16 or
 * float16.
 * Promise: cuBLASLt is asked once for each form of product, of which the last 512 are kept, and the
 * portable kernels compute a product for which it has no algorithm.
 *
 * The stand-in's products are right; only a card can show the speed and accuracy of NVIDIA's. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "cuda_fixture.h"
#include "test.h"

#include "product_case.h"

static const int64_t shapes[][3] = {{1, 1, 1},    {2, 3, 2},   {3, 5, 7},   {12, 8, 32},
                                    {13, 33, 37}, {1, 60, 50}, {50, 60, 1}, {5, 1, 70}};
#define SHAPES (sizeof shapes / sizeof shapes[0])
#define PLANS 512 /* plans that a device caches: GANTRY__CUBLAS_PLANS */

/* cuBLASLt computes halves, too. */
static void open_all(core_t *core, fixture_t *fixture, const char *name, const char *value) {
    static const int32_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                     GANTRY_BFLOAT16};

    core_open(core, fixture, name, value);
    core->dtypes = dtypes;
    core->dtype_count = sizeof dtypes / sizeof dtypes[0];
}

TEST(products_of_each_form_are_right) {
    fixture_t fixture;
    core_t core;

    open_all(&core, &fixture, NULL, NULL);
    check_shapes(&core, shapes, SHAPES, 0);
    core_close(&core);
}

/* The stand-in refuses a pointer that is less aligned than promised. */
TEST(products_at_odd_addresses_are_right) {
    fixture_t fixture;
    core_t core;

    open_all(&core, &fixture, NULL, NULL);
    check_shapes(&core, shapes, SHAPES, 8);
    core_close(&core);
}

TEST(products_of_batches_are_right) {
    fixture_t fixture;
    core_t core;

    open_all(&core, &fixture, NULL, NULL);
    check_batches(&core);
    core_close(&core);
}

/* More batches than a grid has blocks in z, with a remainder; also behind an outer dimension. */
TEST(products_of_70000_batches_are_right) {
    static const product_t products[] = {
        {.a_rank = 3, .b_rank = 3, .a_dims = {70000, 2, 3}, .b_dims = {70000, 3, 2}},
        {.a_rank = 4, .b_rank = 4, .a_dims = {2, 65536, 1, 2}, .b_dims = {1, 65536, 2, 1}},
        {.a_rank = 2, .b_rank = 3, .a_dims = {1, 2}, .b_dims = {129025, 2, 1}}};
    fixture_t fixture;
    core_t core;

    open_all(&core, &fixture, NULL, NULL);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i) {
        product_t p = products[i];

        p.is_batched = 1;
        p.dtype = GANTRY_FLOAT32;
        check_product(&core, &p);
    }
    core_close(&core);
}

/* Each shorter type rounds these float32 numbers in another way: only float32 keeps 1 + 2^-20
 * exactly, bfloat16 cannot hold 1 + 2^-9, and float16 cannot hold 2^20. */
TEST(float32_products_round_inputs_as_the_option_says) {
    static const struct {
        const char *precision;
        float results[3];
    } cases[] = {{NULL, {1.0f + 0x1p-20f, 1.0f + 0x1p-9f, 0x1p20f}},
                 {"float32", {1.0f + 0x1p-20f, 1.0f + 0x1p-9f, 0x1p20f}},
                 {"tf32", {1.0f, 1.0f + 0x1p-9f, 0x1p20f}},
                 {"bfloat16", {1.0f, 1.0f, 0x1p20f}},
                 {"float16", {1.0f, 1.0f + 0x1p-9f, INFINITY}}};
    const float a[3] = {1.0f + 0x1p-20f, 1.0f + 0x1p-9f, 0x1p20f};
    const float one = 1.0f;
    product_t p = plain(GANTRY_FLOAT32, 3, 1, 1, 0, 0);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t fixture;
        core_t core;
        float c[3];

        open_all(&core, &fixture,
                 cases[i].precision != NULL ? "GANTRY_CUDA_MATMUL_PRECISION" : NULL,
                 cases[i].precision);
        assert_ok(run(&core, &p, a, &one, c));
        assert_memory_equal(c, cases[i].results, sizeof c);
        /* the option does not affect other types, and small numbers stay exact */
        check_shapes(&core, shapes, SHAPES, 0);
        core_close(&core);
    }
}

TEST(bfloat16_on_a_card_before_8_0_is_left_to_the_portable_kernels) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_BFLOAT16, 1, 1, 1, 0, 0);
    uint16_t number = 0x3f80;

    open_all(&core, &fixture, NULL, NULL);
    core.card = 1;
    assert_string_equal(fixture.info[1].compute_capability, "7.5");
    assert_int_equal(run(&core, &p, &number, &number, &number), GANTRY_UNIMPLEMENTED);
    p.dtype = GANTRY_FLOAT16;
    check_product(&core, &p);
    core_close(&core);
}

TEST(product_over_nothing_is_zero) {
    fixture_t fixture;
    core_t core;

    open_all(&core, &fixture, NULL, NULL);
    for (size_t t = 0; t < core.dtype_count; ++t) {
        product_t p = plain(core.dtypes[t], 3, 0, 5, 0, 0);

        check_product(&core, &p);
    }
    core_close(&core);
}

TEST(product_without_a_workspace_takes_another_way) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, 13, 33, 37, 0, 1);
    float number = 0;

    open_all(&core, &fixture, NULL, NULL);
    core.scratch_status = GANTRY_RESOURCE_EXHAUSTED;
    check_product(&core, &p);
    check_batches(&core);
    core.scratch_status = GANTRY_UNAVAILABLE; /* a lost device is no lack of memory */
    p = plain(GANTRY_FLOAT32, 1, 1, 1, 0, 0);
    assert_int_equal(run(&core, &p, &number, &number, &number), GANTRY_UNAVAILABLE);
    core_close(&core);
}

TEST(product_without_the_library_is_left_to_the_portable_kernels) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, 1, 1, 1, 0, 0);
    float number = 0;

    core_open(&core, &fixture, "GANTRY_CUDA_CUBLAS", "/nonexistent/libcublasLt.so");
    assert_int_equal(run(&core, &p, &number, &number, &number), GANTRY_UNIMPLEMENTED);
    core_close(&core);
    core_open(&core, &fixture, "GANTRY_CUDA_CUBLAS", "libm.so.6");
    assert_int_equal(run(&core, &p, &number, &number, &number), GANTRY_UNIMPLEMENTED);
    assert_non_null(
        strstr(fixture.backend->libraries(fixture.instance), "has no function cublasLtGetVersion"));
    core_close(&core);
    fixture_control()->set("fail=cublasLtCreate:*:1");
    core_open(&core, &fixture, NULL, NULL);
    assert_int_equal(run(&core, &p, &number, &number, &number), GANTRY_UNIMPLEMENTED);
    core_close(&core);
    fixture_control()->reset();
}

/* Each call of the library fails once: the error has the library's own name for it, and nothing
 * leaks. */
TEST(product_reports_each_failing_call) {
    static const char *const functions[] = {"cublasLtMatmulDescCreate",
                                            "cublasLtMatmulDescSetAttribute",
                                            "cublasLtMatrixLayoutCreate",
                                            "cublasLtMatmulPreferenceCreate",
                                            "cublasLtMatmulPreferenceSetAttribute",
                                            "cublasLtMatmulAlgoGetHeuristic",
                                            "cublasLtMatmul"};
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, 1, 1, 1, 0, 0);
    float number = 0;
    char setting[96];

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
        core_open(&core, &fixture, NULL, NULL); /* no plan is cached yet */
        snprintf(setting, sizeof setting, "fail=%s:*:14", functions[i]);
        assert_int_equal(fixture_control()->set(setting), 0);
        assert_int_equal(run(&core, &p, &number, &number, &number), 13);
        assert_error_has("MatMul of 1 x 1 by 1 x 1 (1 batches): CUBLAS_STATUS_INTERNAL_ERROR (14)");
        fixture_control()->reset();
        check_product(&core, &p);
        core_close(&core);
    }
}

static uint64_t choices(void) { return fixture_control()->calls("cublasLtMatmulAlgoGetHeuristic"); }

TEST(product_without_an_algorithm_is_left_to_the_portable_kernels) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT16, 3, 5, 7, 0, 0);
    uint16_t numbers[35] = {0};

    open_all(&core, &fixture, NULL, NULL);
    fixture_control()->set("fail=cublasLtMatmulAlgoGetHeuristic:*:15");
    assert_int_equal(run(&core, &p, numbers, numbers, numbers), GANTRY_UNIMPLEMENTED);
    fixture_control()->reset();
    assert_int_equal(run(&core, &p, numbers, numbers, numbers), GANTRY_UNIMPLEMENTED);
    assert_int_equal(choices(), 0); /* one run is enough */
    p = plain(GANTRY_FLOAT16, 4, 5, 7, 0, 0);
    check_product(&core, &p);
    core_close(&core);
}

/* The library is queried once per form of product. The device caches the forms used last, and frees
 * all of them when it is closed. */
TEST(plans_of_products_are_kept) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, 3, 4, 5, 0, 0);
    product_t other;
    uint64_t before;

    core_open(&core, &fixture, NULL, NULL);
    check_product(&core, &p);
    before = choices();
    for (int i = 0; i < 3; ++i) {
        check_product(&core, &p);
    }
    assert_int_equal(choices(), before);
    p.shift = 8; /* a smaller alignment needs another choice */
    check_product(&core, &p);
    assert_int_equal(choices(), before + 1);
    /* a new form causes two queries: whether the library supports it, and for the call */
    for (int64_t m = 10; m < 10 + PLANS; ++m) {
        other = plain(GANTRY_FLOAT32, m, 2, 2, 0, 0);
        check_product(&core, &other);
        check_product(&core, &p); /* this form is never the oldest */
    }
    assert_int_equal(choices(), before + 1 + 2 * PLANS);
    p.shift = 0; /* the plan was evicted and is queried again; its support is known */
    check_product(&core, &p);
    assert_int_equal(choices(), before + 2 + 2 * PLANS);
    core_close(&core);
    assert_int_equal(fixture_control()->live(STAND_IN_BLAS_PARTS), 0);
}

/* A training step has many forms. Each is queried once, not once a step. */
TEST(step_of_a_hundred_forms_asks_for_none_again) {
    fixture_t fixture;
    core_t core;
    uint64_t before = 0;

    core_open(&core, &fixture, NULL, NULL);
    for (int step = 0; step < 2; ++step) {
        before = choices();
        for (int64_t m = 1; m <= 100; ++m) {
            product_t p = plain(GANTRY_FLOAT32, m, 2, 2, 0, 0);

            check_product(&core, &p);
        }
    }
    assert_int_equal(choices(), before);
    core_close(&core);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    setenv("GANTRY_STAND_IN_CUDA", "devices=2;memory=256M;cc=9.0,7.5", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return test_main();
}
