/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolutions and pools, by TensorFlow's ops for them. Each takes the attributes of
 * the op itself. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static tensor *rule_window_shape_of(gantry__rule_call_t *c, tensor *x) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (gantry__rule_open_sizes(x) > 0) return gantry_shape(c->scope, x, GANTRY_INT32);
    return gantry__rule_host_ints(c, shape->dims, (size_t)shape->rank);
}

static tensor *call(gantry__rule_call_t *c, const char *op, tensor *first, tensor *second,
                    tensor *third) {
    return gantry__rule_op(c, op, (tensor *[]){first, second, third}, third ? 3 : 2,
                           c->record->attrs, c->record->attr_count);
}

/* The filter's gradient must come first, because it is the last to use the input, whose memory is
 * free then. */
static void convolution(gantry__rule_call_t *c, const char *of_input, const char *of_filter) {
    tensor *input = c->x[0], *filter = c->x[1], *dy = c->dy[0];
    if (c->wants[1]) c->dx[1] = call(c, of_filter, input, rule_window_shape_of(c, filter), dy);
    if (c->wants[0]) c->dx[0] = call(c, of_input, rule_window_shape_of(c, input), filter, dy);
}

static void rule_conv_2d(gantry__rule_call_t *c) {
    convolution(c, "Conv2DBackpropInput", "Conv2DBackpropFilter");
}

static void rule_depthwise(gantry__rule_call_t *c) {
    convolution(c, "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter");
}

/* Conv2DBackpropInput(input_sizes, filter, out_backprop) is linear in both. */
static void rule_conv_2d_backprop_input(gantry__rule_call_t *c) {
    tensor *filter = c->x[1], *backprop = c->x[2], *dy = c->dy[0];
    if (c->wants[1])
        c->dx[1] = call(c, "Conv2DBackpropFilter", dy, rule_window_shape_of(c, filter), backprop);
    if (c->wants[2]) c->dx[2] = call(c, "Conv2D", dy, filter, NULL);
}

/* Conv2DBackpropFilter(input, filter_sizes, out_backprop) likewise. */
static void rule_conv_2d_backprop_filter(gantry__rule_call_t *c) {
    tensor *input = c->x[0], *backprop = c->x[2], *dy = c->dy[0];
    if (c->wants[0])
        c->dx[0] = call(c, "Conv2DBackpropInput", rule_window_shape_of(c, input), dy, backprop);
    if (c->wants[2]) c->dx[2] = call(c, "Conv2D", input, dy, NULL);
}

/* Conv2DTranspose(input, filter, output_shape) is Conv2DBackpropInput of input. */
static void rule_conv_2d_transpose(gantry__rule_call_t *c) {
    tensor *input = c->x[0], *filter = c->x[1], *dy = c->dy[0];
    if (c->wants[0]) c->dx[0] = call(c, "Conv2D", dy, filter, NULL);
    if (c->wants[1])
        c->dx[1] = call(c, "Conv2DBackpropFilter", dy, rule_window_shape_of(c, filter), input);
}

/* The gradients of depthwise convolutions are linear in both, too. */
static void rule_depthwise_backprop_input(gantry__rule_call_t *c) {
    tensor *filter = c->x[1], *backprop = c->x[2], *dy = c->dy[0];
    if (c->wants[1])
        c->dx[1] = call(c, "DepthwiseConv2dNativeBackpropFilter", dy,
                        rule_window_shape_of(c, filter), backprop);
    if (c->wants[2]) c->dx[2] = call(c, "DepthwiseConv2dNative", dy, filter, NULL);
}

static void rule_depthwise_backprop_filter(gantry__rule_call_t *c) {
    tensor *input = c->x[0], *backprop = c->x[2], *dy = c->dy[0];
    if (c->wants[0])
        c->dx[0] = call(c, "DepthwiseConv2dNativeBackpropInput", rule_window_shape_of(c, input), dy,
                        backprop);
    if (c->wants[2]) c->dx[2] = call(c, "DepthwiseConv2dNative", input, dy, NULL);
}

static void rule_max_pool(gantry__rule_call_t *c) {
    c->dx[0] = call(c, "MaxPoolGrad", c->x[0], c->y[0], c->dy[0]);
}

static void rule_max_pool_with_argmax(gantry__rule_call_t *c) {
    static const char *const attrs[] = {"ksize",       "strides",   "padding",  "explicit_paddings",
                                        "data_format", "dilations", "ceil_mode"};
    c->dx[0] = gantry__rule_again(c, "MaxPoolGrad", (tensor *[4]){c->x[0], c->y[0], c->dy[0]},
                                  attrs, GANTRY__RULE_COUNT(attrs));
}

/* Inputs: MaxPool's input and output, which choose the elements, and their gradient. What is
 * chosen does not change: zeros, as in TensorFlow. */
static void rule_of_choices(gantry__rule_call_t *c, const char *op) {
    for (int i = 0; i < 2; ++i)
        if (c->wants[i]) c->dx[i] = gantry_zeros_like(c->scope, c->x[i]);
    if (c->wants[2]) c->dx[2] = call(c, op, c->x[0], c->x[1], c->dy[0]);
}

static void rule_max_pool_grad(gantry__rule_call_t *c) { rule_of_choices(c, "MaxPoolGradGrad"); }

static void rule_max_pool_grad_grad(gantry__rule_call_t *c) { rule_of_choices(c, "MaxPoolGrad"); }

static void rule_avg_pool(gantry__rule_call_t *c) {
    c->dx[0] = call(c, "AvgPoolGrad", rule_window_shape_of(c, c->x[0]), c->dy[0], NULL);
}

/* AvgPoolGrad(orig_input_shape, grad) is linear in grad. */
static void rule_avg_pool_grad(gantry__rule_call_t *c) {
    if (c->wants[1])
        c->dx[1] = gantry__rule_op(c, "AvgPool", c->dy, 1, c->record->attrs, c->record->attr_count);
}

const gantry__rule_t gantry__rules_window[] = {
    {"AvgPool", rule_avg_pool},
    {"AvgPoolGrad", rule_avg_pool_grad},
    {"Conv2D", rule_conv_2d},
    {"Conv2DBackpropFilter", rule_conv_2d_backprop_filter},
    {"Conv2DBackpropInput", rule_conv_2d_backprop_input},
    {"Conv2DTranspose", rule_conv_2d_transpose},
    {"DepthwiseConv2dNative", rule_depthwise},
    {"DepthwiseConv2dNativeBackpropFilter", rule_depthwise_backprop_filter},
    {"DepthwiseConv2dNativeBackpropInput", rule_depthwise_backprop_input},
    {"MaxPool", rule_max_pool},
    {"MaxPoolGrad", rule_max_pool_grad},
    {"MaxPoolGradGrad", rule_max_pool_grad_grad},
    {"MaxPoolWithArgmax", rule_max_pool_with_argmax},
    {NULL, NULL}};
