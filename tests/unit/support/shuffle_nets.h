/* SPDX-License-Identifier: Apache-2.0 */
/* Nets of 16 units like those of ShuffleNet, of both versions, over images whose channels come
 * first, and the comparison of a function of one with the layout pass and without. Header only. */
#ifndef TESTS_SHUFFLE_NETS_H
#define TESTS_SHUFFLE_NETS_H

#include "random_images.h"

enum { SHUFFLE_GROUPS = 3, SHUFFLE_MOST = 1 << 17 };

typedef const gantry_tensor_t *shuffle_body_fn(images_net_t *net, const gantry_tensor_t *x);

/* ---- layers ---- */

/* A bias, or a batch norm of a model that is not trained any more. */
static inline const gantry_tensor_t *shuffle_norm(images_net_t *net, const gantry_tensor_t *x) {
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    if (images_below(net, 2))
        return gantry_add(net->scope, x, images_numbers(net, GANTRY_SHAPE(1, channels, 1, 1)));
    const gantry_fused_batch_norm_options_t options = {
        .struct_size = sizeof options, .inference = true, .channels_first = true};
    const gantry_tensor_t *outputs[3] = {NULL, NULL, NULL}, *vectors[4];
    for (uint32_t i = 0; i < 4; ++i) vectors[i] = images_numbers(net, GANTRY_SHAPE(channels));
    vectors[3] = gantry_add(net->scope, gantry_square(net->scope, vectors[3]),
                            gantry_scalar_f32(net->scope, 1));
    (void)gantry_fused_batch_norm(net->scope, x, vectors[0], vectors[1], vectors[2], vectors[3],
                                  &options, outputs);
    return outputs[0];
}

static inline const gantry_tensor_t *shuffle_convolve(images_net_t *net, const gantry_tensor_t *x,
                                                      int64_t size, int64_t outputs, int64_t groups,
                                                      int64_t step) {
    const gantry_window_options_t options = {
        .struct_size = sizeof options, .strides = {step, step}, .channels_first = true};
    const int64_t channels = gantry_tensor_shape(x)->dims[1] / groups;
    return shuffle_norm(
        net,
        gantry_conv2d(net->scope, x,
                      images_numbers(net, GANTRY_SHAPE(size, size, channels, outputs)), &options));
}

static inline const gantry_tensor_t *shuffle_depthwise(images_net_t *net, const gantry_tensor_t *x,
                                                       int64_t step) {
    const gantry_window_options_t options = {
        .struct_size = sizeof options, .strides = {step, step}, .channels_first = true};
    return shuffle_norm(
        net,
        gantry_depthwise_conv2d(
            net->scope, x,
            images_numbers(net, GANTRY_SHAPE(3, 3, gantry_tensor_shape(x)->dims[1], 1)), &options));
}

static inline const gantry_tensor_t *shuffle_channels(images_net_t *net, const gantry_tensor_t *x,
                                                      int64_t groups) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const gantry_tensor_t *apart =
        gantry_reshape(net->scope, x, GANTRY_SHAPE(d[0], groups, d[1] / groups, d[2], d[3]));
    return gantry_reshape(net->scope,
                          gantry_transpose(net->scope, apart, (const int32_t[]){0, 2, 1, 3, 4}),
                          *gantry_tensor_shape(x));
}

/* Numbers that stay small, as those of a trained net do. */
static inline const gantry_tensor_t *shuffle_end(images_net_t *net, const gantry_tensor_t *x) {
    return gantry_minimum(net->scope, gantry_relu(net->scope, x), gantry_scalar_f32(net->scope, 6));
}

/* ---- units ---- */

/* Grouped pixels, a shuffle, a depthwise convolution, grouped pixels, and what goes around. */
static inline const gantry_tensor_t *shuffle_unit_1(images_net_t *net, const gantry_tensor_t *x,
                                                    int64_t width, int64_t step) {
    const int64_t channels = gantry_tensor_shape(x)->dims[1];
    const gantry_window_options_t pool = {
        .struct_size = sizeof pool, .strides = {2, 2}, .channels_first = true};
    const gantry_tensor_t *y =
        shuffle_end(net, shuffle_convolve(net, x, 1, width / 4, SHUFFLE_GROUPS, 1));
    y = shuffle_depthwise(net, shuffle_channels(net, y, SHUFFLE_GROUPS), step);
    y = shuffle_convolve(net, y, 1, step == 2 ? width - channels : width, SHUFFLE_GROUPS, 1);
    if (step == 1) return shuffle_end(net, gantry_add(net->scope, x, y));
    const gantry_tensor_t *parts[] = {gantry_avg_pool2d(net->scope, x, 3, 3, &pool), y};
    return shuffle_end(net, gantry_concat(net->scope, parts, 2, 1));
}

