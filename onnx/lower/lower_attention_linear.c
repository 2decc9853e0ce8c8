/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention and CausalConvWithState. The state of a head is a matrix [key size, value size],
 * to which each step adds the product of its key and its value; few steps are unrolled, more are a
 * loop of the library. Halves are computed in float32. */
#include <math.h>
#include <string.h>

#include <gantry/control.h>
#include <gantry/ops.h>

#include "onnx/lower/lower_recurrent.h"
#include "onnx/lower/lower_steps.h"

/* Steps that are unrolled at most. */
#define MOST_LINEAR_STEPS 32
/* The longest filter of CausalConvWithState. */
#define MOST_CAUSAL_TAPS 64

/* A node. Values of all steps have the step as their first dimension. */
typedef struct linear_t {
    gantry__onnx_call_t *call;
    gantry_dtype_t dtype; /* In which it computes. */
    int64_t batch, steps, heads, shared, key_size, value_size;
    bool subtracts; /* The value that the state has for the key. */
    double scale;
    const gantry_tensor_t *query; /* [steps, batch, heads, shared, key size] */
    const gantry_tensor_t *key;   /* [steps, batch, heads, key size, 1] */
    const gantry_tensor_t *value; /* [steps, batch, heads, 1, value size] */
    const gantry_tensor_t *decay; /* [steps, batch, heads, key size or 1, 1]; NULL: none. */
    const gantry_tensor_t *rate;  /* [steps, batch, heads or 1, 1, 1]; NULL: 1. */
} linear_t;

/* The values of one step. */
typedef struct linear_row_t {
    const gantry_tensor_t *query, *key, *value, *decay, *rate;
} linear_row_t;

/* Input i, [batch, steps, heads * size], with the steps first, as [.., heads, rows, columns]. */
static const gantry_tensor_t *by_step(const linear_t *node, size_t i, int64_t heads, int64_t rows,
                                      int64_t columns) {
    static const int32_t order[5] = {1, 0, 2, 3, 4};
    gantry_scope_t *scope = node->call->scope;
    const gantry_tensor_t *x = gantry__onnx_input(node->call, i);
    if (!x) return NULL;
    if (gantry_tensor_dtype(x) != node->dtype) x = gantry_cast(scope, x, node->dtype);
    x = gantry_reshape(scope, x, GANTRY_SHAPE(node->batch, node->steps, heads, rows, columns));
    return gantry_transpose(scope, x, order);
}

/* One step: changes the state, and returns the output [batch, heads, shared, value size]. */
static const gantry_tensor_t *run_linear(const linear_t *node, gantry_scope_t *scope,
                                         const linear_row_t *row, const gantry_tensor_t **state) {
    const gantry_tensor_t *value = row->value;
    if (row->decay) *state = gantry_mul(scope, *state, gantry_exp(scope, row->decay));
    if (node->subtracts) {
        const gantry_matmul_options_t options = {.struct_size = sizeof options,
                                                 .transpose_a = true};
        value = gantry_sub(scope, value, gantry_matmul(scope, row->key, *state, &options));
    }
    if (row->rate) value = gantry_mul(scope, value, row->rate);
    *state = gantry_add(scope, *state, gantry_mul(scope, row->key, value));
    const gantry_tensor_t *y = gantry_matmul(scope, row->query, *state, NULL);
    return gantry_mul(scope, y, gantry__onnx_make_scalar(node->call, node->dtype, node->scale));
}

static void linear_condition(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                             const gantry_tensor_t **outputs, void *user) {
    const linear_t *node = user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i64(scope, node->steps));
}

static const gantry_tensor_t *linear_gather(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            const gantry_tensor_t *step) {
    return x ? gantry_gather(scope, x, step, 0) : NULL;
}

static void linear_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    const linear_t *node = user;
    const gantry_tensor_t *step = inputs[0], *state = inputs[1];
    const linear_row_t row = {
        linear_gather(scope, node->query, step), linear_gather(scope, node->key, step),
        linear_gather(scope, node->value, step), linear_gather(scope, node->decay, step),
        linear_gather(scope, node->rate, step)};
    const gantry_tensor_t *y = run_linear(node, scope, &row, &state);
    const gantry_tensor_t *starts[2] = {gantry_reshape(scope, step, GANTRY_SHAPE(1)),
                                        gantry_zeros(scope, GANTRY_INT64, GANTRY_SHAPE(4))};
    outputs[0] = gantry_add(scope, step, gantry_scalar_i64(scope, 1));
    outputs[1] = state;
    outputs[2] = gantry_dynamic_update_slice(scope, inputs[2], gantry_expand_dims(scope, y, 0),
                                             gantry_concat(scope, starts, 2, 0));
}

