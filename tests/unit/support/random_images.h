/* SPDX-License-Identifier: Apache-2.0 */
/* Nets over images whose channels come first, made by a seed: convolutions, pools, pads, concats,
 * slices, shuffles, reductions, norms and residuals. A function of one gives the same bits with the
 * layout pass and without. Header only. */
#ifndef TESTS_RANDOM_IMAGES_H
#define TESTS_RANDOM_IMAGES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "function/call/function.h"
#include "planned.h"

enum { IMAGES_POOL = 64, IMAGES_OUTPUTS = 4, IMAGES_MOST_ELEMENTS = 1 << 14 };

typedef const gantry_tensor_t *images_fn(gantry_scope_t *scope, const gantry_tensor_t *x);

typedef struct images_net_t {
    uint64_t seed, state;
    bool only_windows; /* few programs: for a device that compiles each */
    gantry_scope_t *scope;
    const gantry_tensor_t *pool[IMAGES_POOL]; /* of rank 4 */
    uint32_t count;
} images_net_t;

/* ---- numbers ---- */

static inline uint32_t images_below(images_net_t *net, uint32_t limit) {
    net->state = net->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(net->state >> 33) % limit;
}

static inline const gantry_tensor_t *images_numbers(images_net_t *net, gantry_shape_t shape) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i)
        values[i] = (float)((int32_t)images_below(net, 4001) - 2000) / 1024;
    const gantry_tensor_t *made =
        gantry_constant(net->scope, GANTRY_FLOAT32, shape, values, count * sizeof *values);
    free(values);
    return made;
}

static inline const gantry_tensor_t *images_pick(images_net_t *net) {
    return images_below(net, 3) > 0 ? net->pool[net->count - 1]
                                    : net->pool[images_below(net, net->count)];
}

/* Another value of this shape, or x. */
static inline const gantry_tensor_t *images_partner(images_net_t *net, const gantry_tensor_t *x) {
    for (uint32_t i = images_below(net, net->count), k = 0; k < net->count; ++k) {
        const gantry_tensor_t *y = net->pool[(i + k) % net->count];
        if (y != x && gantry_shape_equal(gantry_tensor_shape(x), gantry_tensor_shape(y))) return y;
    }
    return x;
}

static inline const gantry_tensor_t *images_turn(images_net_t *net, const gantry_tensor_t *x,
                                                 int32_t a, int32_t b, int32_t c, int32_t d) {
    return gantry_transpose(net->scope, x, (const int32_t[]){a, b, c, d});
}

/* ---- steps: x of [n, c, h, w] ---- */

static inline const gantry_tensor_t *images_convolve(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims, size = images_below(net, 2) ? 3 : 1,
                  groups = d[1] % 2 == 0 && images_below(net, 3) == 0 ? 2 : 1;
    const gantry_window_options_t options = {
        .struct_size = sizeof options,
        .strides = {1 + images_below(net, 4) / 3, 1},
        .padding = d[2] < size || d[3] < size || images_below(net, 2) ? GANTRY_PADDING_SAME
                                                                      : GANTRY_PADDING_VALID,
        .channels_first = true};
    const gantry_tensor_t *filter = images_numbers(
        net, GANTRY_SHAPE(size, size, d[1] / groups, 2 * (1 + (int64_t)images_below(net, 4))));
    if (images_below(net, 6) > 0) return gantry_conv2d(net->scope, x, filter, &options);
    /* channels last, between transposes of the body's own */
    gantry_window_options_t last = options;
    last.channels_first = false;
    return images_turn(
        net, gantry_conv2d(net->scope, images_turn(net, x, 0, 2, 3, 1), filter, &last), 0, 3, 1, 2);
}

static inline const gantry_tensor_t *images_depthwise(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_window_options_t options = {.struct_size = sizeof options,
                                             .strides = {1, 1},
                                             .dilations = {1 + images_below(net, 2), 1},
                                             .channels_first = true};
    return gantry_depthwise_conv2d(
        net->scope, x, images_numbers(net, GANTRY_SHAPE(3, 2, gantry_tensor_shape(x)->dims[1], 1)),
        &options);
}

static inline const gantry_tensor_t *images_pool(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_window_options_t options = {.struct_size = sizeof options,
                                             .strides = {1, 1 + images_below(net, 2)},
                                             .channels_first = true};
    return images_below(net, 2) ? gantry_max_pool2d(net->scope, x, 2, 3, &options)
                                : gantry_avg_pool2d(net->scope, x, 3, 2, &options);
}

