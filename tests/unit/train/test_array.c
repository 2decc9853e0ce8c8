/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A tensor made of an array gives the array back, of every type, on the host and on a
 * device.
 * Promise: An array that is none, and a tensor without elements to read, are refused. */
#define _XOPEN_SOURCE 700

#include <string.h>

#include <gantry_train/dataset.h>

#define TRAIN_FIXTURE_GPUS 1
#include "test.h"
#include "train_fixture.h"

#include "ops/type_rows.h"

#define TYPE_OF(short) (gantry_dtype_t) GANTRY_ID_##short,

static const gantry_dtype_t types[] = {GANTRY_ELEMENT_TYPES(TYPE_OF)};
static const char *const devices[] = {"/CPU:0", "/GPU:0"};

enum { MOST_BYTES = 24 * 16 };

static void expect_round_trip(gantry_scope_t *scope, gantry_dtype_t dtype, gantry_shape_t shape) {
    unsigned char given[MOST_BYTES], got[MOST_BYTES];
    const size_t bytes = (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype);
    for (size_t i = 0; i < sizeof given; ++i)
        given[i] = (unsigned char)(dtype == GANTRY_BOOL ? i % 2 : 37 * i + 11);
    const gantry_array_t array = {dtype, shape, bytes > 0 ? given : NULL};
    gantry_array_t back;
    const gantry_tensor_t *tensor = gantry_tensor_from_array(scope, &array);
    assert_non_null(tensor);
    assert_int_equal(gantry_tensor_dtype(tensor), dtype);
    assert_int_equal(gantry_tensor_to_array(tensor, bytes > 0 ? got : NULL, bytes, &back),
                     GANTRY_OK);
    assert_int_equal(back.dtype, dtype);
    assert_true(gantry_shape_equal(&back.shape, &shape));
    assert_ptr_equal(back.data, bytes > 0 ? got : NULL);
    assert_memory_equal(got, given, bytes);
}

TEST(every_type_comes_back) {
    const gantry_shape_t shapes[] = {GANTRY_SCALAR, GANTRY_SHAPE(0), GANTRY_SHAPE(5),
                                     GANTRY_SHAPE(2, 3, 4), GANTRY_SHAPE(1, 2, 1, 2, 1, 2, 1, 2)};
    for (size_t d = 0; d < 2; ++d) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, devices[d]);
        for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t)
            for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
                expect_round_trip(scope, types[t], shapes[s]);
        expect_ended_well(scope);
    }
}

TEST(an_array_that_is_none_is_refused) {
    const float one = 1;
    const struct {
        gantry_array_t array;
        const char *text;
    } rows[] = {
        {{GANTRY_DTYPE_NONE, GANTRY_SCALAR, &one}, "type 0 is none of gantry_dtype_t"},
        {{GANTRY_FLOAT32, GANTRY_SHAPE(-1), &one}, "shape [-1] of rank 1 is not possible"},
        {{GANTRY_FLOAT32, GANTRY_SHAPE(INT64_MAX), &one}, "is not possible"},
        {{GANTRY_FLOAT32, GANTRY_SHAPE(2), NULL}, "data is NULL; the address of 8 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
        assert_null(gantry_tensor_from_array(scope, &rows[i].array));
        expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, rows[i].text);
        expect_ended_well(scope);
    }
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    assert_null(gantry_tensor_from_array(scope, NULL));
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "the array is NULL");
    expect_ended_well(scope);
}

/* In a body an array is a constant, and the symbolic tensor has no array. */
static void body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    gantry_array_t array = *(const gantry_array_t *)user;
    float number;
    outputs[0] = gantry_add(scope, inputs[0], gantry_tensor_from_array(scope, user));
    assert_int_equal(gantry_tensor_to_array(inputs[0], &number, sizeof number, &array),
                     GANTRY_FAILED_PRECONDITION);
    assert_int_equal(array.dtype, GANTRY_DTYPE_NONE);
}

TEST(an_array_in_a_body_is_a_constant) {
    const float two = 2;
    gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SCALAR, &two};
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SCALAR};
    gantry_function_t *function;
    assert_int_equal(
        gantry_function_trace(fixture.runtime, "f", body, &array, &input, 1, 1, NULL, &function),
        GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 3), *y;
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    EXPECT_F32(y, 5);
    gantry_function_release(function);
    expect_ended_well(scope);
}

TEST(what_has_no_room_is_refused) {
    float number = 7;
    gantry_array_t array;
    gantry_scope_t *scope = runtime_fixture_scope(&fixture, NULL);
    const gantry_tensor_t *x = gantry_scalar_f32(scope, 3);
    const struct {
        const gantry_tensor_t *tensor;
        void *out;
        size_t bytes;
        const char *text;
    } rows[] = {{x, &number, 8, "4 bytes into 8 bytes"},
                {x, NULL, 4, "out is NULL"},
                {NULL, &number, 4, "the tensor is NULL"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        array = (gantry_array_t){GANTRY_INT8, GANTRY_SHAPE(2), &number};
        expect_failure(gantry_tensor_to_array(rows[i].tensor, rows[i].out, rows[i].bytes, &array),
                       GANTRY_INVALID_ARGUMENT, rows[i].text);
        assert_int_equal(array.dtype, GANTRY_DTYPE_NONE);
        assert_null(array.data);
    }
    expect_failure(gantry_tensor_to_array(x, &number, 4, NULL), GANTRY_INVALID_ARGUMENT,
                   "out_array is NULL");
    assert_float_equal(number, 7, 0);
    expect_ended_well(scope);
}

int main(void) { return test_main_each(set_up, tear_down); }
