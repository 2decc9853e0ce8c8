/* SPDX-License-Identifier: Apache-2.0 */
/* Scans and scatters whose elements a body joins, on one device, at once and in a function: bits
 * against the ops of that order, and against plain loops in that order. Header only.
 *
 * Owner: the caller, of the runtime. Threads: one. */
#ifndef TESTS_JOIN_SCAN_CASE_H
#define TESTS_JOIN_SCAN_CASE_H

#include "join_case.h"

JOIN_BODY(mul) {
    (void)user;
    out[0] = gantry_mul(s, in[0], in[1]);
}

JOIN_BODY(max) {
    (void)user;
    out[0] = gantry_maximum(s, in[0], in[1]);
}

/* Neither associative nor commutative. */
JOIN_BODY(half) {
    (void)user;
    out[0] = gantry_sub(s, gantry_mul(s, in[0], in[0]), in[2]);
    out[1] = gantry_sub(s, gantry_mul(s, in[1], in[0]), in[3]);
}

/* x -> a x + b, first that of the left: (a, b) o (c, d) = (a c, b c + d). */
JOIN_BODY(line) {
    (void)user;
    out[0] = gantry_mul(s, in[0], in[2]);
    out[1] = gantry_add(s, gantry_mul(s, in[1], in[2]), in[3]);
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

/* ---- in a function: sizes of the signature that are -1 are open ---- */

static inline void join_in_function(gantry_scope_t *s, gantry_function_body_fn body, void *user,
                                    tensor *const *inputs, size_t count, size_t output_count,
                                    int32_t open_axis, tensor **out) {
    gantry_input_spec_t specs[8] = {{.name = NULL}};
    gantry_function_t *function = NULL;
    for (size_t i = 0; i < count; ++i) {
        specs[i].dtype = gantry_tensor_dtype(inputs[i]);
        specs[i].shape = *gantry_tensor_shape(inputs[i]);
        if (open_axis >= 0 && open_axis < specs[i].shape.rank)
            specs[i].shape.dims[open_axis] = GANTRY_OPEN_SIZE;
    }
    if (gantry_function_trace(gantry_scope_runtime(s), "f", body, user, specs, count, output_count,
                              NULL, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    if (gantry_function_call(s, function, inputs, count, out, output_count) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(s));
    gantry_function_release(function);
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
    tensor *x = join_small_numbers(s, dtype, shape, product), *got = NULL;
    tensor *init = gantry_cast(s, gantry_scalar_f32(s, product ? 1 : 0), dtype);
    const join_scan_call_t call = {.body = product ? join_mul : join_add,
                                   .count = 1,
                                   .inits = &init,
                                   .axis = axis,
                                   .options = {sizeof call.options, exclusive, reverse}};
    join_run_scan(s, &x, &got, (void *)&call);
    join_expect_equal(
        s, got,
        product ? gantry_cumprod(s, x, axis, &options) : gantry_cumsum(s, x, axis, &options));
}

static inline void join_check_scans(gantry_runtime_t *runtime, const char *device) {
    static const int64_t lengths[] = {1, 2, 127, 128, 129, 256, 257, 1000, 16384, 16385, 16513};
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
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
    if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- scans against loops, of lines ---- */

#define JOIN_LONGEST 17000

static inline void join_line_at(double *left, const double *right) {
    left[1] = left[1] * right[0] + right[1];
    left[0] = left[0] * right[0];
}

/* out[i] = x[0] to x[i] joined; exclusive: at the end of a chunk, what comes before the next. */
static inline void join_plain_scan(const double (*x)[2], int64_t n, bool exclusive,
                                   double (*out)[2]) {
    const int64_t chunks = (n + 127) / 128;
    double(*totals)[2] = calloc((size_t)chunks, sizeof *totals);
    double(*before)[2] = calloc((size_t)chunks, sizeof *before);
    for (int64_t c = 0; c < chunks; ++c) {
        memcpy(totals[c], x[128 * c], sizeof *totals);
        for (int64_t i = 128 * c + 1; i < n && i < 128 * (c + 1); ++i)
            join_line_at(totals[c], x[i]);
    }
    if (chunks > 1) join_plain_scan((const double(*)[2])totals, chunks, true, before);
    for (int64_t c = 0; c < chunks; ++c) {
        double sum[2];
        for (int64_t i = 128 * c; i < n && i < 128 * (c + 1); ++i) {
            if (i == 0 || (i == 128 * c && c == 0)) {
                memcpy(sum, x[i], sizeof sum);
            } else {
                if (i == 128 * c) memcpy(sum, before[c - 1], sizeof sum);
                join_line_at(sum, x[i]);
            }
            memcpy(out[i], sum, sizeof sum);
            if (exclusive && chunks > 1 && i == 128 * c + 127)
                memcpy(out[i], before[c], sizeof sum);
        }
    }
    free((void *)totals);
    free((void *)before);
}

static inline void join_check_lines_of(gantry_scope_t *s, int64_t n, bool in_function) {
    double(*x)[2] = calloc((size_t)n, sizeof *x), (*expected)[2] = calloc((size_t)n, sizeof *x);
    double *parts[2] = {calloc((size_t)n, sizeof(double)), calloc((size_t)n, sizeof(double))};
    tensor *in[2], *got[2];
    for (int64_t i = 0; i < n; ++i) {
        parts[0][i] = x[i][0] = 0.5 + (double)((uint32_t)(i + 1) * 2654435761u) / 4294967296.0;
        parts[1][i] = x[i][1] = (double)join_float((size_t)i);
    }
    join_plain_scan((const double(*)[2])x, n, false, expected);
    for (int k = 0; k < 2; ++k)
        in[k] = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(n), parts[k],
                                (size_t)n * sizeof(double));
    const join_scan_call_t call = {
        .body = join_line, .count = 2, .options = {.struct_size = sizeof call.options}};
    if (in_function)
        join_in_function(s, join_run_scan, (void *)&call, in, 2, 2, -1, got);
    else
        join_run_scan(s, in, got, (void *)&call);
    if (gantry_scope_status(s) != GANTRY_OK) fail_msg("%s", gantry_scope_message(s));
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(gantry_tensor_read(got[k], parts[k], (size_t)n * sizeof(double)),
                         GANTRY_OK);
        for (int64_t i = 0; i < n; ++i)
            if (memcmp(&parts[k][i], &expected[i][k], sizeof(double)) != 0)
                fail_msg("%lld of %lld, part %d: %.17g, not %.17g", (long long)i, (long long)n, k,
                         parts[k][i], expected[i][k]);
        free(parts[k]);
    }
    free((void *)x);
    free((void *)expected);
}

static inline void join_check_lines(gantry_runtime_t *runtime, const char *device) {
    static const int64_t lengths[] = {1, 5, 128, 129, 383, 16385, JOIN_LONGEST};
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i)
        join_check_lines_of(s, lengths[i], false);
    join_check_lines_of(s, 7, true);
    join_check_lines_of(s, 383, true);
    if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
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
    static const gantry_function_body_fn bodies[] = {join_add, join_mul, join_max};
    const char *policy = drops ? "IGNORE" : "";
    tensor *in[] = {join_small_numbers(s, dtype, GANTRY_SHAPE(rows, 3, width), way == JOIN_MUL),
                    join_rows(s, updates, rows, 3, drops ? 4 : 0),
                    join_small_numbers(s, dtype, GANTRY_SHAPE(updates, width), way == JOIN_MUL)};
    const join_scatter_call_t call = {.body = bodies[way], .count = 1, .policy = policy};
    tensor *got = NULL;
    if (in_function)
        join_in_function(s, join_run_scatter, (void *)&call, in, 3, 1, open_axis, &got);
    else
        join_run_scatter(s, in, &got, (void *)&call);
    join_expect_equal(s, got, join_library_scatter(s, way, in, policy));
}

/* Elements of [places, 3] along axis 0 by a body whose order matters, of two operands. */
static inline void join_check_scatter_order(gantry_scope_t *s, int64_t places, int64_t updates,
                                            bool in_function) {
    double x[2][600], u[2][600];
    int64_t at[600];
    tensor *in[5], *got[2];
    for (int64_t i = 0; i < updates * 3; ++i) at[i] = (i * i + i / 7) % 5 % places;
    for (int k = 0; k < 2; ++k) {
        for (int64_t i = 0; i < 600; ++i) {
            x[k][i] = 0.1 + (double)(((uint32_t)i * 2654435761u + (uint32_t)k) % 1000) / 1200;
            u[k][i] = 0.1 + (double)(((uint32_t)i * 40503u + (uint32_t)k) % 1000) / 1200;
        }
        in[k] = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(places, 3), x[k],
                                (size_t)places * 3 * sizeof(double));
        in[3 + k] = gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(updates, 3), u[k],
                                    (size_t)updates * 3 * sizeof(double));
    }
    in[2] = gantry_constant(s, GANTRY_INT64, GANTRY_SHAPE(updates, 3), at,
                            (size_t)updates * 3 * sizeof *at);
    for (int64_t i = 0; i < updates * 3; ++i) {
        double *left[2] = {&x[0][at[i] * 3 + i % 3], &x[1][at[i] * 3 + i % 3]};
        const double first = *left[0] * *left[0] - u[0][i];
        *left[1] = *left[1] * *left[0] - u[1][i];
        *left[0] = first;
    }
    const join_scatter_call_t call = {.body = join_half, .count = 2, .names_elements = true};
    if (in_function)
        join_in_function(s, join_run_scatter, (void *)&call, in, 5, 2, -1, got);
    else
        join_run_scatter(s, in, got, (void *)&call);
    for (int k = 0; k < 2; ++k)
        join_expect_equal(s, got[k],
                          gantry_constant(s, GANTRY_FLOAT64, GANTRY_SHAPE(places, 3), x[k],
                                          (size_t)places * 3 * sizeof(double)));
}