static inline const gantry_tensor_t *images_bias(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const gantry_attr_value_t format = {
        .name = "data_format", .kind = GANTRY_ATTR_STRING, .s = "NCHW"};
    const gantry_tensor_t *inputs[] = {x, images_numbers(net, GANTRY_SHAPE(d[1]))}, *made = NULL;
    size_t one = 1;
    (void)gantry_op_call(net->scope, "BiasAdd", inputs, 2, &format, 1, &made, &one);
    return made;
}

static inline const gantry_tensor_t *images_constant(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    switch (images_below(net, 6)) {
        case 0: return gantry_add(net->scope, x, images_numbers(net, GANTRY_SHAPE(d[1], 1, 1)));
        case 1: return gantry_mul(net->scope, images_numbers(net, GANTRY_SHAPE(1, d[1], 1, 1)), x);
        case 2: return gantry_sub(net->scope, x, images_numbers(net, GANTRY_SHAPE(d[2], d[3])));
        case 3:
            return gantry_add(net->scope, images_numbers(net, GANTRY_SHAPE(d[1], d[2], d[3])), x);
        case 4: return gantry_mul(net->scope, x, images_numbers(net, GANTRY_SHAPE(d[3])));
        default: return gantry_maximum(net->scope, x, gantry_scalar_f32(net->scope, 0.25f));
    }
}

static inline const gantry_tensor_t *images_unary(images_net_t *net, const gantry_tensor_t *x) {
    static images_fn *const functions[] = {gantry_relu, gantry_relu,    gantry_tanh,
                                           gantry_neg,  gantry_sigmoid, gantry_square};
    if (images_below(net, 8) == 0)
        return gantry_cast(net->scope, gantry_cast(net->scope, x, GANTRY_INT32), GANTRY_FLOAT32);
    return functions[images_below(net, 6)](net->scope, x);
}

static inline const gantry_tensor_t *images_join(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_tensor_t *y = images_partner(net, x);
    switch (images_below(net, 4)) {
        case 0: return gantry_mul(net->scope, x, y);
        case 1: return gantry_select(net->scope, gantry_greater(net->scope, x, y), y, x);
        case 2: return gantry_add_n(net->scope, (const gantry_tensor_t *const[]){x, y, x}, 3);
        default: return gantry_add(net->scope, x, y);
    }
}

static inline const gantry_tensor_t *images_concat(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_tensor_t *parts[] = {x, images_partner(net, x)};
    return gantry_concat(net->scope, parts, 2, images_below(net, 2) ? 1 : -1);
}

static inline const gantry_tensor_t *images_slice(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    if (images_below(net, 3) == 0 && d[2] > 1) {
        const gantry_strided_slice_options_t options = {
            .struct_size = sizeof options, .begin_mask = 3, .end_mask = 7};
        return gantry_strided_slice(net->scope, x, (const int64_t[]){0, 0, 1, -1},
                                    (const int64_t[]){0, 0, 0, -d[3] - 1},
                                    (const int64_t[]){1, 1, 2, -1}, 4, &options);
    }
    if (images_below(net, 3) == 0 && d[1] % 2 == 0) {
        const gantry_tensor_t *halves[2];
        if (gantry_split(net->scope, x, 1, halves, 2) != GANTRY_OK) return NULL;
        return gantry_sub(net->scope, halves[0], halves[1]);
    }
    return gantry_slice(net->scope, x, (const int64_t[]){0, d[1] > 2 ? 2 : 0, 0, d[3] > 3},
                        (const int64_t[]){-1, -1, d[2], -1});
}

static inline const gantry_tensor_t *images_pad(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const bool mirrors = images_below(net, 2) && d[2] > 1 && d[3] > 2;
    const gantry_pad_options_t options = {
        .struct_size = sizeof options,
        .mode = mirrors ? GANTRY_PAD_REFLECT : GANTRY_PAD_CONSTANT,
        .value = mirrors ? NULL : gantry_scalar_f32(net->scope, -1)};
    return gantry_pad(net->scope, x,
                      (const int64_t[]){0, 0, mirrors ? 0 : images_below(net, 2), 0, 1, 0, 0, 2},
                      &options);
}