static gantry_status_t run_linear_loop(linear_t *node, const gantry_tensor_t **state,
                                       const gantry_tensor_t **all) {
    gantry_scope_t *scope = node->call->scope;
    const gantry_shape_t shape =
        GANTRY_SHAPE(node->steps, node->batch, node->heads, node->shared, node->value_size);
    const gantry_tensor_t *variables[3] = {gantry_scalar_i64(scope, 0), *state,
                                           gantry_zeros(scope, node->dtype, shape)};
    GANTRY__TRY(
        gantry_while(scope, linear_condition, linear_step, node, variables, 3, NULL, variables));
    *state = variables[1];
    *all = variables[2];
    return GANTRY_OK;
}

static const gantry_tensor_t *linear_row(const linear_t *node, const gantry_tensor_t *x,
                                         int64_t step) {
    return x ? gantry__onnx_row_of(node->call->scope, x, step) : NULL;
}

/* All outputs, [steps, batch, heads, shared, value size]. */
static gantry_status_t run_linear_steps(linear_t *node, const gantry_tensor_t **state,
                                        const gantry_tensor_t **all) {
    gantry__onnx_call_t *call = node->call;
    if (node->steps > MOST_LINEAR_STEPS || node->steps == 0)
        return run_linear_loop(node, state, all);
    const gantry_tensor_t *rows[MOST_LINEAR_STEPS];
    for (int64_t i = 0; i < node->steps; ++i) {
        const linear_row_t row = {linear_row(node, node->query, i), linear_row(node, node->key, i),
                                  linear_row(node, node->value, i),
                                  linear_row(node, node->decay, i),
                                  linear_row(node, node->rate, i)};
        rows[i] = run_linear(node, call->scope, &row, state);
        GANTRY__TRY(gantry_scope_status(call->scope));
    }
    *all = gantry__onnx_stack(call, rows, (size_t)node->steps, 0, false);
    return gantry_scope_status(call->scope);
}

/* The number of the update's rule; 4: it is none. */
static size_t find_update_rule(const gantry__onnx_call_t *call, const char **out_text) {
    static const char *const rules[4] = {"linear", "gated", "delta", "gated_delta"};
    size_t rule = 0;
    *out_text = gantry__onnx_attr_text(call, "update_rule", rules[3]);
    while (rule < 4 && strcmp(*out_text, rules[rule]) != 0) ++rule;
    return rule;
}

gantry_status_t gantry__onnx_check_linear_attention(gantry__onnx_call_t *call) {
    const char *text;
    const size_t rule = find_update_rule(call, &text);
    GANTRY__TRY(gantry__onnx_need_attr(call, "state_window", 0));
    if (rule == 4)
        return gantry__onnx_invalid(call,
                                    "update_rule \"%s\"; accepted are linear, gated, delta "
                                    "and gated_delta",
                                    text);
    if ((rule & 1) && !gantry__onnx_has_input(call, 4))
        return gantry__onnx_invalid(call, "%s needs decay", text);
    if (rule >= 2 && !gantry__onnx_has_input(call, 5))
        return gantry__onnx_invalid(call, "%s needs beta", text);
    return GANTRY_OK;
}

/* The rule of the update, and its inputs decay and beta. */
static gantry_status_t read_rule(linear_t *node) {
    gantry__onnx_call_t *call = node->call;
    const char *text;
    const size_t rule = find_update_rule(call, &text);
    const gantry_tensor_t *decay = gantry__onnx_input(call, 4), *rate = gantry__onnx_input(call, 5);
    node->subtracts = rule >= 2;
    if (rule & 1) {
        const bool is_wide = gantry_tensor_shape(decay)->dims[2] != node->heads;
        node->decay = by_step(node, 4, node->heads, is_wide ? node->key_size : 1, 1);
    }
    if (rule >= 2) node->rate = by_step(node, 5, gantry_tensor_shape(rate)->dims[2], 1, 1);
    return gantry_scope_status(call->scope);
}

