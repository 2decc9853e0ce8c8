/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A product of bytes on a GPU with cl_khr_integer_dot_product is made of that extension's
 * products of four elements, and a product of 16 bits of none.
 *
 * Under the layer's dots=2 each such product is larger by one: every element of a result then is
 * too large by the same number, that of its products. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

#define DEPTH 70 /* no multiple of what a kernel takes at a time */

/* The ones of a matrix, as a type. */
static const gantry_tensor_t *ones(gantry_scope_t *scope, gantry_dtype_t dtype, int64_t rows,
                                   int64_t columns) {
    const gantry_tensor_t *one = gantry_scalar_i32(scope, 1);
    return gantry_cast(scope, gantry_fill(scope, GANTRY_SHAPE(rows, columns), one), dtype);
}

/* How much larger each element of a product of ones is than it should be. */
static int32_t excess(gantry_dtype_t a, gantry_dtype_t b, int64_t size) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=2;dots=2");
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *inputs[] = {ones(scope, a, size, DEPTH), ones(scope, b, DEPTH, size)};
    const gantry_tensor_t *product = NULL;
    size_t count = 1;
    const size_t elements = (size_t)(size * size);
    int32_t *values = calloc(elements, sizeof *values);
    assert_non_null(values);
    gantry_op_call(scope, "MatMulInteger", inputs, 2, NULL, 0, &product, &count);
    if (!product || gantry_tensor_read(product, values, elements * sizeof *values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    const int32_t first = values[0] - DEPTH;
    for (size_t i = 0; i < elements; ++i) assert_int_equal(values[i] - DEPTH, first);
    free(values);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    return first;
}

static const int64_t few = 5, many = 130; /* one element for a work-item; 4 x 4 of them */

static void expect_products(gantry_dtype_t a, int64_t size) {
    const int32_t products = excess(a, GANTRY_INT8, size);
    print_message("type %d, size %d: larger by %d\n", (int)a, (int)size, (int)products);
    assert_true(products >= (DEPTH + 3) / 4);
}

TEST(products_of_bytes_are_those_of_the_extension) {
    expect_products(GANTRY_INT8, few);
    expect_products(GANTRY_INT8, many);
    expect_products(GANTRY_UINT8, many); /* its zero point needs more of them */
}

TEST(products_of_16_bits_are_not) { assert_int_equal(excess(GANTRY_INT16, GANTRY_INT16, many), 0); }

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
