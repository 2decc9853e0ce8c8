/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The OpenCL backend's matrix products give exact results on PoCL: its own, CLBlast's and
 * those for CPUs.
 *
 * product_case.h runs and checks them. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"
#include "test.h"

#include "product_case.h"

static const int64_t small_shapes[][3] = {{1, 1, 1},    {2, 3, 2},   {3, 5, 7},   {12, 8, 32},
                                          {13, 33, 37}, {40, 19, 5}, {5, 100, 70}};
#define SMALL_SHAPES (sizeof small_shapes / sizeof small_shapes[0])

static void open_choice(core_t *core, fixture_t *fixture, const char *choice) {
    core_open(core, fixture, "GANTRY_OPENCL_MATMUL", choice);
}

TEST(cpu_matmul_small_shapes_are_exact) {
    fixture_t fixture;
    core_t core;

    open_choice(&core, &fixture, "cpu");
    check_shapes(&core, small_shapes, SMALL_SHAPES, 0);
    core_close(&core);
}

/* Several blocks in each direction, several work-items, both ways to read b, the transposed
 * product, few rows, few columns. */
TEST(cpu_matmul_block_edges_are_exact) {
    static const int64_t shapes[][3] = {
        {300, 257, 97}, {245, 513, 64}, {31, 300, 130}, {700, 260, 6}, {1, 600, 500},
        {500, 600, 1},  {8, 40, 2100},  {3, 900, 800},  {800, 900, 3}, {40, 2100, 9},
        {1, 607, 515},  {2, 403, 1031}, {4, 901, 800}};
    fixture_t fixture;
    core_t core;

    open_choice(&core, &fixture, NULL); /* auto: the device is a CPU */
    check_shapes(&core, shapes, sizeof shapes / sizeof shapes[0], 0);
    core_close(&core);
}

TEST(cpu_matmul_narrow_vectors_are_exact) {
    static const int64_t shapes[][3] = {
        {13, 33, 37}, {64, 600, 33}, {3, 5, 70}, {2, 1103, 1000}, {100, 700, 6}};
    static const uint32_t widths[] = {1, 4, 8};
    fixture_t fixture;
    core_t core;

    open_choice(&core, &fixture, "cpu");
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; ++w) {
        core.vector_width = widths[w];
        check_shapes(&core, shapes, sizeof shapes / sizeof shapes[0], 0);
    }
    core_close(&core);
}

TEST(cpu_matmul_batches_are_exact) {
    fixture_t fixture;
    core_t core;

    open_choice(&core, &fixture, "cpu");
    check_batches(&core);
    core_close(&core);
}

TEST(cpu_matmul_twice_gives_the_same_bits) {
    enum { M = 150, K = 700, N = 170 };
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, M, K, N, 0, 0);
    float *a = malloc(M * K * sizeof *a);
    float *b = malloc(K * N * sizeof *b);
    float *c = malloc(2 * M * N * sizeof *c);

    assert_true(a != NULL && b != NULL && c != NULL);
    open_choice(&core, &fixture, "cpu");
    for (int i = 0; i < M * K; ++i) {
        a[i] = 1.0f / (float)(i % 1013 + 1);
    }
    for (int i = 0; i < K * N; ++i) {
        b[i] = 1.0f / (float)(i % 997 + 3);
    }
    assert_ok(run(&core, &p, a, b, c));
    for (int i = 0; i < 3; ++i) {
        assert_ok(run(&core, &p, a, b, c + M * N));
        assert_memory_equal(c, c + M * N, M * N * sizeof *c);
    }
    free(a);
    free(b);
    free(c);
    core_close(&core);
}

TEST(matmul_over_nothing_is_zero) {
    static const char *const choices[] = {"cpu", "clblast"};

    for (int i = 0; i < 2; ++i) {
        fixture_t fixture;
        core_t core;
        product_t p = plain(GANTRY_FLOAT64, 3, 0, 5, 0, 0);

        open_choice(&core, &fixture, choices[i]);
        check_product(&core, &p);
        core_close(&core);
    }
}

TEST(cpu_matmul_without_scratch_returns_its_error) {
    fixture_t fixture;
    core_t core;
    product_t p = plain(GANTRY_FLOAT32, 4, 4, 4, 0, 0);
    float numbers[16] = {0};

    open_choice(&core, &fixture, "cpu");
    core.scratch_status = GANTRY_RESOURCE_EXHAUSTED;
    assert_int_equal(run(&core, &p, numbers, numbers, numbers), GANTRY_RESOURCE_EXHAUSTED);
    core_close(&core);
}

static int has_clblast(const core_t *core) {
    return strstr(core->fixture->backend->libraries(core->fixture->instance), "CLBlast missing") ==
           NULL;
}

/* Only a few: on a CPU, each new kernel of CLBlast takes seconds to build, or a quarter of that
 * without optimization. */
TEST(clblast_small_shapes_and_batches_are_exact) {
    static const product_t batches[] = {
        {.dtype = GANTRY_FLOAT32,
         .is_batched = 1,
         .a_rank = 3,
         .b_rank = 2,
         .a_dims = {5, 7, 9},
         .b_dims = {9, 33}},
        {.dtype = GANTRY_FLOAT32,
         .is_batched = 1,
         .a_rank = 5,
         .b_rank = 4,
         .a_dims = {2, 1, 3, 7, 9},
         .b_dims = {4, 1, 9, 5}},
    };
    fixture_t fixture;
    core_t core;
    product_t p;

    assert_int_equal(setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1), 0);
    open_choice(&core, &fixture, "clblast");
    if (!has_clblast(&core)) {
        print_message("skipped: %s\n", fixture.backend->libraries(fixture.instance));
        core_close(&core);
        skip();
    }
    for (size_t i = 0; i < SMALL_SHAPES; ++i) {
        p = plain(GANTRY_FLOAT32, small_shapes[i][0], small_shapes[i][1], small_shapes[i][2], 0, 0);
        check_product(&core, &p);
    }
    p = plain(GANTRY_FLOAT32, 13, 33, 37, 1, 1);
    check_product(&core, &p);
    p = plain(GANTRY_FLOAT64, 13, 33, 37, 0, 0);
    check_product(&core, &p);
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; ++i) {
        check_product(&core, &batches[i]);
    }
    core_close(&core);
}

/* "portable" leaves the op to the pack. With a forced choice, only that kernel supports the op. */
TEST(matmul_choice_decides_who_supports_it) {
    /* not an NVIDIA card */
    static const char *const choices[] = {"portable", "tensor", "cpu", "auto", "tensor_emulated"};

    for (int i = 0; i < 5; ++i) {
        fixture_t fixture;
        core_t core;
        const gantry_kernel_def_t *const *kernels = NULL;
        gantry_op_call_t call = {.struct_size = sizeof call, .op = "MatMul"};
        uint32_t yes = 0;
        uint32_t count;

        open_choice(&core, &fixture, choices[i]);
        call.device = fixture.device[0];
        call.device_info = &fixture.info[0];
        count = fixture.backend->kernels(fixture.instance, fixture.index[0], &kernels);
        /* and those of programs and groups, of convolutions, and _ImagesFilterGradient */
        assert_int_equal(count, 12);
        for (uint32_t j = 0; j < count; ++j) {
            if (kernels[j]->op[0] == '_') continue;
            yes += strstr(kernels[j]->op, "MatMul") && kernels[j]->supports(&call) != 0;
        }
        assert_int_equal(yes, i < 2 ? 0 : 2);
        assert_int_equal(fixture.backend->kernels(fixture.instance, 1000, &kernels), 0);
        core_close(&core);
    }
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