/* A pool whose padding is given, and counts, with windows that reach over the end. */
static inline const gantry_tensor_t *images_wide_pool(images_net_t *net, const gantry_tensor_t *x) {
    static const int64_t sizes[] = {1, 1, 2, 3}, steps[] = {1, 1, 2, 1}, spreads[] = {1, 1, 1, 2},
                         pads[] = {0, 0, 0, 0, 1, 0, 2, 2};
    const bool is_mean = images_below(net, 2);
    const gantry_attr_value_t attrs[] = {
        {.name = "ksize", .kind = GANTRY_ATTR_INTS, .i = 4, .list = sizes},
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = steps},
        {.name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = spreads},
        {.name = "explicit_paddings", .kind = GANTRY_ATTR_INTS, .i = 8, .list = pads},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "EXPLICIT"},
        {.name = "data_format", .kind = GANTRY_ATTR_STRING, .s = "NCHW"},
        {.name = "ceil_mode", .kind = GANTRY_ATTR_BOOL, .i = 1},
        {.name = "count_include_pad", .kind = GANTRY_ATTR_BOOL, .i = 1}};
    const gantry_tensor_t *made = NULL;
    size_t one = 1;
    (void)gantry_op_call(net->scope, is_mean ? "AvgPool" : "MaxPool", &x, 1, attrs, is_mean ? 8 : 7,
                         &made, &one);
    return made;
}

/* A border of the image's own elements, or elements between those of its rows and fewer columns. */
static inline const gantry_tensor_t *images_interior(images_net_t *net, const gantry_tensor_t *x) {
    static const int64_t amounts[2][8] = {{0, 0, 0, 0, 1, 2, 0, 1}, {0, 0, 1, 0, 0, 0, -1, 0}},
                         between[] = {0, 0, 1, 0};
    const bool is_edge = gantry_tensor_shape(x)->dims[3] < 2 || images_below(net, 2);
    const gantry_attr_value_t attrs[] = {
        {.name = "mode", .kind = GANTRY_ATTR_STRING, .s = is_edge ? "EDGE" : "CONSTANT"},
        {.name = "crop", .kind = GANTRY_ATTR_BOOL, .i = !is_edge},
        {.name = "interior", .kind = GANTRY_ATTR_INTS, .i = is_edge ? 0 : 4, .list = between}};
    const gantry_tensor_t *inputs[] = {x,
                                       gantry_constant(net->scope, GANTRY_INT64, GANTRY_SHAPE(4, 2),
                                                       amounts[!is_edge], sizeof amounts[0])},
                          *made = NULL;
    size_t one = 1;
    (void)gantry_op_call(net->scope, "Pad", inputs, 2, attrs, is_edge ? 1 : 3, &made, &one);
    return made;
}

static inline const gantry_tensor_t *images_shuffle(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    if (d[1] % 2 != 0) return gantry_relu(net->scope, x);
    const gantry_tensor_t *apart =
        gantry_reshape(net->scope, x, GANTRY_SHAPE(d[0], 2, d[1] / 2, d[2], d[3]));
    return gantry_reshape(net->scope,
                          gantry_transpose(net->scope, apart, (const int32_t[]){0, 2, 1, 3, 4}),
                          *gantry_tensor_shape(x));
}

/* Pixels multiplied in groups and shuffled, or a concat that is shuffled. */
static inline const gantry_tensor_t *images_unit(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_window_options_t options = {.struct_size = sizeof options, .channels_first = true};
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    if (channels % 2 != 0 || images_below(net, 3) == 0)
        return images_shuffle(
            net, gantry_concat(net->scope,
                               (const gantry_tensor_t *const[]){x, images_partner(net, x)}, 2, 1));
    const gantry_tensor_t *filter =
        images_numbers(net, GANTRY_SHAPE(1, 1, channels / 2, 2 + 2 * images_below(net, 4)));
    x = gantry_conv2d(net->scope, x, filter, &options);
    if (images_below(net, 4) > 0) x = images_bias(net, x);
    if (images_below(net, 4) > 0) x = images_constant(net, x);
    if (images_below(net, 4) > 0) x = gantry_relu(net->scope, x);
    return images_shuffle(net, x);
}

/* Squeeze and excite, or another reduction that x is joined with. */
static inline const gantry_tensor_t *images_reduce(images_net_t *net, const gantry_tensor_t *x) {
    static const int32_t axes[][3] = {{2, 3}, {1}, {1, 2, 3}, {0, 2, 3}, {3}, {1, 3}};
    static const size_t counts[] = {2, 1, 3, 3, 1, 2};
    const uint32_t kind = images_below(net, 6);
    const gantry_reduce_options_t over = {.struct_size = sizeof over,
                                          .axes = axes[kind],
                                          .axis_count = counts[kind],
                                          .keep_dims = true};
    const gantry_tensor_t *made = images_below(net, 3) == 0 ? gantry_max(net->scope, x, &over)
                                  : images_below(net, 2)    ? gantry_mean(net->scope, x, &over)
                                                            : gantry_sum(net->scope, x, &over);
    return gantry_sub(net->scope, x, gantry_sigmoid(net->scope, made));
}

