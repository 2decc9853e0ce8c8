/* SPDX-License-Identifier: Apache-2.0 */
/* Scans and scatters whose elements a body joins, on one device, at once and in a function: bits
 * against the ops of that order, and against plain loops in that order. Header only.
 *
 * Owner: the caller, of the runtime. Threads: one. */
#ifndef TESTS_JOIN_SCAN_CASE_H
#define TESTS_JOIN_SCAN_CASE_H

#include "join_case.h"

/* Two operands, neither associative nor commutative: each order has a result of its own. */
JOIN_BODY(pair) {
    (void)user;
    out[0] = gantry_add(s, gantry_mul(s, in[0], in[0]), in[2]);
    out[1] = gantry_add(s, gantry_mul(s, in[1], in[0]), in[3]);
}

typedef struct join_scan_call_t {
    gantry_function_body_fn body;
    size_t count;
    tensor *const *inits; /* NULL: none */
    int32_t axis;
    gantry_scan_body_options_t options;
} join_scan_call_t;

JOIN_BODY(run_scan) {
    const join_scan_call_t *call = user;
    (void)gantry_scan_with_body(s, in, call->inits, call->count, call->axis, call->body, NULL,
                                &call->options, out);
}

typedef struct join_scatter_call_t {
    gantry_function_body_fn body;
    size_t count; /* operands; in: operands, indices, updates */
    bool names_elements;
    int32_t axis;
    const char *policy;
} join_scatter_call_t;

JOIN_BODY(run_scatter) {
    const join_scatter_call_t *call = user;
    const gantry_scatter_body_options_t options = {.struct_size = sizeof options,
                                                   .bad_indices_policy = call->policy};
    tensor *const *updates = in + call->count + 1;
    if (call->names_elements)
        (void)gantry_scatter_elements_with_body(s, in, in[call->count], updates, call->count,
                                                call->axis, call->body, NULL, &options, out);
    else
        (void)gantry_scatter_with_body(s, in, in[call->count], updates, call->count, call->body,
                                       NULL, &options, out);
}

/* ---- scans against Cumsum and Cumprod ---- */

static inline tensor *join_small_numbers(gantry_scope_t *s, gantry_dtype_t dtype,
                                         gantry_shape_t shape, bool near_one) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) {
        const float number = (float)((uint32_t)(i + 1) * 2654435761u >> 8) / 16777216.0f;
        values[i] = near_one ? 0.97f + 0.06f * number : 100 * number - 50;
    }
    tensor *made = gantry_constant(s, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return gantry_cast(s, made, dtype);
}

static inline void join_check_cumulative(gantry_scope_t *s, gantry_dtype_t dtype,
                                         gantry_shape_t shape, int32_t axis, bool product,
                                         bool exclusive, bool reverse) {
    const gantry_scan_options_t options = {
        .struct_size = sizeof options, .exclusive = exclusive, .reverse = reverse};
    gantry_scope_t *cpu = join_begin_on_cpu(s);
    tensor *x = join_small_numbers(cpu, dtype, shape, product), *got = NULL;
    tensor *init = join_scalar(cpu, dtype, product ? 1 : 0);
    const join_scan_call_t call = {.body = product ? join_multiply : join_add,
                                   .count = 1,
                                   .inits = &init,
                                   .axis = axis,
                                   .options = {sizeof call.options, exclusive, reverse}};
    join_run_scan(s, &x, &got, (void *)&call);
    join_expect_equal(
        s, got,
        product ? gantry_cumprod(cpu, x, axis, &options) : gantry_cumsum(cpu, x, axis, &options));
    join_end(cpu);
}

static inline void join_check_scans(gantry_runtime_t *runtime, const char *device) {
    static const int64_t lengths[] = {1, 2, 127, 128, 129, 256, 257, 1000, 16384, 16385, 16513};
    gantry_scope_t *s = join_begin(runtime, device);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        const int64_t n = lengths[i];
        for (int way = 0; way < 4; ++way) {
            if (n > 1000 && way == 1) continue;
            join_check_cumulative(s, GANTRY_FLOAT32, GANTRY_SHAPE(n), 0, false, way & 2, way & 1);
        }
        if (n < 1000)
            join_check_cumulative(s, GANTRY_FLOAT64, GANTRY_SHAPE(2, n, 3), 1, i % 2, i & 4, i & 2);
    }
    join_check_cumulative(s, GANTRY_INT32, GANTRY_SHAPE(3, 300), -1, false, true, false);
    join_check_cumulative(s, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 1, 3, 1, 2, 130, 2), 6, true, false,
                          true);
    join_end(s);
}

/* ---- scans against loops: int32 with the body "pair" ---- */

