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
    static inline void join_##name(gantry_scope_t *s, tensor *const *in, tensor **out, void *user)

JOIN_BODY(add) {
    (void)user;
    out[0] = gantry_add(s, in[0], in[1]);
}

JOIN_BODY(multiply) {
    (void)user;
    out[0] = gantry_mul(s, in[0], in[1]);
}

JOIN_BODY(maximum) {
    (void)user;
    out[0] = gantry_maximum(s, in[0], in[1]);
}

/* Neither associative nor commutative: each order has a result of its own. */
JOIN_BODY(hash) {
    (void)user;
    out[0] = gantry_add(s, gantry_mul(s, in[0], gantry_scalar_i32(s, 31)), in[1]);
}

/* A value with its place: the first maximum. */
JOIN_BODY(first_maximum) {
    (void)user;
    tensor *is_left = gantry_logical_or(
        s, gantry_greater(s, in[0], in[2]),
        gantry_logical_and(s, gantry_equal(s, in[0], in[2]), gantry_less(s, in[1], in[3])));
    out[0] = gantry_select(s, is_left, in[0], in[2]);
    out[1] = gantry_select(s, is_left, in[1], in[3]);
}

/* ---- scopes ---- */

static inline gantry_scope_t *join_begin(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    if (!s || gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return s;
}

static inline void join_end(gantry_scope_t *s) {
    if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* The scope of what a case needs, but does not show: the CPU, which builds no programs. */
static inline gantry_scope_t *join_begin_on_cpu(gantry_scope_t *s) {
    return join_begin(gantry_scope_runtime(s), "/CPU:0");
}

/* ---- calls, at once or in a function ---- */

typedef struct join_call_t {
    gantry_function_body_fn body;
    size_t count;
    const gantry_reduce_body_options_t *reduce; /* NULL: windows */
    const int64_t *window;
    const gantry_window_body_options_t *options;
} join_call_t;

/* Inputs: operands, then inits. */
JOIN_BODY(run) {
    const join_call_t *call = user;
    if (call->reduce)
        (void)gantry_reduce_with_body(s, in, in + call->count, call->count, call->body, NULL,
                                      call->reduce, out);
    else
        (void)gantry_reduce_window_with_body(s, in, in + call->count, call->count, call->body, NULL,
                                             call->window, call->options, out);
}

/* The same call in a function, of whose sizes those of open_axis are open; -1: none. */
static inline void join_in_function(gantry_scope_t *s, gantry_function_body_fn body,
                                    const void *user, tensor *const *in, size_t count,
                                    size_t output_count, int32_t open_axis, tensor **out) {
    gantry_input_spec_t specs[8] = {{.name = NULL}};
    gantry_function_t *function = NULL;
    for (size_t i = 0; i < count; ++i) {
        specs[i].dtype = gantry_tensor_dtype(in[i]);
        specs[i].shape = *gantry_tensor_shape(in[i]);
        if (open_axis >= 0 && open_axis < specs[i].shape.rank)
            specs[i].shape.dims[open_axis] = GANTRY_OPEN_SIZE;
    }
    if (gantry_function_trace(gantry_scope_runtime(s), "f", body, (void *)user, specs, count,
                              output_count, NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    (void)gantry_function_call(s, function, in, count, out, output_count);
    gantry_function_release(function);
}

/* Calls the body at once or in a function; the outputs are on the scope's device. */
static inline void join_call_body(gantry_scope_t *s, gantry_function_body_fn body, const void *user,
                                  tensor *const *in, size_t count, size_t output_count,
                                  bool in_function, int32_t open_axis, tensor **out) {
    if (in_function)
        join_in_function(s, body, user, in, count, output_count, open_axis, out);
    else
        body(s, in, out, (void *)user);
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    tensor *here = gantry_scalar_i32(s, 0);
    for (size_t i = 0; i < output_count; ++i)
        assert_ptr_equal(gantry_tensor_device(out[i]), gantry_tensor_device(here));
}

/* A reduction, or windows. */
static inline void join_reduce(gantry_scope_t *s, const join_call_t *call, tensor *const *in,
                               bool in_function, tensor **out) {
    join_call_body(s, join_run, call, in, 2 * call->count, call->count, in_function, -1, out);
}

/* Floats of many sizes and signs: their sums depend on the order. */
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

static inline tensor *join_scalar(gantry_scope_t *s, gantry_dtype_t dtype, float value) {
    return gantry_cast(s, gantry_scalar_f32(s, value), dtype);
}

static inline void join_expect_bytes(gantry_scope_t *s, tensor *got, const void *expected,
                                     size_t bytes) {
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    assert_int_equal(gantry_tensor_bytes(got), bytes);
    char *read = malloc(bytes + 1);
    assert_int_equal(gantry_tensor_read(got, read, bytes), GANTRY_OK);
    assert_memory_equal(read, expected, bytes);
    free(read);
}

static inline void join_expect_equal(gantry_scope_t *s, tensor *got, tensor *expected) {
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    const size_t bytes = gantry_tensor_bytes(expected);
    char *read = malloc(bytes + 1);
    assert_int_equal(gantry_tensor_dtype(got), gantry_tensor_dtype(expected));
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(expected)));
    assert_int_equal(gantry_tensor_read(expected, read, bytes), GANTRY_OK);
    join_expect_bytes(s, got, read, bytes);
    free(read);
}

/* ---- ops of the same order ---- */

typedef tensor *(*join_op_fn)(gantry_scope_t *s, tensor *x, const gantry_reduce_options_t *options);

static inline void join_check_op(gantry_scope_t *s, gantry_function_body_fn body, join_op_fn op,
                                 float init, gantry_dtype_t dtype, gantry_shape_t shape,
                                 const gantry_reduce_body_options_t *reduce) {
    const gantry_reduce_options_t options = {.struct_size = sizeof options,
                                             .axes = reduce->axes,
                                             .axis_count = reduce->axis_count,
                                             .keep_dims = reduce->keep_dims};
    const join_call_t call = {.body = body, .count = 1, .reduce = reduce};
    gantry_scope_t *cpu = join_begin_on_cpu(s);
    tensor *in[] = {join_numbers(cpu, dtype, shape), join_scalar(cpu, dtype, init)};
    tensor *expected = op(cpu, in[0], &options), *got = NULL;
    for (int in_function = 0; in_function < 2; ++in_function) {
        join_reduce(s, &call, in, in_function, &got);
        join_expect_equal(s, got, expected);
    }
    join_end(cpu);
}

/* Sums, products and maxima of all axes, of some, and of none. */
static inline void join_check_ops(gantry_runtime_t *runtime, const char *device,
                                  gantry_dtype_t dtype) {
    static const int64_t lengths[] = {1, 2, 63, 65, 4097, 20000};
    static const int32_t middle[] = {1, -2}, apart[] = {-1, 0};
    const gantry_reduce_body_options_t all = {.struct_size = sizeof all};
    const gantry_reduce_body_options_t some = {
        .struct_size = sizeof some, .axes = middle, .axis_count = 2, .keep_dims = true};
    const gantry_reduce_body_options_t ends = {
        .struct_size = sizeof ends, .axes = apart, .axis_count = 2};
    const gantry_reduce_body_options_t none = {.struct_size = sizeof none, .axes = middle};
    gantry_scope_t *s = join_begin(runtime, device);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i)
        join_check_op(s, join_add, gantry_sum, 0, dtype, GANTRY_SHAPE(lengths[i]), &all);
    join_check_op(s, join_add, gantry_sum, 0, dtype, GANTRY_SHAPE(3, 50, 90, 2), &some);
    join_check_op(s, join_add, gantry_sum, 0, dtype, GANTRY_SHAPE(70, 3, 60), &ends);
    join_check_op(s, join_add, gantry_sum, 0, dtype, GANTRY_SHAPE(4, 5), &none);
    join_check_op(s, join_add, gantry_sum, 0, dtype, GANTRY_SHAPE(2, 3, 0, 4), &some);
    join_check_op(s, join_multiply, gantry_prod, 1, dtype, GANTRY_SHAPE(70, 3, 60), &ends);
    join_check_op(s, join_maximum, gantry_max, -40000, dtype, GANTRY_SHAPE(3, 50, 90, 2), &some);
    join_end(s);
}

/* ---- plain loops: int32 with the body "hash" ---- */

static inline uint32_t join_hash_of(uint32_t a, uint32_t b) { return a * 31u + b; }

/* The order of sums. x is overwritten. */
static inline uint32_t join_sum_tree(uint32_t *x, int64_t n) {
    for (; n > 1; n = (n + 4095) / 4096) {
        for (int64_t chunk = 0; chunk * 4096 < n; ++chunk) {
            const int64_t size = n - chunk * 4096 < 4096 ? n - chunk * 4096 : 4096;
            uint32_t lanes[64];
            for (int64_t i = 0; i < size; ++i) {
                const uint32_t value = x[chunk * 4096 + i];
                lanes[i % 64] = i < 64 ? value : join_hash_of(lanes[i % 64], value);
            }
            for (int64_t apart = 32; apart > 0; apart /= 2)
                for (int64_t l = 0; l < apart && l + apart < size && l + apart < 2 * apart; ++l)
                    lanes[l] = join_hash_of(lanes[l], lanes[l + apart]);
            x[chunk] = lanes[0];
        }
    }
    return x[0];
}

/* The order of neighbours. x is overwritten. */
static inline uint32_t join_neighbours(uint32_t *x, int64_t n) {
    for (; n > 1; n = (n + 1) / 2) {
        for (int64_t i = 0; i < n / 2; ++i) x[i] = join_hash_of(x[2 * i], x[2 * i + 1]);
        if (n % 2) x[n / 2] = x[n - 1];
    }
    return x[0];
}

static inline void join_check_sequence(gantry_scope_t *s, int64_t length, bool in_order,
                                       bool is_traced) {
    enum { BEFORE = 2, AFTER = 3 };
    static const int32_t axis[] = {1};
    const gantry_reduce_body_options_t reduce = {
        .struct_size = sizeof reduce, .axes = axis, .axis_count = 1, .in_order = in_order};
    const join_call_t call = {.body = join_hash, .count = 1, .reduce = &reduce};
    uint32_t *x = malloc((size_t)(BEFORE * AFTER * length + 1) * sizeof *x);
    uint32_t *sequence = malloc((size_t)(length + 1) * sizeof *sequence);
    uint32_t expected[BEFORE * AFTER];
    for (int64_t i = 0; i < BEFORE * AFTER * length; ++i) x[i] = (uint32_t)(i + 1) * 2654435761u;
    for (int64_t at = 0; at < BEFORE * AFTER; ++at) {
        for (int64_t i = 0; i < length; ++i)
            sequence[i] = x[(at / AFTER * length + i) * AFTER + at % AFTER];
        expected[at] = join_hash_of(
            7, in_order ? join_neighbours(sequence, length) : join_sum_tree(sequence, length));
    }
    tensor *in[] = {gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(BEFORE, length, AFTER), x,
                                    (size_t)(BEFORE * AFTER * length) * sizeof *x),
                    gantry_scalar_i32(s, 7)};
    tensor *got = NULL;
    join_reduce(s, &call, in, is_traced, &got);
    join_expect_bytes(s, got, expected, sizeof expected);
    free(x);
    free(sequence);
}

