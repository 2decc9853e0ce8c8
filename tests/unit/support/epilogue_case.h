/* SPDX-License-Identifier: Apache-2.0 */
/* A product with a bias and an activation as a function: with the pass that joins them, and
 * without. Both give the same bits. Header only. */
#ifndef TESTS_EPILOGUE_CASE_H
#define TESTS_EPILOGUE_CASE_H

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
#include "planned.h"
#include "run/call_op.h"

typedef const gantry_tensor_t *(*epilogue_fn)(gantry_scope_t *scope, const gantry_tensor_t *x);

typedef struct epilogue_case_t {
    int64_t m, k, n;
    gantry_dtype_t dtype;
    bool transpose_a, transpose_b;
    bool has_bias, adds_from_left; /* Add(b, product) in place of BiasAdd(product, b) */
    epilogue_fn activation;        /* NULL: none */
} epilogue_case_t;

static inline void epilogue_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    const epilogue_case_t *c = user;
    const gantry_matmul_options_t options = {.struct_size = sizeof options,
                                             .transpose_a = c->transpose_a,
                                             .transpose_b = c->transpose_b};
    const gantry_tensor_t *at = gantry_matmul(scope, inputs[0], inputs[1], &options);
    if (c->has_bias && c->adds_from_left) {
        at = gantry_add(scope, inputs[2], at);
    } else if (c->has_bias) {
        at = gantry_bias_add(scope, at, inputs[2]);
    }
    outputs[0] = c->activation ? c->activation(scope, at) : at;
}

static inline gantry_function_t *epilogue_trace(gantry_runtime_t *runtime, epilogue_case_t *c,
                                                gantry_function_body_fn body, uint32_t passes_off) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const gantry_input_spec_t inputs[] = {
        {"a", c->dtype, c->transpose_a ? GANTRY_SHAPE(c->k, c->m) : GANTRY_SHAPE(c->m, c->k)},
        {"b", c->dtype, c->transpose_b ? GANTRY_SHAPE(c->n, c->k) : GANTRY_SHAPE(c->k, c->n)},
        {"bias", c->dtype, GANTRY_SHAPE(c->n)}};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", body, c, inputs, 3, 1, &options, &function) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

/* The node that a product and its followers became, or NULL. */
static inline const gantry__node_t *epilogue_find(gantry_function_t *function, const char *op) {
    const gantry__graph_t *graph = &planned(function)->graph;
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (strcmp(graph->nodes[i].op->name, op) == 0) return &graph->nodes[i];
    }
    return NULL;
}

/* Eighths from -4 to 4, so that sums are of both signs. */
static inline const gantry_tensor_t *epilogue_input(gantry_scope_t *scope, uint32_t *state,
                                                    gantry_dtype_t dtype, gantry_shape_t shape) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) {
        *state = *state * 1664525u + 1013904223u;
        values[i] = (float)((int32_t)(*state >> 8) % 3271) / 811;
    }
    const gantry_tensor_t *made =
        gantry_constant(scope, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return dtype == GANTRY_FLOAT32 ? made : gantry_cast(scope, made, dtype);
}

