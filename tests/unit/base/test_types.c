/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Types, shapes and statuses have their names, sizes and numbers. */
#include <string.h>

#include <gantry/status.h>
#include <gantry/types.h>

#include "test.h"

static const struct {
    gantry_dtype_t dtype;
    const char *name, *alias;
    size_t bytes;
    int number; /* TensorFlow's numbers */
} rows[] = {
    {GANTRY_FLOAT32, "float32", "float", 4, 1},
    {GANTRY_FLOAT64, "float64", "double", 8, 2},
    {GANTRY_INT32, "int32", "int", 4, 3},
    {GANTRY_UINT8, "uint8", NULL, 1, 4},
    {GANTRY_INT16, "int16", NULL, 2, 5},
    {GANTRY_INT8, "int8", NULL, 1, 6},
    {GANTRY_COMPLEX64, "complex64", NULL, 8, 8},
    {GANTRY_INT64, "int64", NULL, 8, 9},
    {GANTRY_BOOL, "bool", NULL, 1, 10},
    {GANTRY_BFLOAT16, "bfloat16", NULL, 2, 14},
    {GANTRY_UINT16, "uint16", NULL, 2, 17},
    {GANTRY_COMPLEX128, "complex128", NULL, 16, 18},
    {GANTRY_FLOAT16, "float16", "half", 2, 19},
    {GANTRY_UINT32, "uint32", NULL, 4, 22},
    {GANTRY_UINT64, "uint64", NULL, 8, 23},
    {GANTRY_FLOAT8_E5M2, "float8_e5m2", NULL, 1, 24},
    {GANTRY_FLOAT8_E4M3FN, "float8_e4m3fn", NULL, 1, 25},
};

TEST(types_have_names_sizes_and_numbers) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        assert_int_equal(rows[i].dtype, rows[i].number);
        assert_string_equal(gantry_dtype_name(rows[i].dtype), rows[i].name);
        assert_int_equal(gantry_dtype_size(rows[i].dtype), rows[i].bytes);
        assert_int_equal(gantry_dtype_from_name(rows[i].name), rows[i].dtype);
        if (rows[i].alias) assert_int_equal(gantry_dtype_from_name(rows[i].alias), rows[i].dtype);
    }
}

TEST(numbers_without_type_are_invalid) {
    static const int numbers[] = {-1, 0, 7, 11, 26, 1000, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        assert_string_equal(gantry_dtype_name((gantry_dtype_t)numbers[i]), "invalid");
        assert_int_equal(gantry_dtype_size((gantry_dtype_t)numbers[i]), 0);
    }
    static const char *const names[] = {"", "Float32", "float3", "float322", "string", "invalid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        assert_int_equal(gantry_dtype_from_name(names[i]), GANTRY_DTYPE_NONE);
    assert_int_equal(gantry_dtype_from_name(NULL), GANTRY_DTYPE_NONE);
}

TEST(elements_are_the_product_of_dimensions) {
    const struct {
        gantry_shape_t shape;
        int64_t elements;
    } cases[] = {
        {GANTRY_SCALAR, 1},
        {GANTRY_SHAPE(7), 7},
        {GANTRY_SHAPE(2, 3, 4), 24},
        {GANTRY_SHAPE(0), 0},
        {GANTRY_SHAPE(5, 0, 3), 0},
        {GANTRY_SHAPE(1, 1, 1, 1, 1, 1, 1, 9), 9},
        {GANTRY_SHAPE(INT64_MAX), INT64_MAX},
        {GANTRY_SHAPE(INT64_MAX, 2), -1},
        {GANTRY_SHAPE(INT64_C(1) << 32, INT64_C(1) << 31), -1},
        {GANTRY_SHAPE(INT64_C(1) << 31, INT64_C(1) << 31), INT64_C(1) << 62},
        /* one factor alone is too large, even if the product is 0 */
        {GANTRY_SHAPE(0, INT64_MAX, INT64_MAX), -1},
        {GANTRY_SHAPE(-1), -1},
        {GANTRY_SHAPE(0, -1), -1},
        {{.rank = -1}, -1},
        {{.rank = 9}, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (gantry_shape_elements(&cases[i].shape) != cases[i].elements)
            fail_msg("case %d", (int)i);
    }
}

TEST(shapes_are_equal_dimension_by_dimension) {
    gantry_shape_t a = GANTRY_SHAPE(2, 3), b = GANTRY_SHAPE(2, 3), c = GANTRY_SHAPE(3, 2),
                   d = GANTRY_SHAPE(2, 3, 1), scalar = GANTRY_SCALAR;
    b.dims[5] = 77; /* beyond the rank */
    assert_true(gantry_shape_equal(&a, &b));
    assert_false(gantry_shape_equal(&a, &c));
    assert_false(gantry_shape_equal(&a, &d));
    assert_false(gantry_shape_equal(&a, &scalar));
    assert_true(gantry_shape_equal(&scalar, &scalar));
}

TEST(shapes_are_written_in_brackets) {
    char text[256];
    gantry_shape_t scalar = GANTRY_SCALAR, small = GANTRY_SHAPE(2, 0, 31);
    gantry_shape_t large = GANTRY_SHAPE(INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                                        INT64_MIN, INT64_MIN, INT64_MIN);
    assert_int_equal(gantry_shape_format(&scalar, text, sizeof text), 2);
    assert_string_equal(text, "[]");
    assert_int_equal(gantry_shape_format(&small, text, sizeof text), 8);
    assert_string_equal(text, "[2,0,31]");
    assert_int_equal(gantry_shape_format(&large, text, sizeof text), 8 * 20 + 7 + 2);
    assert_int_equal(strlen(text), 8 * 20 + 7 + 2);
    memset(text, 'x', sizeof text);
    assert_int_equal(gantry_shape_format(&small, text, 4), 8);
    assert_string_equal(text, "[2,");
    assert_int_equal(text[4], 'x');
    assert_int_equal(gantry_shape_format(&small, NULL, 0), 8);
}

TEST(status_names_are_tensorflow_s) {
    assert_string_equal(gantry_status_name(GANTRY_OK), "OK");
    assert_string_equal(gantry_status_name(GANTRY_INVALID_ARGUMENT), "InvalidArgument");
    assert_string_equal(gantry_status_name(GANTRY_RESOURCE_EXHAUSTED), "ResourceExhausted");
    assert_string_equal(gantry_status_name(GANTRY_DATA_LOSS), "DataLoss");
    assert_string_equal(gantry_status_name((gantry_status_t)16), "invalid status");
    assert_string_equal(gantry_status_name((gantry_status_t)-1), "invalid status");
}

int main(void) { return test_main(); }
