/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of Relu and MaxPool as a function: with the pass that joins them, without it, and
 * op by op. All give the same bits. Header only. */
#ifndef TESTS_POOL_GRADIENT_CASE_H
#define TESTS_POOL_GRADIENT_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "function/call/function.h"

typedef struct pool_gradient_case_t {
    const char *name, *layout, *padding;
    int64_t shape[4], size[4], step[4]; /* in the layout's order */
    gantry_dtype_t dtype;
    int64_t spread;     /* dilation of both dimensions; 0: 1 */
    bool has_views;     /* the shapes are 3-dimensional elsewhere, as those of MaxPool1D */
    bool has_other_use; /* of MaxPoolGrad's result */
    bool has_other_x;   /* ReluGrad's features are not the pool's input */
    bool is_joined;     /* wanted */
} pool_gradient_case_t;

static const pool_gradient_case_t pool_gradient_cases[] = {
    {"2x2",
     "NHWC",
     "VALID",
     {3, 6, 10, 17},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT32,
     .is_joined = true},
    {"float64",
     "NHWC",
     "VALID",
     {2, 4, 6, 70},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT64,
     .is_joined = true},
    {"rows of a line",
     "NHWC",
     "VALID",
     {5, 1, 147, 64},
     {1, 1, 2, 1},
     {1, 1, 2, 1},
     GANTRY_FLOAT32,
     .has_views = true,
     .is_joined = true},
    {"borders",
     "NHWC",
     "SAME",
     {3, 7, 9, 20},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT32,
     .is_joined = true},
    {"pixels between windows",
     "NHWC",
     "VALID",
     {3, 8, 11, 18},
     {1, 2, 2, 1},
     {1, 3, 4, 1},
     GANTRY_FLOAT32,
     .is_joined = false},
    {"three",
     "NHWC",
     "VALID",
     {2, 1, 10, 16},
     {1, 1, 3, 1},
     {1, 1, 3, 1},
     GANTRY_FLOAT32,
     .is_joined = true},
    {"channels first",
     "NCHW",
     "VALID",
     {3, 5, 6, 10},
     {1, 1, 2, 2},
     {1, 1, 2, 2},
     GANTRY_FLOAT32,
     .is_joined = true},
    {"overlapping windows",
     "NHWC",
     "VALID",
     {3, 7, 9, 5},
     {1, 3, 3, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT32,
     .is_joined = false},
    {"another use",
     "NHWC",
     "VALID",
     {3, 6, 10, 17},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT32,
     .has_other_use = true},
    {"other features",
     "NHWC",
     "VALID",
     {3, 6, 10, 17},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT32,
     .has_other_x = true},
    {"gaps",
     "NHWC",
     "VALID",
     {3, 6, 10, 17},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT32,
     .spread = 2},
    {"halves",
     "NHWC",
     "VALID",
     {3, 6, 10, 17},
     {1, 2, 2, 1},
     {1, 2, 2, 1},
     GANTRY_FLOAT16,
     .is_joined = false},
};

static inline gantry_shape_t pool_gradient_shape(const pool_gradient_case_t *c) {
    return GANTRY_SHAPE(c->shape[0], c->shape[1], c->shape[2], c->shape[3]);
}

static inline const gantry_tensor_t *pool_gradient_op(const pool_gradient_case_t *c,
                                                      gantry_scope_t *scope, const char *op,
                                                      const gantry_tensor_t *const *inputs,
                                                      size_t count) {
    const bool is_first = strcmp(c->layout, "NCHW") == 0;
    const int64_t spread = c->spread ? c->spread : 1,
                  spreads[] = {1, is_first ? 1 : spread, spread, is_first ? spread : 1};
    const gantry_attr_value_t attrs[] = {
        {.name = "ksize", .kind = GANTRY_ATTR_INTS, .i = 4, .list = c->size},
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = c->step},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = c->padding},
        {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = c->layout},
        {.name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = spreads}};
    const gantry_tensor_t *result = NULL;
    size_t results = 1;
    (void)gantry_op_call(scope, op, inputs, count, attrs, count == 2 ? 0 : 5, &result, &results);
    return result;
}