static inline const gantry_tensor_t *images_norm(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    const gantry_fused_batch_norm_options_t options = {
        .struct_size = sizeof options, .inference = images_below(net, 2), .channels_first = true};
    const gantry_tensor_t *outputs[3] = {NULL, NULL, NULL}, *vectors[4];
    for (uint32_t i = 0; i < 4; ++i) vectors[i] = images_numbers(net, GANTRY_SHAPE(channels));
    (void)gantry_fused_batch_norm(net->scope, x, vectors[0], vectors[1], vectors[2],
                                  gantry_square(net->scope, vectors[3]), &options, outputs);
    return outputs[0];
}

/* Along the channels, between transposes. */
static inline const gantry_tensor_t *images_softmax(images_net_t *net, const gantry_tensor_t *x) {
    return images_turn(net, gantry_softmax(net->scope, images_turn(net, x, 0, 2, 3, 1)), 0, 3, 1,
                       2);
}

static inline const gantry_tensor_t *images_along(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    gantry_scope_t *s = net->scope;
    switch (images_below(net, 8)) {
        case 0: return gantry_reverse(s, x, (const int32_t[]){1, -1}, 2);
        case 1: return gantry_roll(s, x, (const int64_t[]){1, 2}, (const int32_t[]){1, 3}, 2);
        case 2: return gantry_cumsum(s, x, images_below(net, 2) ? 1 : 2, NULL);
        case 3: return gantry_tile(s, x, (const int64_t[]){1, 1, 1, d[3] < 4 ? 2 : 1});
        case 4: {
            const int32_t places[] = {(int32_t)d[1] - 1, 0};
            return gantry_gather(
                s, x, gantry_constant(s, GANTRY_INT32, GANTRY_SHAPE(2), places, sizeof places), 1);
        }
        case 5: {
            const gantry_tensor_t *at = gantry_cast(s, gantry_argmax(s, x, 1), GANTRY_FLOAT32);
            return gantry_add(s, x, gantry_expand_dims(s, at, 1));
        }
        case 6: return d[2] % 2 == 0 && d[3] % 2 == 0 ? gantry_space_to_depth(s, x, 2, "NCHW") : x;
        default: return d[1] % 4 == 0 ? gantry_depth_to_space(s, x, 2, "NCHW") : x;
    }
}

/* With its places in a row, and back. */
static inline const gantry_tensor_t *images_flat(images_net_t *net, const gantry_tensor_t *x) {
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    const int64_t *d = shape.dims;
    const gantry_tensor_t *flat =
        gantry_reshape(net->scope, x, GANTRY_SHAPE(d[0], d[1], d[2] * d[3]));
    return gantry_reshape(net->scope, gantry_tanh(net->scope, flat), shape);
}

static inline const gantry_tensor_t *images_step(images_net_t *net, const gantry_tensor_t *x) {
    typedef const gantry_tensor_t *step_fn(images_net_t * net, const gantry_tensor_t *x);
    static step_fn *const steps[] = {
        images_convolve, images_convolve,  images_convolve, images_bias,      images_constant,
        images_unary,    images_unary,     images_join,     images_concat,    images_slice,
        images_pad,      images_unit,      images_pool,     images_depthwise, images_reduce,
        images_norm,     images_softmax,   images_along,    images_along,     images_flat,
        images_interior, images_wide_pool, images_shuffle};
    return steps[images_below(net, net->only_windows ? 14 : 23)](net, x);
}

/* ---- the net ---- */

static inline void images_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, void *user) {
    images_net_t *net = user;
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = (const int32_t[]){2, 3}, .axis_count = 2};
    net->state = net->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    net->scope = scope;
    net->pool[0] = inputs[0];
    net->count = 1;
    for (uint32_t steps = 6 + images_below(net, 16); steps > 0; --steps) {
        const gantry_tensor_t *made = images_step(net, images_pick(net));
        if (!made || gantry_tensor_elements(made) == 0 ||
            gantry_tensor_elements(made) > IMAGES_MOST_ELEMENTS || net->count == IMAGES_POOL)
            continue;
        net->pool[net->count++] = made;
    }
    const gantry_tensor_t *last = net->pool[net->count - 1], *picked = images_pick(net);
    outputs[0] = last;
    outputs[1] = gantry_mean(scope, last, &over);
    outputs[2] = gantry_reshape(scope, picked, GANTRY_SHAPE(2, -1));
    outputs[3] = gantry_sum(scope, picked, NULL);
}