static inline void join_check_orders(gantry_runtime_t *runtime, const char *device) {
    static const int64_t lengths[] = {1,   2,   3,    7,    31,   33,   63,   64,   65,
                                      127, 129, 1000, 4095, 4096, 4097, 4160, 8192, 8256};
    gantry_scope_t *s = join_begin(runtime, device);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        join_check_sequence(s, lengths[i], false, i % 4 == 0);
        join_check_sequence(s, lengths[i], true, i % 4 == 1);
    }
    join_end(s);
}

/* ---- windows against plain loops ---- */

enum { JOIN_AXES = 2, JOIN_MOST_SIZE = 12 };

/* Of one axis: the size, and the numbers of the options. */
typedef struct join_window_t {
    int64_t size, window, stride, base_dilation, dilation, low, high;
} join_window_t;

static inline int64_t join_windows(const join_window_t *a) {
    const int64_t padded =
        (a->size > 0 ? (a->size - 1) * a->base_dilation + 1 : 0) + a->low + a->high;
    const int64_t reach = (a->window - 1) * a->dilation + 1;
    return padded < reach ? 0 : (padded - reach) / a->stride + 1;
}

/* The element of the operand at a place of the padded axis; -1: an init. */
static inline int64_t join_place(const join_window_t *a, int64_t padded) {
    const int64_t at = padded - a->low;
    if (at < 0 || at % a->base_dilation != 0 || at / a->base_dilation >= a->size) return -1;
    return at / a->base_dilation;
}