/* Half of the channels, or all of them twice, through three convolutions; concat, shuffle. */
static inline const gantry_tensor_t *shuffle_unit_2(images_net_t *net, const gantry_tensor_t *x,
                                                    int64_t width, int64_t step) {
    const gantry_tensor_t *parts[2] = {x, x};
    if (step == 1) {
        if (gantry_split(net->scope, x, 1, parts, 2) != GANTRY_OK) return NULL;
    } else {
        parts[0] = shuffle_end(
            net, shuffle_convolve(net, shuffle_depthwise(net, x, 2), 1, width / 2, 1, 1));
    }
    parts[1] = shuffle_end(net, shuffle_convolve(net, parts[1], 1, width / 2, 1, 1));
    parts[1] = shuffle_depthwise(net, parts[1], step);
    parts[1] = shuffle_end(net, shuffle_convolve(net, parts[1], 1, width / 2, 1, 1));
    return shuffle_channels(net, gantry_concat(net->scope, parts, 2, 1), 2);
}

/* ---- nets ---- */

static inline const gantry_tensor_t *shuffle_net(
    images_net_t *net, const gantry_tensor_t *x, const int64_t widths[4],
    const gantry_tensor_t *(*unit)(images_net_t *, const gantry_tensor_t *, int64_t, int64_t)) {
    static const int units[] = {4, 8, 4};
    const gantry_reduce_options_t over = {
        .struct_size = sizeof over, .axes = (const int32_t[]){2, 3}, .axis_count = 2};
    x = shuffle_end(net, shuffle_convolve(net, x, 3, widths[0], 1, 1));
    for (int stage = 0; stage < 3; ++stage) {
        for (int i = 0; i < units[stage]; ++i) x = unit(net, x, widths[stage + 1], i == 0 ? 2 : 1);
    }
    return gantry_mean(net->scope, x, &over);
}

static inline const gantry_tensor_t *shuffle_net_1(images_net_t *net, const gantry_tensor_t *x) {
    static const int64_t widths[] = {12, 24, 48, 96};
    return shuffle_net(net, x, widths, shuffle_unit_1);
}

static inline const gantry_tensor_t *shuffle_net_2(images_net_t *net, const gantry_tensor_t *x) {
    static const int64_t widths[] = {8, 20, 40, 80};
    return shuffle_net(net, x, widths, shuffle_unit_2);
}

/* ---- with the pass and without ---- */

typedef struct shuffle_case_t {
    shuffle_body_fn *body;
    gantry_shape_t shape; /* of the images */
    const char *device;
    gantry_function_t *functions[2]; /* with the pass, and without */
} shuffle_case_t;

static inline void shuffle_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                const gantry_tensor_t **outputs, void *user) {
    const shuffle_case_t *of = user;
    images_net_t net = {.state = 5, .scope = scope};
    outputs[0] = of->body(&net, inputs[0]);
}

/* Traces both functions, and compares the bits of their results. The caller must end the case. */
static inline void shuffle_check(gantry_runtime_t *runtime, shuffle_case_t *of) {
    static float results[2][SHUFFLE_MOST];
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, of->shape};
    gantry_scope_t *scope = gantry_scope_begin(runtime, of->device);
    images_net_t numbers = {.state = 9, .scope = scope};
    const gantry_tensor_t *x = images_numbers(&numbers, of->shape), *y;
    for (uint32_t k = 0; k < 2; ++k) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .passes_off = k == 0 ? 0 : GANTRY_PASS_LAYOUT};
        if (gantry_function_trace(runtime, "f", shuffle_body, of, &input, 1, 1, &options,
                                  &of->functions[k]) != GANTRY_OK ||
            gantry_function_call(scope, of->functions[k], &x, 1, &y, 1) != GANTRY_OK)
            fail_msg("%s; %s", gantry_last_message(), gantry_scope_message(scope));
        assert_true(gantry_tensor_bytes(y) <= sizeof results[k]);
        if (gantry_tensor_read(y, results[k], gantry_tensor_bytes(y)) != GANTRY_OK)
            fail_msg("%s", gantry_last_message());
    }
    assert_memory_equal(results[0], results[1], gantry_tensor_bytes(y));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* How many nodes of the function with the pass are this op. */
static inline uint32_t shuffle_count(const shuffle_case_t *of, const char *op) {
    return images_count(of->functions[0], op);
}

static inline void shuffle_end_case(shuffle_case_t *of) {
    for (uint32_t k = 0; k < 2; ++k) gantry_function_release(of->functions[k]);
}

/* The net on the device: at most four transposes. */
static inline void shuffle_check_net(gantry_runtime_t *runtime, const char *device,
                                     shuffle_body_fn *body) {
    shuffle_case_t of = {.body = body, .shape = GANTRY_SHAPE(2, 3, 9, 11), .device = device};
    shuffle_check(runtime, &of);
    const uint32_t with = shuffle_count(&of, "Transpose"),
                   without = images_count(of.functions[1], "Transpose");
    print_message("%u transposes, %u without the pass\n", with, without);
    assert_true(with <= 4 && without >= 48);
    shuffle_end_case(&of);
}

#endif