typedef struct join_pair_t {
    uint32_t part[2];
} join_pair_t;

static inline join_pair_t join_pair_of(join_pair_t left, join_pair_t right) {
    const uint32_t first = left.part[0];
    return (join_pair_t){{first * first + right.part[0], left.part[1] * first + right.part[1]}};
}

/* x[i] becomes x[0] to x[i] joined. exclusive: at the end of a whole chunk, what comes before the
 * next. */
static inline void join_plain_scan(join_pair_t *x, int64_t n, bool exclusive) {
    const int64_t chunks = (n + 127) / 128;
    join_pair_t *before = malloc((size_t)chunks * sizeof *before);
    assert_non_null(before);
    for (int64_t i = 0; i < n; ++i)
        before[i / 128] = i % 128 == 0 ? x[i] : join_pair_of(before[i / 128], x[i]);
    if (chunks > 1) join_plain_scan(before, chunks, true);
    for (int64_t i = 1; i < n; ++i)
        x[i] = join_pair_of(i % 128 == 0 ? before[i / 128 - 1] : x[i - 1], x[i]);
    for (int64_t c = 0; exclusive && chunks > 1 && c < n / 128; ++c) x[128 * c + 127] = before[c];
    free(before);
}

/* Part k of pairs as a tensor. */
static inline tensor *join_part(gantry_scope_t *s, const join_pair_t *pairs, gantry_shape_t shape,
                                int k) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    uint32_t *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) values[i] = pairs[i].part[k];
    tensor *made = gantry_constant(s, GANTRY_INT32, shape, values, count * sizeof *values);
    free(values);
    return made;
}

static inline join_pair_t *join_pairs(int64_t count, uint32_t factor) {
    join_pair_t *pairs = malloc((size_t)(count + 1) * sizeof *pairs);
    assert_non_null(pairs);
    for (int64_t i = 0; i < count; ++i)
        pairs[i] = (join_pair_t){{(uint32_t)(i + 1) * factor, (uint32_t)i * factor + 1}};
    return pairs;
}

static inline void join_check_scan_order(gantry_scope_t *s, int64_t n, bool in_function) {
    const join_scan_call_t call = {
        .body = join_pair, .count = 2, .options = {.struct_size = sizeof call.options}};
    gantry_scope_t *cpu = join_begin_on_cpu(s);
    join_pair_t *x = join_pairs(n, 2654435761u);
    tensor *in[2], *got[2];
    for (int k = 0; k < 2; ++k) in[k] = join_part(cpu, x, GANTRY_SHAPE(n), k);
    join_plain_scan(x, n, false);
    join_call_body(s, join_run_scan, &call, in, 2, 2, in_function, -1, got);
    for (int k = 0; k < 2; ++k) join_expect_equal(s, got[k], join_part(cpu, x, GANTRY_SHAPE(n), k));
    free(x);
    join_end(cpu);
}

static inline void join_check_scan_orders(gantry_runtime_t *runtime, const char *device) {
    static const int64_t lengths[] = {1, 5, 128, 129, 383, 16385, 17000};
    gantry_scope_t *s = join_begin(runtime, device);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i)
        join_check_scan_order(s, lengths[i], false);
    join_check_scan_order(s, 7, true);
    join_check_scan_order(s, 383, true);
    join_end(s);
}

/* ---- scatters ---- */

/* Rows of two numbers with many duplicates, some of them bad if `beyond` is not 0. */
static inline tensor *join_rows(gantry_scope_t *s, int64_t count, int64_t rows, int64_t columns,
                                int64_t beyond) {
    int32_t *values = malloc(((size_t)count * 2 + 1) * sizeof *values);
    uint32_t state = (uint32_t)(count + rows);
    for (int64_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        values[2 * i] = (int32_t)((state >> 8) % (uint32_t)(rows + beyond));
        values[2 * i + 1] = (int32_t)((state >> 20) % (uint32_t)columns);
        if (beyond && i % 5 == 0) values[2 * i + 1] = -1;
    }
    tensor *made = gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(count, 2), values,
                                   (size_t)count * 2 * sizeof *values);
    free(values);
    return made;
}

typedef enum join_way_t { JOIN_ADD, JOIN_MUL, JOIN_MAX } join_way_t;

static inline tensor *join_library_scatter(gantry_scope_t *s, join_way_t way, tensor *const *in,
                                           const char *policy) {
    static const char *const ops[] = {"TensorScatterAdd", "TensorScatterMul", "TensorScatterMax"};
    const gantry_attr_value_t attr = {
        .name = "bad_indices_policy", .kind = GANTRY_ATTR_STRING, .s = policy};
    tensor *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(s, ops[way], in, 3, &attr, 1, &made, &count);
    return made;
}