static inline void *epilogue_call(gantry_scope_t *scope, const epilogue_case_t *c,
                                  gantry_function_t *function, size_t *out_bytes) {
    uint32_t state = (uint32_t)(c->m * 31 + c->n * 7 + c->k);
    const gantry_tensor_t *inputs[3], *got;
    inputs[0] =
        epilogue_input(scope, &state, c->dtype,
                       c->transpose_a ? GANTRY_SHAPE(c->k, c->m) : GANTRY_SHAPE(c->m, c->k));
    inputs[1] =
        epilogue_input(scope, &state, c->dtype,
                       c->transpose_b ? GANTRY_SHAPE(c->n, c->k) : GANTRY_SHAPE(c->k, c->n));
    inputs[2] = epilogue_input(scope, &state, c->dtype, GANTRY_SHAPE(c->n));
    if (gantry_function_call(scope, function, inputs, 3, &got, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    *out_bytes = (size_t)gantry_tensor_elements(got) * gantry_dtype_size(gantry_tensor_dtype(got));
    void *data = malloc(*out_bytes + 1);
    assert_non_null(data);
    if (gantry_tensor_read(got, data, *out_bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return data;
}

/* Of an element of a float type; floats for float16 and bfloat16 are not needed here. */
static inline double epilogue_element(const unsigned char *data, gantry_dtype_t dtype, size_t i) {
    float narrow;
    double wide;
    if (dtype == GANTRY_FLOAT64) {
        memcpy(&wide, data + i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, data + i * sizeof narrow, sizeof narrow);
    return (double)narrow;
}

/* The first element that differs by more than `bound` (0: at all), or `count`. Adds those that
 * differ to *different. */
static inline size_t epilogue_first_apart(gantry_dtype_t dtype, const unsigned char *joined,
                                          const unsigned char *apart, size_t count, double bound,
                                          size_t *different) {
    const size_t size = gantry_dtype_size(dtype);
    for (size_t i = 0; i < count; ++i) {
        if (memcmp(joined + i * size, apart + i * size, size) == 0) continue;
        ++*different;
        if (bound <= 0 || (dtype != GANTRY_FLOAT32 && dtype != GANTRY_FLOAT64) ||
            fabs(epilogue_element(joined, dtype, i) - epilogue_element(apart, dtype, i)) > bound)
            return i;
    }
    return count;
}

/* Returns how many elements differ; `bound` is the most that one may, 0: none may. */
static inline size_t epilogue_compare(const epilogue_case_t *c, const char *device,
                                      const unsigned char *joined, const unsigned char *apart,
                                      size_t bytes, double bound) {
    const size_t count = bytes / gantry_dtype_size(c->dtype);
    size_t different = 0;
    const size_t i = epilogue_first_apart(c->dtype, joined, apart, count, bound, &different);
    if (i < count)
        fail_msg("%s[%lld, %lld] x [%lld, %lld] on %s: element %zu differs from that of the ops",
                 gantry_dtype_name(c->dtype), (long long)c->m, (long long)c->k, (long long)c->k,
                 (long long)c->n, device, i);
    return different;
}

typedef struct epilogue_result_t {
    bool is_joined;
    size_t different; /* elements */
} epilogue_result_t;

/* Runs the case with and without the pass. */
static inline epilogue_result_t epilogue_check(gantry_runtime_t *runtime, const char *device,
                                               epilogue_case_t *c, double bound) {
    epilogue_result_t result;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    gantry_function_t *joined = epilogue_trace(runtime, c, epilogue_body, 0),
                      *apart = epilogue_trace(runtime, c, epilogue_body, GANTRY_PASS_EPILOGUES);
    size_t bytes, apart_bytes;
    assert_non_null(scope);
    void *got = epilogue_call(scope, c, joined, &bytes),
         *expected = epilogue_call(scope, c, apart, &apart_bytes);
    assert_int_equal(bytes, apart_bytes);
    result.different = epilogue_compare(c, device, got, expected, bytes, bound);
    assert_null(epilogue_find(apart, "_FusedMatMul"));
    const gantry__node_t *node = epilogue_find(joined, "_FusedMatMul");
    if (node) assert_int_equal(node->fused_count, 1 + c->has_bias + (c->activation != NULL));
    result.is_joined = node != NULL;
    free(got);
    free(expected);
    gantry_function_release(joined);
    gantry_function_release(apart);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return result;
}

/* ---- convolutions ---- */

typedef struct epilogue_conv_t {
    gantry_shape_t images, filter;
    gantry_window_options_t options;
    bool is_sequence;
    gantry_dtype_t dtype;
    gantry_shape_t transposed; /* the result of a transposed convolution; rank 0: another one */
    bool is_planar;            /* ConvolveImages itself, which reads and writes channels first */
} epilogue_conv_t;

static inline int64_t epilogue_conv_channels(const epilogue_conv_t *c) {
    return c->transposed.rank > 0 ? c->filter.dims[2] : c->filter.dims[c->filter.rank - 1];
}

static inline const gantry_tensor_t *epilogue_convolve_planes(
    gantry_scope_t *scope, const gantry_tensor_t *const *inputs) {
    static const int64_t ones[] = {1, 1, 1, 1};
    const gantry_attr_value_t attrs[] = {
        gantry__attr_ints("strides", ones, 4), gantry__attr_ints("dilations", ones, 4),
        gantry__attr_text("padding", "SAME"), gantry__attr_text("input_format", "NCHW"),
        gantry__attr_text("output_format", "NCHW")};
    const gantry_tensor_t *result = NULL;
    size_t count = 1;
    if (gantry_op_call(scope, "ConvolveImages", inputs, 2, attrs, sizeof attrs / sizeof attrs[0],
                       &result, &count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    return result;
}

static inline const gantry_tensor_t *epilogue_convolve(gantry_scope_t *scope,
                                                       const epilogue_conv_t *c,
                                                       const gantry_tensor_t *const *inputs) {
    if (c->transposed.rank > 0)
        return gantry_conv2d_transpose(scope, inputs[0], inputs[1], c->transposed, &c->options);
    return c->is_sequence ? gantry_conv1d(scope, inputs[0], inputs[1], &c->options)
                          : gantry_conv2d(scope, inputs[0], inputs[1], &c->options);
}

static inline void epilogue_conv_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                      const gantry_tensor_t **outputs, void *user) {
    const epilogue_conv_t *c = user;
    const gantry_tensor_t *at = c->is_planar ? epilogue_convolve_planes(scope, inputs)
                                             : epilogue_convolve(scope, c, inputs);
    outputs[0] = gantry_relu(scope, c->is_planar ? gantry_add(scope, at, inputs[2])
                                                 : gantry_bias_add(scope, at, inputs[2]));
}

static inline gantry_function_t *epilogue_conv_trace(gantry_runtime_t *runtime, epilogue_conv_t *c,
                                                     uint32_t passes_off) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const gantry_input_spec_t inputs[] = {
        {"images", c->dtype, c->images},
        {"filter", c->dtype, c->filter},
        {"bias", c->dtype, GANTRY_SHAPE(epilogue_conv_channels(c))}};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "f", epilogue_conv_body, c, inputs, 3, 1, &options,
                              &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static inline void *epilogue_conv_call(gantry_scope_t *scope, const epilogue_conv_t *c,
                                       gantry_function_t *function, size_t *out_bytes) {
    uint32_t state = 7;
    const gantry_shape_t bias = GANTRY_SHAPE(epilogue_conv_channels(c));
    const gantry_tensor_t *inputs[3], *got;
    inputs[0] = epilogue_input(scope, &state, c->dtype, c->images);
    inputs[1] = epilogue_input(scope, &state, c->dtype, c->filter);
    inputs[2] = epilogue_input(scope, &state, c->dtype, bias);
    if (gantry_function_call(scope, function, inputs, 3, &got, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    *out_bytes = (size_t)gantry_tensor_elements(got) * gantry_dtype_size(c->dtype);
    void *data = malloc(*out_bytes + 1);
    assert_non_null(data);
    assert_int_equal(gantry_tensor_read(got, data, *out_bytes), GANTRY_OK);
    return data;
}

/* Runs the convolution with and without passes; `bound` as above. Returns whether the nodes were
 * joined. */
static inline bool epilogue_check_convolution(gantry_runtime_t *runtime, const char *device,
                                              epilogue_conv_t *c, double bound) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    gantry_function_t *joined = epilogue_conv_trace(runtime, c, 0),
                      *none = epilogue_conv_trace(runtime, c, GANTRY_PASS_ALL);
    size_t bytes, different = 0;
    assert_non_null(scope);
    void *got = epilogue_conv_call(scope, c, joined, &bytes),
         *expected = epilogue_conv_call(scope, c, none, &bytes);
    const bool is_joined =
        epilogue_find(joined, "_FusedMatMul") || epilogue_find(joined, "_FusedConvolveImages");
    const size_t count = bytes / gantry_dtype_size(c->dtype);
    const size_t i = epilogue_first_apart(c->dtype, got, expected, count, bound, &different);
    if (i < count)
        fail_msg("%s convolution on %s: element %zu differs from that of the ops",
                 gantry_dtype_name(c->dtype), device, i);
    free(got);
    free(expected);
    gantry_function_release(joined);
    gantry_function_release(none);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return is_joined;
}

/* ---- devices with a bias and a Relu in their products ---- */

typedef struct epilogue_count_t {
    size_t cases, joined, elements;
} epilogue_count_t;

/* Bias, Relu and both behind float32 products of several forms. */
static inline epilogue_count_t epilogue_check_forms(gantry_runtime_t *runtime, const char *device,
                                                    gantry_dtype_t dtype, double bound) {
    static const int64_t shapes[][3] = {{96, 784, 160},  {64, 64, 64},    {33, 47, 129},
                                        {128, 1100, 72}, {16, 300, 1025}, {1, 784, 512},
                                        {256, 512, 10},  {3, 301, 777}};
    epilogue_count_t count = {0, 0, 0};
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0] * 12; ++i) {
        const int64_t *shape = shapes[i / 12];
        const uint32_t kind = i % 3;
        epilogue_case_t c = {.m = shape[0],
                             .k = shape[1],
                             .n = shape[2],
                             .dtype = dtype,
                             .transpose_a = i / 3 % 2,
                             .transpose_b = i / 6 % 2,
                             .has_bias = kind != 1,
                             .adds_from_left = i % 2,
                             .activation = kind != 0 ? gantry_relu : NULL};
        const epilogue_result_t result = epilogue_check(runtime, device, &c, bound);
        ++count.cases;
        count.joined += result.is_joined;
        count.elements += result.different;
    }
    return count;
}

#endif