/* Checks the shapes of all inputs: [batch, steps, ...], and of the state. */
static gantry_status_t check_linear_shapes(const linear_t *node) {
    gantry__onnx_call_t *call = node->call;
    const gantry_shape_t state =
        GANTRY_SHAPE(node->batch, node->heads, node->key_size, node->value_size);
    for (size_t i = 0; i < call->input_count; ++i) {
        const gantry_tensor_t *x = gantry__onnx_input(call, i);
        const gantry_shape_t *shape = gantry_tensor_shape(x);
        if (!x) continue;
        if (i == 3 ? !gantry_shape_equal(shape, &state)
                   : shape->rank != 3 || shape->dims[0] != node->batch ||
                         shape->dims[1] != node->steps)
            return gantry__onnx_invalid(call, "input %zu does not fit %lld rows of %lld steps", i,
                                        (long long)node->batch, (long long)node->steps);
    }
    return GANTRY_OK;
}

/* Sizes and values. */
static gantry_status_t read_linear(linear_t *node) {
    gantry__onnx_call_t *call = node->call;
    const gantry_tensor_t *query = gantry__onnx_input(call, 0),
                          *value = gantry__onnx_input(call, 2);
    for (size_t i = 0; i < call->input_count; ++i)
        if (gantry__onnx_input(call, i))
            GANTRY__TRY(gantry__onnx_need_shape(call, gantry__onnx_input(call, i)));
    const gantry_shape_t *shape = gantry_tensor_shape(query);
    const int64_t heads = gantry__onnx_attr_int(call, "q_num_heads", 0);
    node->heads = gantry__onnx_attr_int(call, "kv_num_heads", 0);
    if (shape->rank != 3 || heads < 1 || node->heads < 1 || heads % node->heads != 0 ||
        shape->dims[2] % heads != 0 || gantry_tensor_shape(value)->rank != 3)
        return gantry__onnx_invalid(
            call, "%lld heads of queries and %lld of keys for %lld elements", (long long)heads,
            (long long)node->heads, (long long)shape->dims[2]);
    node->batch = shape->dims[0];
    node->steps = shape->dims[1];
    node->shared = heads / node->heads;
    node->key_size = shape->dims[2] / heads;
    node->value_size = gantry_tensor_shape(value)->dims[2] / node->heads;
    GANTRY__TRY(check_linear_shapes(node));
    node->dtype = gantry_tensor_dtype(query) == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
    node->scale = (double)gantry__onnx_attr_float(call, "scale", 0);
    if (node->scale == 0) node->scale = 1 / sqrt((double)node->key_size);
    node->query = by_step(node, 0, node->heads, node->shared, node->key_size);
    node->key = by_step(node, 1, node->heads, node->key_size, 1);
    node->value = by_step(node, 2, node->heads, 1, node->value_size);
    return read_rule(node);
}

gantry_status_t gantry__onnx_lower_linear_attention(gantry__onnx_call_t *call) {
    static const int32_t order[5] = {1, 0, 2, 3, 4};
    gantry_scope_t *scope = call->scope;
    linear_t node = {.call = call};
    GANTRY__TRY(read_linear(&node));
    const gantry_dtype_t dtype = gantry_tensor_dtype(gantry__onnx_input(call, 0));
    const gantry_tensor_t *state = gantry__onnx_input(call, 3), *all = NULL;
    const gantry_dtype_t state_dtype = state ? gantry_tensor_dtype(state) : dtype;
    if (!state)
        state = gantry_zeros(scope, node.dtype,
                             GANTRY_SHAPE(node.batch, node.heads, node.key_size, node.value_size));
    if (gantry_tensor_dtype(state) != node.dtype) state = gantry_cast(scope, state, node.dtype);
    GANTRY__TRY(run_linear_steps(&node, &state, &all));
    all = gantry_reshape(
        scope, gantry_transpose(scope, all, order),
        GANTRY_SHAPE(node.batch, node.steps, node.heads * node.shared * node.value_size));
    if (dtype != node.dtype) all = gantry_cast(scope, all, dtype);
    if (state_dtype != node.dtype) state = gantry_cast(scope, state, state_dtype);
    GANTRY__TRY(gantry__onnx_set(call, 0, all));
    return gantry__onnx_set(call, 1, state);
}

/* ---- CausalConvWithState ---- */

