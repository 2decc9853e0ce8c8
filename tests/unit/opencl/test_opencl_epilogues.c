/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Products and convolutions of a real driver take a bias and a Relu (PoCL as GPU:0), with
 * the bits of the ops one by one.
 *
 * GANTRY_TEST_BACKENDS names other backends, for a card. cuBLASLt may compute a product with an
 * epilogue by another algorithm. There, elements may differ in their last bits, and the test says
 * how many do. Libraries of a card take no epilogues of some types: only PoCL counts them. */
#define _XOPEN_SOURCE 700

#include "epilogue_case.h"
#include "need_opencl.h"
#include "test.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static const char *backends_of_test(void) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    return backends ? backends : "cpu,opencl";
}

static gantry_runtime_t *open_runtime(void) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = MODULES,
                                              .backends = backends_of_test(),
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

/* cuBLASLt may choose another algorithm for a product with an epilogue. */
static bool is_cuda(void) { return strstr(backends_of_test(), "cuda") != NULL; }

/* Sums of some hundred products of up to 16. */
TEST(products_take_bias_and_relu) {
    gantry_runtime_t *runtime = open_runtime();
    const epilogue_count_t count =
        epilogue_check_forms(runtime, "GPU:0", GANTRY_FLOAT32, is_cuda() ? 1e-2 : 0);
    (void)printf("%zu of %zu products took their epilogue; %zu elements differ\n", count.joined,
                 count.cases, count.elements);
    if (!getenv("GANTRY_TEST_BACKENDS")) assert_true(count.joined >= count.cases / 2);
    gantry_runtime_release(runtime);
}

/* Halves are rounded behind each op; the portable products take all types. */
TEST(products_of_other_types_keep_their_bits) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_INT32,
                                            GANTRY_INT64};
    size_t joined = 0;
    gantry_runtime_t *runtime = open_runtime();
    for (uint32_t i = 0; i < 8; ++i) {
        epilogue_case_t c = {.m = 70,
                             .k = 65,
                             .n = 33,
                             .dtype = dtypes[i % 4],
                             .has_bias = true,
                             .activation = i / 4 ? gantry_relu : NULL};
        joined += epilogue_check(runtime, "GPU:0", &c, 0).is_joined;
    }
    if (!getenv("GANTRY_TEST_BACKENDS")) assert_int_equal(joined, 8);
    gantry_runtime_release(runtime);
}

/* Whole tiles and edges, places at borders, few outputs, an image larger than its pieces. */
TEST(convolutions_take_bias_and_relu) {
    epilogue_conv_t cases[] = {{.images = GANTRY_SHAPE(4, 300, 7),
                                .filter = GANTRY_SHAPE(5, 7, 64),
                                .options = {.padding = GANTRY_PADDING_VALID},
                                .is_sequence = true,
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(2, 9, 7, 5),
                                .filter = GANTRY_SHAPE(3, 3, 5, 40),
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(2, 12, 12, 16),
                                .filter = GANTRY_SHAPE(3, 3, 16, 3),
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(1, 10, 11, 300),
                                .filter = GANTRY_SHAPE(3, 3, 300, 9),
                                .dtype = GANTRY_FLOAT32},
                               {.images = GANTRY_SHAPE(2, 9, 7, 5),
                                .filter = GANTRY_SHAPE(3, 3, 5, 20),
                                .options = {.padding = GANTRY_PADDING_VALID},
                                .dtype = GANTRY_FLOAT64}};
    gantry_runtime_t *runtime = open_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const double bound = cases[i].dtype == GANTRY_FLOAT64 ? 1e-11 : 1e-2;
        const bool is_joined =
            epilogue_check_convolution(runtime, "GPU:0", &cases[i], is_cuda() ? bound : 0);
        if (!getenv("GANTRY_TEST_BACKENDS")) assert_true(is_joined);
    }
    gantry_runtime_release(runtime);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