static inline uint32_t join_window_of(const join_window_t axes[JOIN_AXES], const uint32_t *x,
                                      int64_t row, int64_t column) {
    uint32_t rows[64], columns[64];
    for (int64_t r = 0; r < axes[0].window; ++r) {
        const int64_t y = join_place(&axes[0], row * axes[0].stride + r * axes[0].dilation);
        for (int64_t c = 0; c < axes[1].window; ++c) {
            const int64_t at = join_place(&axes[1], column * axes[1].stride + c * axes[1].dilation);
            columns[c] = y < 0 || at < 0 ? 7 : x[y * axes[1].size + at];
        }
        rows[r] = join_neighbours(columns, axes[1].window);
    }
    return join_hash_of(7, join_neighbours(rows, axes[0].window));
}

static inline void join_check_window(gantry_scope_t *s, const join_window_t axes[JOIN_AXES],
                                     bool is_traced) {
    int64_t window[JOIN_AXES], strides[JOIN_AXES], base[JOIN_AXES], dilations[JOIN_AXES];
    int64_t paddings[2 * JOIN_AXES];
    static uint32_t x[64 * 64], expected[64 * 64];
    for (int d = 0; d < JOIN_AXES; ++d) {
        window[d] = axes[d].window;
        strides[d] = axes[d].stride;
        base[d] = axes[d].base_dilation;
        dilations[d] = axes[d].dilation;
        paddings[2 * d] = axes[d].low;
        paddings[2 * d + 1] = axes[d].high;
    }
    const int64_t rows = join_windows(&axes[0]), columns = join_windows(&axes[1]);
    const gantry_window_body_options_t options = {.struct_size = sizeof options,
                                                  .strides = strides,
                                                  .base_dilations = base,
                                                  .window_dilations = dilations,
                                                  .paddings = paddings};
    const join_call_t call = {.body = join_hash, .count = 1, .window = window, .options = &options};
    for (int64_t i = 0; i < axes[0].size * axes[1].size; ++i) x[i] = (uint32_t)i * 2654435761u + 1;
    for (int64_t i = 0; i < rows * columns; ++i)
        expected[i] = join_window_of(axes, x, i / columns, i % columns);
    tensor *in[] = {gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(axes[0].size, axes[1].size), x,
                                    (size_t)(axes[0].size * axes[1].size) * sizeof *x),
                    gantry_scalar_i32(s, 7)};
    tensor *got = NULL;
    join_reduce(s, &call, in, is_traced, &got);
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    assert_int_equal(gantry_tensor_shape(got)->dims[0], rows);
    assert_int_equal(gantry_tensor_shape(got)->dims[1], columns);
    join_expect_bytes(s, got, expected, (size_t)(rows * columns) * sizeof *expected);
}