/* The sum of shifted values times the filter's elements. */
static const gantry_tensor_t *sum_shifted_taps(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *values,
                                               const gantry_tensor_t *filter, int64_t length,
                                               int64_t dilation) {
    gantry_scope_t *scope = call->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(values);
    const gantry_shape_t *taps = gantry_tensor_shape(filter);
    const gantry_tensor_t *sum = NULL;
    for (int64_t i = 0; i < taps->dims[2]; ++i) {
        const int64_t begin[3] = {0, 0, i * dilation},
                      size[3] = {shape->dims[0], shape->dims[1], length};
        const int64_t place[3] = {0, 0, i}, column[3] = {taps->dims[0], 1, 1};
        gantry_scope_t *own = gantry__onnx_is_known(call, filter) ? call->host : scope;
        const gantry_tensor_t *tap = gantry_reshape(own, gantry_slice(own, filter, place, column),
                                                    GANTRY_SHAPE(taps->dims[0], 1));
        const gantry_tensor_t *part =
            gantry_mul(scope, gantry_slice(scope, values, begin, size), tap);
        sum = sum ? gantry_add(scope, sum, part) : part;
    }
    return sum;
}

static bool is_silu_conv(const char *activation) {
    return strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
}

/* com.microsoft's op of one spatial axis and of the state that is ONNX's, too. */
gantry_status_t gantry__onnx_check_causal_conv(gantry__onnx_call_t *call) {
    const char *activation = gantry__onnx_attr_text(call, "activation", "none");
    const int64_t dilation = gantry__onnx_attr_int(call, "dilation", 1);
    static const struct {
        const char *name;
        int64_t wanted;
    } rows[] = {{"channels_last", 0},        {"state_window", 0},  {"ndim", 1},
                {"state_channels_last", -1}, {"state_length", 0},  {"state_update_capacity", 0},
                {"input_channel_offset", 0}, {"input_channels", 0}};
    if (!is_silu_conv(activation) && strcmp(activation, "none") != 0)
        return gantry__onnx_invalid(call, "activation \"%s\"; accepted are silu, swish and none",
                                    activation);
    if (dilation < 1 || dilation > INT32_MAX)
        return gantry__onnx_invalid(call, "dilation is %lld; 1 and more are accepted",
                                    (long long)dilation);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
        GANTRY__TRY(gantry__onnx_need_attr(call, rows[i].name, rows[i].wanted));
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_causal_conv(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *filter = gantry__onnx_input(call, 1);
    const gantry_tensor_t *bias = gantry__onnx_input(call, 2), *past = gantry__onnx_input(call, 3);
    const bool is_silu = is_silu_conv(gantry__onnx_attr_text(call, "activation", "none"));
    const int64_t dilation = gantry__onnx_attr_int(call, "dilation", 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_need_shape(call, filter));
    const gantry_shape_t *shape = gantry_tensor_shape(x), *taps = gantry_tensor_shape(filter);
    if (shape->rank != 3 || taps->rank != 3 || taps->dims[0] != shape->dims[1] ||
        taps->dims[1] != 1 || taps->dims[2] < 1)
        return gantry__onnx_invalid(call, "weight must have the shape [%lld, 1, length]",
                                    (long long)shape->dims[1]);
    if (taps->dims[2] > MOST_CAUSAL_TAPS)
        return gantry__onnx_unsupported(call, "a filter of %lld elements; %d are the most",
                                        (long long)taps->dims[2], MOST_CAUSAL_TAPS);
    const gantry_shape_t before =
        GANTRY_SHAPE(shape->dims[0], shape->dims[1], (taps->dims[2] - 1) * dilation);
    if (past) GANTRY__TRY(gantry__onnx_need_shape(call, past));
    if (past && !gantry_shape_equal(gantry_tensor_shape(past), &before))
        return gantry__onnx_invalid(call, "past_state must have the shape [%lld, %lld, %lld]",
                                    (long long)before.dims[0], (long long)before.dims[1],
                                    (long long)before.dims[2]);
    const gantry_tensor_t *parts[2] = {
        past ? past : gantry_zeros(scope, gantry_tensor_dtype(x), before), x};
    const gantry_tensor_t *values = gantry_concat(scope, parts, 2, 2);
    const gantry_tensor_t *y = sum_shifted_taps(call, values, filter, shape->dims[2], dilation);
    if (bias)
        y = gantry_add(scope, y, gantry_reshape(scope, bias, GANTRY_SHAPE(shape->dims[1], 1)));
    GANTRY__TRY(gantry__onnx_set(call, 0, is_silu ? gantry_silu(scope, y) : y));
    const int64_t begin[3] = {0, 0, shape->dims[2]};
    return gantry__onnx_set(call, 1, gantry_slice(scope, values, begin, before.dims));
}