/* The result is turned, so that the gradients are intermediate values of the function. */
static inline void pool_gradient_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                      const gantry_tensor_t **outputs, void *user) {
    static const int32_t axis = 0;
    const pool_gradient_case_t *c = user;
    const gantry_tensor_t *line = gantry_relu(scope, inputs[0]), *h = line;
    if (c->has_views) {
        line = gantry_reshape(scope, h, GANTRY_SHAPE(c->shape[0], c->shape[2], c->shape[3]));
        h = gantry_expand_dims(scope, line, 1);
    }
    const gantry_tensor_t *y = pool_gradient_op(c, scope, "MaxPool", &h, 1);
    const gantry_tensor_t *dy = gantry_sub(scope, y, gantry_reverse(scope, y, &axis, 1));
    const gantry_tensor_t *dh =
        pool_gradient_op(c, scope, "MaxPoolGrad", (const gantry_tensor_t *[]){h, y, dy}, 3);
    outputs[1] = c->has_other_use ? dh : y;
    if (c->has_views)
        dh = gantry_reshape(scope, dh, GANTRY_SHAPE(c->shape[0], c->shape[2], c->shape[3]));
    if (c->has_other_x) line = gantry_neg(scope, line);
    const gantry_tensor_t *dx =
        pool_gradient_op(c, scope, "ReluGrad", (const gantry_tensor_t *[]){dh, line}, 2);
    outputs[0] = gantry_reverse(scope, dx, &axis, 1);
}

static inline gantry_function_t *pool_gradient_trace(gantry_runtime_t *runtime,
                                                     const pool_gradient_case_t *c,
                                                     uint32_t passes_off) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const gantry_input_spec_t input = {"x", c->dtype, pool_gradient_shape(c)};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", pool_gradient_body, (void *)(uintptr_t)c, &input, 1, 2,
                              &options, &function) != GANTRY_OK)
        fail_msg("%s: %s", c->name, gantry_last_message());
    return function;
}

static inline bool pool_gradient_is_joined(gantry_function_t *function) {
    gantry__specialization_t *traced;
    assert_int_equal(gantry__function_newest(function, &traced), GANTRY_OK);
    bool is_joined = false;
    for (uint32_t i = 0; i < traced->graph.node_count; ++i)
        is_joined |= strcmp(traced->graph.nodes[i].op->name, "_ReluMaxPoolGrad") == 0;
    gantry__function_leave(function, traced);
    return is_joined;
}

/* Numbers on both sides of 0, many of them equal, and in between NaN, infinities and zeros. */
static inline const gantry_tensor_t *pool_gradient_input(gantry_scope_t *scope,
                                                         const pool_gradient_case_t *c) {
    static const float special[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
    const gantry_shape_t shape = pool_gradient_shape(c);
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i)
        values[i] = i % 37 == 5 ? special[i / 37 % 5] : (float)(int)(i * 7919 % 23) - 11;
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return gantry_cast(scope, x, c->dtype);
}

static inline void pool_gradient_expect_same(const pool_gradient_case_t *c, const char *what,
                                             const gantry_tensor_t *got,
                                             const gantry_tensor_t *wanted) {
    const size_t bytes = (size_t)gantry_tensor_bytes(wanted);
    char *a = malloc(bytes), *b = malloc(bytes);
    assert_true(a && b && bytes > 0);
    assert_int_equal(gantry_tensor_read(got, a, bytes), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, b, bytes), GANTRY_OK);
    if (memcmp(a, b, bytes) != 0) fail_msg("%s: other bits %s", c->name, what);
    free(a);
    free(b);
}

static inline void pool_gradient_check(gantry_runtime_t *runtime, const char *device,
                                       const pool_gradient_case_t *c) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    gantry_function_t *joined = pool_gradient_trace(runtime, c, 0),
                      *apart = pool_gradient_trace(runtime, c, GANTRY_PASS_EPILOGUES);
    const gantry_tensor_t *x = pool_gradient_input(scope, c), *wanted[2], *got[2];
    pool_gradient_body(scope, &x, wanted, (void *)(uintptr_t)c);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(gantry_function_call(scope, joined, &x, 1, got, 2), GANTRY_OK);
        pool_gradient_expect_same(c, "in a function", got[0], wanted[0]);
        pool_gradient_expect_same(c, "beside it", got[1], wanted[1]);
    }
    assert_int_equal(gantry_function_call(scope, apart, &x, 1, got, 2), GANTRY_OK);
    pool_gradient_expect_same(c, "without the pass", got[0], wanted[0]);
    if (pool_gradient_is_joined(joined) != c->is_joined)
        fail_msg("%s: joined is %d", c->name, !c->is_joined);
    assert_false(pool_gradient_is_joined(apart));
    gantry_function_release(joined);
    gantry_function_release(apart);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

static inline void pool_gradient_check_all(gantry_runtime_t *runtime, const char *device) {
    for (size_t i = 0; i < sizeof pool_gradient_cases / sizeof pool_gradient_cases[0]; ++i)
        pool_gradient_check(runtime, device, &pool_gradient_cases[i]);
}

#endif
