/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies with results whose shape depends on data, and shuffles: a function gives the bits that the
 * same body gives op by op, call after call. Header only. */
#ifndef TESTS_DATA_SHAPES_H
#define TESTS_DATA_SHAPES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <gantry/gantry.h>

#define DATA_SHAPES_ROWS 6
#define DATA_SHAPES_COLUMNS 2

typedef struct data_shapes_body_t {
    const char *name;
    gantry_function_body_fn body; /* of float32[6,2] and int32[6] */
    size_t output_count;
} data_shapes_body_t;

#define DATA_SHAPES_BODY(name)                                                  \
    static inline void data_shapes_##name(gantry_scope_t *scope,                \
                                          const gantry_tensor_t *const *inputs, \
                                          const gantry_tensor_t **outputs, void *user)

static inline const gantry_tensor_t *data_shapes_is_positive(gantry_scope_t *scope,
                                                             const gantry_tensor_t *x) {
    return gantry_greater(scope, x, gantry_scalar_f32(scope, 0));
}

static inline const gantry_tensor_t *data_shapes_first_column(gantry_scope_t *scope,
                                                              const gantry_tensor_t *x) {
    const gantry_tensor_t *column =
        gantry_slice(scope, x, (const int64_t[]){0, 0}, (const int64_t[]){DATA_SHAPES_ROWS, 1});
    return gantry_reshape(scope, column, GANTRY_SHAPE(DATA_SHAPES_ROWS));
}

/* Positions, the elements there, and what follows from them by elementwise ops and reductions. */
DATA_SHAPES_BODY(where) {
    (void)user;
    const gantry_tensor_t *column = data_shapes_first_column(scope, inputs[0]);
    const gantry_tensor_t *at = gantry_where(scope, data_shapes_is_positive(scope, column));
    const gantry_tensor_t *flat = gantry_reshape(scope, at, GANTRY_SHAPE(-1));
    const gantry_tensor_t *chosen = gantry_gather(scope, inputs[0], flat, 0);
    outputs[0] = at;
    outputs[1] = gantry_mul(scope, gantry_add(scope, chosen, chosen), gantry_scalar_f32(scope, 3));
    outputs[2] = gantry_neg(scope, gantry_sum(scope, outputs[1], NULL));
}

/* A mask, a product with known columns, a softmax made of ops, rows joined with known ones. */
DATA_SHAPES_BODY(mask) {
    (void)user;
    const int32_t last = -1;
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = &last, .axis_count = 1, .keep_dims = true};
    const gantry_tensor_t *column = data_shapes_first_column(scope, inputs[0]);
    const gantry_tensor_t *rows =
        gantry_boolean_mask(scope, inputs[0], data_shapes_is_positive(scope, column), 0);
    const gantry_tensor_t *product =
        gantry_matmul(scope, rows, gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3)), NULL);
    const gantry_tensor_t *exps =
        gantry_exp(scope, gantry_sub(scope, product, gantry_max(scope, product, &over)));
    outputs[0] = gantry_div(scope, exps, gantry_sum(scope, exps, &over));
    outputs[1] =
        gantry_concat(scope, (const gantry_tensor_t *const[]){rows, inputs[0], rows}, 3, 0);
    outputs[2] = gantry_shape(scope, outputs[1], GANTRY_INT32);
}

DATA_SHAPES_BODY(unique) {
    (void)user;
    const gantry_tensor_t *positions, *counts;
    outputs[0] = gantry_unique(scope, inputs[1], &positions, &counts);
    outputs[1] = gantry_add(scope, positions, inputs[1]); /* of known size */
    outputs[2] = gantry_cast(scope, counts, GANTRY_FLOAT32);
    outputs[3] = gantry_expand_dims(scope, gantry_sub(scope, outputs[0], counts), 1);
}

/* Sums by ids that are there, then the planned part of the graph again. */
DATA_SHAPES_BODY(segments) {
    (void)user;
    const gantry_tensor_t *sums = gantry_segment_sum(scope, inputs[0], inputs[1]);
    const gantry_tensor_t *total = gantry_sum(scope, sums, NULL);
    outputs[0] = sums;
    outputs[1] = gantry_add(scope, gantry_mul(scope, inputs[0], total), inputs[0]);
    outputs[2] = gantry_std(scope, sums, NULL);
}

static inline void data_shapes_negate(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(scope, inputs[0]);
}

static inline void data_shapes_pass(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                    const gantry_tensor_t **outputs, void *user) {
    (void)scope, (void)user;
    outputs[0] = inputs[0];
}