static inline gantry_function_t *images_trace(gantry_runtime_t *runtime, images_net_t *net,
                                              uint32_t passes_off) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = passes_off};
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(2, 4, 6, 5)};
    gantry_function_t *function;
    if (gantry_function_trace(runtime, "net", images_body, net, &input, 1, IMAGES_OUTPUTS, &options,
                              &function) != GANTRY_OK)
        fail_msg("net %llu: %s", (unsigned long long)net->seed, gantry_last_message());
    return function;
}

/* How many nodes of a traced function are this op. */
static inline uint32_t images_count(gantry_function_t *function, const char *op) {
    const gantry__graph_t *graph = &planned(function)->graph;
    uint32_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i)
        count += strcmp(graph->nodes[i].op->name, op) == 0;
    return count;
}

typedef struct images_result_t {
    unsigned char *data[IMAGES_OUTPUTS];
    size_t bytes[IMAGES_OUTPUTS];
    uint32_t transposes;
} images_result_t;

static inline images_result_t images_run(gantry_runtime_t *runtime, images_net_t *net,
                                         const char *device, uint32_t passes_off) {
    images_result_t result;
    gantry_function_t *function = images_trace(runtime, net, passes_off);
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    images_net_t numbers = {.state = net->seed, .scope = scope};
    const gantry_tensor_t *x = images_numbers(&numbers, GANTRY_SHAPE(2, 4, 6, 5)),
                          *outputs[IMAGES_OUTPUTS];
    if (gantry_function_call(scope, function, &x, 1, outputs, IMAGES_OUTPUTS) != GANTRY_OK)
        fail_msg("net %llu: %s", (unsigned long long)net->seed, gantry_scope_message(scope));
    for (uint32_t i = 0; i < IMAGES_OUTPUTS; ++i) {
        result.bytes[i] = (size_t)gantry_tensor_elements(outputs[i]) * sizeof(float);
        result.data[i] = malloc(result.bytes[i] + 1);
        assert_non_null(result.data[i]);
        if (gantry_tensor_read(outputs[i], result.data[i], result.bytes[i]) != GANTRY_OK)
            fail_msg("net %llu: %s", (unsigned long long)net->seed, gantry_last_message());
    }
    result.transposes = images_count(function, "Transpose");
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_function_release(function);
    return result;
}

static inline bool images_is_nan(const unsigned char *data, size_t byte) {
    float value;
    memcpy(&value, data + byte / sizeof value * sizeof value, sizeof value);
    return isnan(value);
}

static inline void images_expect_same(const images_net_t *net, uint32_t passes_off,
                                      const images_result_t *a, const images_result_t *b) {
    for (uint32_t i = 0; i < IMAGES_OUTPUTS; ++i) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        for (size_t k = 0; k < a->bytes[i]; ++k) {
            if (a->data[i][k] != b->data[i][k] &&
                !(images_is_nan(a->data[i], k) && images_is_nan(b->data[i], k)))
                fail_msg("net %llu, passes_off 0x%x: output %u differs at byte %zu of %zu",
                         (unsigned long long)net->seed, passes_off, i, k, a->bytes[i]);
        }
    }
}

static inline void images_free(images_result_t *result) {
    for (uint32_t i = 0; i < IMAGES_OUTPUTS; ++i) free(result->data[i]);
}

/* Compares the net with all passes, and with the layout pass only, with the net without them. Adds
 * the transposes of both. */
static inline void images_check(gantry_runtime_t *runtime, const char *device, images_net_t *net,
                                uint32_t *with, uint32_t *without) {
    static const uint32_t off[] = {0, GANTRY_PASS_ALL & ~(uint32_t)GANTRY_PASS_LAYOUT,
                                   GANTRY_PASS_LAYOUT};
    images_result_t plain = images_run(runtime, net, device, GANTRY_PASS_ALL);
    for (uint32_t k = 0; k < sizeof off / sizeof off[0]; ++k) {
        images_result_t got = images_run(runtime, net, device, off[k]);
        images_expect_same(net, off[k], &got, &plain);
        if (k == 0) *with += got.transposes;
        if (k == 2) *without += got.transposes;
        images_free(&got);
    }
    images_free(&plain);
}

#endif