static inline void join_check_scatters(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    for (int way = JOIN_ADD; way <= JOIN_MAX; ++way) {
        for (int drops = 0; drops < 2; ++drops) {
            join_check_scatter(s, GANTRY_FLOAT32, way, 4, 100, 2, drops, -1, false);
            join_check_scatter(s, GANTRY_FLOAT64, way, 100, 40, 1, drops, -1, drops);
        }
        join_check_scatter(s, GANTRY_INT32, way, 2, 50, 1, true, -1, true);
    }
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 100, 300, 1, false, -1, false);
    for (int in_function = 0; in_function < 2; ++in_function) {
        join_check_scatter_order(s, 5, 200, in_function);
        join_check_scatter_order(s, 100, 9, in_function);
    }
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 30, 20, 2, true, 0, true);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 30, 0, 2, false, 0, true);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 30, 0, 2, false, -1, false);
    if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- few of all, where each kernel is built first ---- */

static inline void join_check_few(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *s = gantry_scope_begin(runtime, device);
    join_check_cumulative(s, GANTRY_FLOAT32, GANTRY_SHAPE(16513), 0, false, true, false);
    join_check_cumulative(s, GANTRY_FLOAT32, GANTRY_SHAPE(2, 257, 3), 1, false, false, true);
    join_check_lines_of(s, 131, false);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 4, 100, 2, false, -1, false);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 100, 40, 2, true, -1, false);
    join_check_scatter(s, GANTRY_FLOAT32, JOIN_ADD, 100, 40, 2, false, -1, true);
    join_check_scatter_order(s, 5, 20, false);
    if (gantry_scope_end(s) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

#endif