/* A branch over a tensor of open size. */
DATA_SHAPES_BODY(branch) {
    (void)user;
    const gantry_tensor_t *column = data_shapes_first_column(scope, inputs[0]), *either;
    const gantry_tensor_t *mask = data_shapes_is_positive(scope, column);
    const gantry_tensor_t *chosen = gantry_boolean_mask(scope, column, mask, 0);
    const gantry_tensor_t *is_small =
        gantry_less(scope, gantry_sum(scope, chosen, NULL), gantry_scalar_f32(scope, 6));
    (void)gantry_cond(scope, is_small, data_shapes_negate, data_shapes_pass, NULL, &chosen, 1,
                      &either, 1);
    outputs[0] = gantry_mul(scope, either, gantry_scalar_f32(scope, 2));
}

static inline const gantry_tensor_t *data_shapes_call(gantry_scope_t *scope, const char *op,
                                                      const gantry_tensor_t *const *inputs,
                                                      size_t count) {
    const gantry_tensor_t *output = NULL;
    size_t outputs = 1;
    (void)gantry_op_call(scope, op, inputs, count, NULL, 0, &output, &outputs);
    return output;
}

/* Shapes, limits and positions that are tensors of the body. */
DATA_SHAPES_BODY(tensors_as_shapes) {
    (void)user;
    const gantry_tensor_t *zero = gantry_scalar_i32(scope, 0), *one = gantry_scalar_i32(scope, 1);
    const gantry_tensor_t *most = gantry_max(scope, inputs[1], NULL); /* 5, 2 or 1 */
    const gantry_tensor_t *range = gantry_range(scope, zero, most, one);
    const gantry_tensor_t *pair = gantry_add(
        scope, gantry_reshape(scope, most, GANTRY_SHAPE(1)),
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), (const int32_t[]){1, -1}, 8));
    const gantry_tensor_t *shape =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), (const int32_t[]){6, 2}, 8);
    const gantry_tensor_t *turned =
        gantry_add(scope, shape,
                   gantry_mul(scope, gantry_neg(scope, gantry_mul(scope, one, most)),
                              zero)); /* {6, 2}, by way of data */
    outputs[0] = gantry_add(scope, range, most);
    outputs[1] = data_shapes_call(
        scope, "Fill", (const gantry_tensor_t *const[]){pair, gantry_scalar_f32(scope, 7)}, 2);
    outputs[2] =
        data_shapes_call(scope, "Reshape",
                         (const gantry_tensor_t *const[]){gantry_neg(scope, inputs[0]), turned}, 2);
    outputs[3] = data_shapes_call(
        scope, "Slice",
        (const gantry_tensor_t *const[]){
            inputs[0],
            gantry_concat(
                scope,
                (const gantry_tensor_t *const[]){
                    gantry_reshape(scope, gantry_minimum(scope, most, gantry_scalar_i32(scope, 3)),
                                   GANTRY_SHAPE(1)),
                    gantry_reshape(scope, zero, GANTRY_SHAPE(1))},
                2, 0),
            gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), (const int32_t[]){2, 2}, 8)},
        3);
}

DATA_SHAPES_BODY(tensors_as_axes) {
    (void)user;
    const gantry_tensor_t *most = gantry_max(scope, inputs[1], NULL);
    const gantry_tensor_t *axis =
        gantry_minimum(scope,
                       gantry_maximum(scope, gantry_sub(scope, most, gantry_scalar_i32(scope, 1)),
                                      gantry_scalar_i32(scope, 0)),
                       gantry_scalar_i32(scope, 1));
    outputs[0] =
        data_shapes_call(scope, "Sum", (const gantry_tensor_t *const[]){inputs[0], axis}, 2);
    outputs[1] =
        data_shapes_call(scope, "ExpandDims", (const gantry_tensor_t *const[]){inputs[0], axis}, 2);
    outputs[2] = data_shapes_call(
        scope, "Tile",
        (const gantry_tensor_t *const[]){inputs[1], gantry_reshape(scope, most, GANTRY_SHAPE(1))},
        2);
    outputs[3] = data_shapes_call(
        scope, "BroadcastTo",
        (const gantry_tensor_t *const[]){
            inputs[1], gantry_concat(scope,
                                     (const gantry_tensor_t *const[]){
                                         gantry_reshape(scope, most, GANTRY_SHAPE(1)),
                                         gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1),
                                                         (const int32_t[]){6}, 4)},
                                     2, 0)},
        2);
}

/* Shuffles by a generator, one after the other, with a draw between them. */
DATA_SHAPES_BODY(shuffle) {
    gantry_generator_t *const *generator = user;
    outputs[0] = gantry_generator_shuffle(scope, *generator, inputs[0]);
    outputs[1] = gantry_generator_uniform(scope, *generator, GANTRY_SHAPE(3), GANTRY_FLOAT32);
    outputs[2] = gantry_generator_shuffle(scope, *generator, gantry_neg(scope, inputs[1]));
}

static const data_shapes_body_t data_shapes_bodies[] = {
    {"where", data_shapes_where, 3},
    {"mask", data_shapes_mask, 3},
    {"unique", data_shapes_unique, 4},
    {"segments", data_shapes_segments, 3},
    {"shapes", data_shapes_tensors_as_shapes, 4},
    {"axes", data_shapes_tensors_as_axes, 4},
    {"branch", data_shapes_branch, 1},
    {"shuffle", data_shapes_shuffle, 3},
};