static inline int64_t join_next(uint32_t *state, int64_t from, int64_t to) {
    *state = *state * 1664525u + 1013904223u;
    return from + (int64_t)((*state >> 8) % (uint32_t)(to - from + 1));
}

/* Random windows; a part of them in functions. */
static inline void join_check_windows(gantry_runtime_t *runtime, const char *device, int count) {
    uint32_t state = 60;
    gantry_scope_t *s = join_begin(runtime, device);
    for (int i = 0; i < count; ++i) {
        join_window_t axes[JOIN_AXES];
        for (int d = 0; d < JOIN_AXES; ++d) {
            join_window_t *a = &axes[d];
            a->size = join_next(&state, 0, JOIN_MOST_SIZE);
            a->window = join_next(&state, 1, 9);
            a->stride = join_next(&state, 1, 3);
            a->base_dilation = join_next(&state, 1, 3);
            a->dilation = join_next(&state, 1, 2);
            const int64_t dilated = a->size > 0 ? (a->size - 1) * a->base_dilation + 1 : 0;
            a->low = join_next(&state, -2, 4);
            a->high = join_next(&state, -2, 4);
            if (dilated + a->low + a->high < 0) a->low = a->high = 0;
            if (dilated + (a->low < 0 ? a->low : 0) + (a->high < 0 ? a->high : 0) < 0)
                a->low = a->high = 0;
        }
        join_check_window(s, axes, i % 8 == 0);
    }
    join_end(s);
}

