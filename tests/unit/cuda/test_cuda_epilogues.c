/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A function's products on CUDA take a bias and a Relu as cuBLASLt's epilogues: the
 * stand-in counts them, checks the bias, and rounds as the ops do.
 * Promise: On CUDA, products of types without an epilogue of cuBLASLt stay apart from bias and
 * Relu, and the explanation of the function says why.
 *
 * The bits are those of the ops one by one. */
#define _XOPEN_SOURCE 700
#include "cuda_fixture.h"
#include "test.h"

#include "epilogue_case.h"

TEST(products_take_bias_and_relu_with_the_bits_of_ops) {
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    const epilogue_count_t count = epilogue_check_forms(runtime, "GPU:0", GANTRY_FLOAT32, 0);
    assert_int_equal(count.joined, count.cases);
    assert_int_equal(fixture_control()->calls("epilogue"), (long)count.cases);
    gantry_runtime_release(runtime);
}

/* The stand-in has epilogues of float32 alone; halves are never asked about. */
TEST(types_without_an_epilogue_stay_apart) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT64, GANTRY_FLOAT16, GANTRY_BFLOAT16};
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; ++i) {
        epilogue_case_t c = {.m = 8,
                             .k = 8,
                             .n = 8,
                             .dtype = dtypes[i],
                             .has_bias = true,
                             .activation = gantry_relu};
        assert_false(epilogue_check(runtime, "GPU:0", &c, 0).is_joined);
    }
    gantry_runtime_release(runtime);
}

/* Patches, a product, and its view. */
TEST(convolutions_by_patches_take_bias_and_relu) {
    epilogue_conv_t c = {.images = GANTRY_SHAPE(2, 9, 7, 5),
                         .filter = GANTRY_SHAPE(3, 3, 5, 9),
                         .dtype = GANTRY_FLOAT32};
    fixture_name_libraries();
    setenv("GANTRY_CUDA_CUDNN", "/nonexistent/libcudnn_graph.so.9", 1);
    gantry_runtime_t *runtime = fixture_open_named(GANTRY_DEFAULT, NULL, NULL);
    assert_true(epilogue_check_convolution(runtime, "GPU:0", &c, 0));
    gantry_runtime_release(runtime);
}

/* Another activation than Relu, and a product over no elements. */
TEST(other_programs_stay_apart) {
    epilogue_case_t c = {.m = 8,
                         .k = 8,
                         .n = 8,
                         .dtype = GANTRY_FLOAT32,
                         .has_bias = true,
                         .activation = gantry_tanh};
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    assert_false(epilogue_check(runtime, "GPU:0", &c, 0).is_joined);
    c.activation = gantry_relu;
    c.k = 0;
    assert_false(epilogue_check(runtime, "GPU:0", &c, 0).is_joined);
    gantry_runtime_release(runtime);
}

TEST(the_explanation_says_what_stays_apart) {
    epilogue_case_t c = {
        .m = 8, .k = 8, .n = 8, .dtype = GANTRY_FLOAT16, .activation = gantry_relu};
    static const char reason[] = "the kernel computes only the product";
    char text[8192];
    gantry_runtime_t *runtime = fixture_open_runtime(GANTRY_DEFAULT);
    gantry_function_t *function = epilogue_trace(runtime, &c, epilogue_body, 0);
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "    apart from what follows: "));
    assert_non_null(strstr(text, reason));
    assert_int_equal(
        gantry_function_explain(function, GANTRY_EXPLAIN_JSON, text, sizeof text, NULL), GANTRY_OK);
    assert_non_null(strstr(text, "\"apart\":\"the kernel computes only the product\""));
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = skip_without_pocl();
    if (code != 0) return code;
    return test_main();
}