/* ---- checking ---- */

static inline gantry_function_t *data_shapes_trace(gantry_runtime_t *runtime,
                                                   const data_shapes_body_t *body, bool eagerly,
                                                   uint32_t passes_off, int32_t threads,
                                                   gantry_generator_t **generator) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = eagerly,
                                               .passes_off = passes_off,
                                               .inter_op_threads = threads};
    const gantry_input_spec_t inputs[] = {
        {"x", GANTRY_FLOAT32, GANTRY_SHAPE(DATA_SHAPES_ROWS, DATA_SHAPES_COLUMNS)},
        {"ids", GANTRY_INT32, GANTRY_SHAPE(DATA_SHAPES_ROWS)}};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, body->name, body->body, generator, inputs, 2,
                              body->output_count, &options, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static inline void data_shapes_expect_equal(const char *name, size_t output,
                                            const gantry_tensor_t *got,
                                            const gantry_tensor_t *expected) {
    unsigned char a[1024], b[1024];
    const size_t bytes = gantry_tensor_bytes(expected);
    char shape_a[256], shape_b[256];
    (void)gantry_shape_format(gantry_tensor_shape(got), shape_a, sizeof shape_a);
    (void)gantry_shape_format(gantry_tensor_shape(expected), shape_b, sizeof shape_b);
    if (strcmp(shape_a, shape_b) != 0)
        fail_msg("%s, output %zu: %s, not %s", name, output, shape_a, shape_b);
    assert_in_range(bytes, 0, sizeof a);
    assert_int_equal(gantry_tensor_dtype(got), gantry_tensor_dtype(expected));
    if (gantry_tensor_read(got, a, bytes) != GANTRY_OK ||
        gantry_tensor_read(expected, b, bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (memcmp(a, b, bytes) != 0) fail_msg("%s, output %zu: other bits", name, output);
}

/* Three calls, in which other rows are positive and other ids occur; the last has none. */
static inline void data_shapes_check_body(gantry_runtime_t *runtime, const char *device,
                                          const data_shapes_body_t *body, uint32_t passes_off,
                                          int32_t threads) {
    gantry_generator_t *generators[2];
    gantry_function_t *functions[2];
    for (int i = 0; i < 2; ++i) {
        if (gantry_generator_from_seed(runtime, 11, GANTRY_RANDOM_PHILOX, &generators[i]) !=
            GANTRY_OK)
            fail_msg("%s", gantry_last_message());
        functions[i] =
            data_shapes_trace(runtime, body, i == 1, passes_off, threads, &generators[i]);
    }
    for (int round = 0; round < 3; ++round) {
        float x[DATA_SHAPES_ROWS * DATA_SHAPES_COLUMNS];
        int32_t ids[DATA_SHAPES_ROWS];
        for (int i = 0; i < DATA_SHAPES_ROWS; ++i) {
            const bool is_positive = round < 2 && (i * (round + 2)) % 3 != 1;
            x[2 * i] = (is_positive ? 1.0f : -1.0f) * ((float)i + 0.5f);
            x[2 * i + 1] = 0.25f * (float)(i - round);
            ids[i] = i / (round + 1);
        }
        gantry_scope_t *scope = gantry_scope_begin(runtime, device);
        const gantry_tensor_t *outputs[2][4];
        const gantry_tensor_t *inputs[] = {
            gantry_constant(scope, GANTRY_FLOAT32,
                            GANTRY_SHAPE(DATA_SHAPES_ROWS, DATA_SHAPES_COLUMNS), x, sizeof x),
            gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(DATA_SHAPES_ROWS), ids, sizeof ids)};
        for (int i = 0; i < 2; ++i) {
            if (gantry_function_call(scope, functions[i], inputs, 2, outputs[i],
                                     body->output_count) != GANTRY_OK)
                fail_msg("%s", gantry_scope_message(scope));
        }
        for (size_t i = 0; i < body->output_count; ++i)
            data_shapes_expect_equal(body->name, i, outputs[0][i], outputs[1][i]);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    for (int i = 0; i < 2; ++i) {
        gantry_function_release(functions[i]);
        gantry_generator_release(generators[i]);
    }
}

/* All bodies, or only the one of this name. */
static inline void data_shapes_check(gantry_runtime_t *runtime, const char *only,
                                     const char *device, uint32_t passes_off, int32_t threads) {
    size_t checked = 0;
    for (size_t i = 0; i < sizeof data_shapes_bodies / sizeof data_shapes_bodies[0]; ++i) {
        if (only && strcmp(only, data_shapes_bodies[i].name) != 0) continue;
        data_shapes_check_body(runtime, device, &data_shapes_bodies[i], passes_off, threads);
        ++checked;
    }
    assert_true(checked > 0);
}

#endif