static inline void join_check_scatter(gantry_scope_t *s, gantry_dtype_t dtype, join_way_t way,
                                      int64_t rows, int64_t updates, int64_t width, bool drops,
                                      int32_t open_axis, bool in_function) {
    static const gantry_function_body_fn bodies[] = {join_add, join_multiply, join_maximum};
    const char *policy = drops ? "IGNORE" : "";
    gantry_scope_t *cpu = join_begin_on_cpu(s);
    tensor *in[] = {join_small_numbers(cpu, dtype, GANTRY_SHAPE(rows, 3, width), way == JOIN_MUL),
                    join_rows(cpu, updates, rows, 3, drops ? 4 : 0),
                    join_small_numbers(cpu, dtype, GANTRY_SHAPE(updates, width), way == JOIN_MUL)};
    const join_scatter_call_t call = {.body = bodies[way], .count = 1, .policy = policy};
    tensor *got = NULL;
    join_call_body(s, join_run_scatter, &call, in, 3, 1, in_function, open_axis, &got);
    join_expect_equal(s, got, join_library_scatter(cpu, way, in, policy));
    join_end(cpu);
}

/* Elements of [places, 3] along axis 0 by a body whose order matters, of two operands. */
static inline void join_check_scatter_order(gantry_scope_t *s, gantry_dtype_t dtype, int64_t places,
                                            int64_t updates, bool in_function) {
    const join_scatter_call_t call = {.body = join_pair, .count = 2, .names_elements = true};
    const gantry_shape_t shape = GANTRY_SHAPE(places, 3), rows = GANTRY_SHAPE(updates, 3);
    gantry_scope_t *cpu = join_begin_on_cpu(s);
    join_pair_t *x = join_pairs(places * 3, 2654435761u), *u = join_pairs(updates * 3, 40503u);
    int32_t at[600];
    tensor *in[5], *got[2];
    assert_in_range(updates * 3, 0, 600);
    for (int k = 0; k < 2; ++k) {
        in[k] = join_part(cpu, x, shape, k);
        in[3 + k] = join_part(cpu, u, rows, k);
    }
    for (int64_t i = 0; i < updates * 3; ++i) {
        at[i] = (int32_t)((i * i + i / 7) % 5 % places);
        x[at[i] * 3 + i % 3] = join_pair_of(x[at[i] * 3 + i % 3], u[i]);
    }
    in[2] = gantry_cast(
        cpu, gantry_constant(cpu, GANTRY_INT32, rows, at, (size_t)updates * 3 * sizeof *at), dtype);
    join_call_body(s, join_run_scatter, &call, in, 5, 2, in_function, -1, got);
    for (int k = 0; k < 2; ++k) join_expect_equal(s, got[k], join_part(cpu, x, shape, k));
    free(x);
    free(u);
    join_end(cpu);
}

static inline void join_check_scatters(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *s = join_begin(runtime, device);
    for (int way = JOIN_ADD; way <= JOIN_MAX; ++way) {
        for (int drops = 0; drops < 2; ++drops) {
            join_check_scatter(s, GANTRY_FLOAT32, way, 4, 100, 2, drops, -1, false);
            join_check_scatter(s, GANTRY_FLOAT64, way, 100, 40, 1, drops, -1, drops);
        }
        join_check_scatter(s, GANTRY_INT32, way, 2, 50, 1, true, -1, true);
    }
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 100, 300, 1, false, -1, false);
    for (int in_function = 0; in_function < 2; ++in_function) {
        join_check_scatter_order(s, GANTRY_INT32, 5, 200, in_function);
        join_check_scatter_order(s, GANTRY_INT64, 5, 200, in_function);
        join_check_scatter_order(s, GANTRY_INT64, 100, 9, in_function);
    }
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 30, 20, 2, true, 0, true);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 30, 0, 2, false, 0, true);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 30, 0, 2, false, -1, false);
    join_end(s);
}

/* ---- few of all, where each kernel is built first ---- */

static inline void join_check_few(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *s = join_begin(runtime, device);
    join_check_cumulative(s, GANTRY_FLOAT32, GANTRY_SHAPE(16513), 0, false, true, false);
    join_check_cumulative(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 257, 3), 1, false, false, true);
    join_check_scan_order(s, 131, false);
    join_check_scatter(s, GANTRY_INT32, JOIN_ADD, 4, 100, 2, false, -1, false);
    join_check_scatter(s, GANTRY_INT32, JOIN_ADD, 100, 40, 2, true, -1, true);
    join_check_scatter_order(s, GANTRY_INT32, 5, 20, false);
    join_end(s);
}

#endif
