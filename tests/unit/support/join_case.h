/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and windows whose elements a body joins, on one device, at once and in a function:
 * bits against the ops of that order, and against plain loops. Header only.
 *
 * Owner: the caller, of the runtime. Threads: one. */
#ifndef TESTS_JOIN_CASE_H
#define TESTS_JOIN_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gantry/gantry.h>

typedef const gantry_tensor_t tensor;

#define JOIN_BODY(name) \
    static void join_##name(gantry_scope_t *s, tensor *const *in, tensor **out, void *user)

JOIN_BODY(add) {
    (void)user;
    out[0] = gantry_add(s, in[0], in[1]);
}

/* ---- what is called, at once or in a function ---- */

typedef struct join_call_t {
    gantry_function_body_fn body;
    size_t count;
    tensor *inits[2];
    const gantry_reduce_body_options_t *reduce;
} join_call_t;

JOIN_BODY(run) {
    const join_call_t *call = user;
    (void)gantry_reduce_with_body(s, in, call->inits, call->count, call->body, NULL, call->reduce,
                                  out);
}

/* Floats of all sizes and signs: their sums depend on the order. */
static inline float join_float(size_t i) {
    const uint32_t bits = (uint32_t)(i + 1) * 2654435761u;
    return ((float)(bits >> 8) / 16777216.0f - 0.5f) * (float)(1u << (bits & 15));
}

static inline tensor *join_numbers(gantry_scope_t *s, gantry_dtype_t dtype, gantry_shape_t shape) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) values[i] = join_float(i);
    tensor *made = gantry_constant(s, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return gantry_cast(s, made, dtype);
}

static inline void join_expect_equal(gantry_scope_t *s, tensor *got, tensor *expected) {
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    const size_t bytes = gantry_tensor_bytes(expected);
    assert_int_equal(gantry_tensor_dtype(got), gantry_tensor_dtype(expected));
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(expected)));
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    assert_int_equal(gantry_tensor_read(got, a, bytes), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(expected, b, bytes), GANTRY_OK);
    assert_memory_equal(a, b, bytes);
    free(a);
    free(b);
}

/* ---- sums ---- */

static inline void join_check_sum(gantry_scope_t *s, gantry_dtype_t dtype, gantry_shape_t shape,
                                  const gantry_reduce_body_options_t *reduce) {
    const gantry_reduce_options_t options = {.struct_size = sizeof options,
                                             .axes = reduce->axes,
                                             .axis_count = reduce->axis_count,
                                             .keep_dims = reduce->keep_dims};
    tensor *x = join_numbers(s, dtype, shape), *got = NULL;
    const join_call_t call = {.body = join_add,
                              .count = 1,
                              .inits = {gantry_cast(s, gantry_scalar_f32(s, 0), dtype)},
                              .reduce = reduce};
    join_run(s, &x, &got, (void *)&call);
    join_expect_equal(s, got, gantry_sum(s, x, &options));
}

static inline void join_check_sums(gantry_runtime_t *runtime, const char *device) {
    static const int64_t lengths[] = {1, 2, 3, 63, 64, 65, 130, 4095, 4096, 4097, 12288, 20000};
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64};
    gantry_reduce_body_options_t options = {.struct_size = sizeof options};
    for (size_t t = 0; t < 2; ++t) {
        gantry_scope_t *s = gantry_scope_begin(runtime, device);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i)
            join_check_sum(s, dtypes[t], GANTRY_SHAPE(lengths[i]), &options);
        if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    }
}

#endif