/* ---- two operands ---- */

static inline void join_check_argmax(gantry_runtime_t *runtime, const char *device,
                                     bool in_function) {
    static const int32_t axis[] = {1};
    const gantry_reduce_body_options_t reduce = {
        .struct_size = sizeof reduce, .axes = axis, .axis_count = 1};
    const join_call_t call = {.body = join_first_maximum, .count = 2, .reduce = &reduce};
    const gantry_reduce_options_t by_axis = {
        .struct_size = sizeof by_axis, .axes = axis, .axis_count = 1};
    gantry_scope_t *s = join_begin(runtime, device), *cpu = join_begin_on_cpu(s);
    const gantry_shape_t shape = GANTRY_SHAPE(5, 300, 3);
    /* few values, so that maxima are there several times */
    tensor *x = gantry_floor(cpu, gantry_mul(cpu, join_numbers(cpu, GANTRY_FLOAT32, shape),
                                             gantry_scalar_f32(cpu, 1.0f / 2048)));
    static int32_t places[300];
    for (int32_t i = 0; i < 300; ++i) places[i] = i;
    tensor *numbers = gantry_broadcast_to(
        cpu, gantry_constant(cpu, GANTRY_INT32, GANTRY_SHAPE(300, 1), places, sizeof places),
        shape);
    tensor *in[] = {x, numbers, gantry_scalar_f32(cpu, -1e9f), gantry_scalar_i32(cpu, -1)};
    tensor *got[2];
    join_reduce(s, &call, in, in_function, got);
    join_expect_equal(s, got[0], gantry_max(cpu, x, &by_axis));
    join_expect_equal(s, got[1], gantry_cast(cpu, gantry_argmax(cpu, x, 1), GANTRY_INT32));
    join_end(cpu);
    join_end(s);
}

/* A few of each on a device whose programs take long to build: of one type, where that shows the
 * order. */
static inline void join_check_device(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *s = join_begin(runtime, device);
    join_check_sequence(s, 4300, false, false);
    join_check_sequence(s, 130, true, false);
    join_end(s);
    join_check_windows(runtime, device, 6);
    join_check_argmax(runtime, device, true);
}

#endif
