/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions. Images of three spatial dimensions are convolved plane by plane: the result at a
 * depth is the sum over the filter's depths of a convolution of planes. */
#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/fold.h"
#include "onnx/lower/window.h"

typedef const gantry_tensor_t tensor;

/* ---- filters, made once for a model ---- */

/* Keys of prepared filters. */
enum { PLAIN_FILTER, DEPTHWISE_FILTER, VOLUME_FILTER, DEPTHWISE_VOLUME_FILTER };

/* [outputs, channels, (depth,) rows, columns], with channels 1 if it is depthwise, to
 * [depth, rows, columns, channels, outputs] or [depth, rows, columns, channels, outputs of one]. */
static tensor *volume_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w,
                             bool is_depthwise) {
    const gantry_shape_t *shape = gantry_tensor_shape(w);
    const int64_t *d = shape->dims, one = 1;
    const int64_t depth = shape->rank == 5 ? d[2] : one;
    const int64_t rows = shape->rank > 3 ? d[shape->rank - 2] : one;
    const int64_t columns = d[shape->rank - 1];
    const int64_t groups = gantry__onnx_attr_int(call, "group", 1);
    w = gantry__onnx_folded_filter(call, scope, w, 0);
    if (is_depthwise)
        return gantry_transpose(
            scope,
            gantry_reshape(scope, w, GANTRY_SHAPE(groups, d[0] / groups, depth, rows, columns)),
            (const int32_t[]){2, 3, 4, 0, 1});
    return gantry_transpose(
        scope, gantry_reshape(scope, w, GANTRY_SHAPE(d[0], d[1], depth, rows, columns)),
        (const int32_t[]){2, 3, 4, 1, 0});
}

static tensor *make_volume_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    return volume_filter(call, scope, w, false);
}

static tensor *make_depthwise_volume_filter(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                            tensor *w) {
    return volume_filter(call, scope, w, true);
}

/* The same without its depth of 1. */
static tensor *make_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    return gantry_squeeze(scope, volume_filter(call, scope, w, false), (const int32_t[]){0}, 1);
}

static tensor *make_depthwise_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    return gantry_squeeze(scope, volume_filter(call, scope, w, true), (const int32_t[]){0}, 1);
}

/* ---- one convolution ---- */

typedef struct conv_parts_t {
    gantry__onnx_window_t window;
    int64_t groups, channels, outputs; /* channels and outputs: of a group */
    bool is_depthwise;
} conv_parts_t;

static gantry_status_t read_conv(gantry__onnx_call_t *call, conv_parts_t *conv) {
    tensor *x = gantry__onnx_input(call, 0), *w = gantry__onnx_input(call, 1);
    const gantry_shape_t *images = gantry_tensor_shape(x), *filter = gantry_tensor_shape(w);
    const int64_t groups = gantry__onnx_attr_int(call, "group", 1);
    if (filter->rank != images->rank)
        return gantry__onnx_invalid(call, "images of %d and a filter of %d dimensions",
                                    (int)images->rank, (int)filter->rank);
    GANTRY__TRY(gantry__onnx_need_shape(call, w));
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, filter->dims + 2, &conv->window));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, &conv->window));
    GANTRY__TRY(gantry__onnx_check_reach(call, &conv->window, false));
    if (images->dims[1] < 0) GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (groups < 1 || filter->dims[0] % groups != 0 || filter->dims[1] > images->dims[1] ||
        images->dims[1] != filter->dims[1] * groups)
        return gantry__onnx_invalid(
            call, "%lld channels with %lld groups, for a filter of %lld outputs and %lld channels",
            (long long)images->dims[1], (long long)groups, (long long)filter->dims[0],
            (long long)filter->dims[1]);
    conv->groups = groups;
    conv->channels = filter->dims[1];
    conv->outputs = filter->dims[0] / groups;
    conv->is_depthwise = groups > 1 && filter->dims[1] == 1;
    return gantry__onnx_check_bias(call, 2, filter->dims[0]);
}

/* So many groups of windows of several pixels are convolved one by one: Gantry's op makes columns
 * of all windows for them, which takes two to three times as long on the CPU. */
#define LEAST_SPLIT 4
#define MOST_SPLIT 64

static bool splits_groups(const conv_parts_t *conv) {
    return !conv->is_depthwise && conv->groups >= LEAST_SPLIT && conv->groups <= MOST_SPLIT &&
           conv->window.kernel[1] * conv->window.kernel[2] > 1;
}

static tensor *conv_planes(gantry__onnx_call_t *call, const conv_parts_t *conv, tensor *x,
                           tensor *filter) {
    const gantry_window_options_t options = gantry__onnx_plane_options(&conv->window);
    tensor *parts[MOST_SPLIT];
    if (conv->is_depthwise) return gantry_depthwise_conv2d(call->scope, x, filter, &options);
    if (!splits_groups(conv)) return gantry_conv2d(call->scope, x, filter, &options);
    for (int64_t i = 0; i < conv->groups; ++i)
        parts[i] = gantry_conv2d(
            call->scope, gantry__onnx_part(call, x, 1, i * conv->channels, conv->channels),
            gantry__onnx_part(call, filter, 3, i * conv->outputs, conv->outputs), &options);
    return gantry__onnx_concat(call, parts, (size_t)conv->groups, 1);
}

/* ---- volumes ---- */

static tensor *plane_filter(gantry__onnx_call_t *call, tensor *filter, int64_t depth) {
    const int64_t *d = gantry_tensor_shape(filter)->dims;
    const int64_t begin[5] = {depth}, size[5] = {1, d[1], d[2], d[3], d[4]};
    return gantry_squeeze(call->scope, gantry_slice(call->scope, filter, begin, size),
                          (const int32_t[]){0}, 1);
}

/* The planes of [batch, depth, ...] that depth k of a window meets, as a batch. */
static tensor *planes_at(gantry__onnx_call_t *call, const gantry__onnx_window_t *window, tensor *x,
                         int64_t k, int64_t count) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const int64_t first = k * window->dilations[0];
    const int64_t begin[5] = {0, first}, step[5] = {1, window->strides[0], 1, 1, 1};
    const int64_t end[5] = {d[0], first + (count - 1) * window->strides[0] + 1, d[2], d[3], d[4]};
    return gantry_reshape(call->scope,
                          gantry_strided_slice(call->scope, x, begin, end, step, 5, NULL),
                          GANTRY_SHAPE(d[0] * count, d[2], d[3], d[4]));
}

static gantry_status_t conv_volumes(gantry__onnx_call_t *call, const conv_parts_t *conv) {
    const gantry__onnx_window_t *window = &conv->window;
    tensor *x = gantry__onnx_input(call, 0), *sum = NULL;
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int64_t count = gantry__onnx_window_count(window, 0, false);
    const int64_t batch = gantry_tensor_shape(x)->dims[0];
    if (count < 1)
        return gantry__onnx_invalid(call, "a depth of %lld is less than the filter's",
                                    (long long)window->size[0]);
    tensor *filter =
        conv->is_depthwise
            ? gantry__onnx_prepared(call, 1, DEPTHWISE_VOLUME_FILTER, make_depthwise_volume_filter)
            : gantry__onnx_prepared(call, 1, VOLUME_FILTER, make_volume_filter);
    const int64_t paddings[10] = {0, 0, 0, 0, window->begin[0], window->end[0]};
    if (window->begin[0] != 0 || window->end[0] != 0)
        x = gantry_pad(call->scope, x, paddings, NULL);
    x = gantry_transpose(call->scope, x, (const int32_t[]){0, 2, 1, 3, 4});
    for (int64_t k = 0; k < window->kernel[0] && x && filter; ++k) {
        tensor *part = conv_planes(call, conv, planes_at(call, window, x, k, count),
                                   plane_filter(call, filter, k));
        sum = sum ? gantry_add(call->scope, sum, part) : part;
    }
    sum = gantry__onnx_add_bias(call, sum, gantry__onnx_folded_bias(call));
    if (!sum) return gantry__onnx_give(call, NULL);
    const int64_t *d = gantry_tensor_shape(sum)->dims;
    sum = gantry_reshape(call->scope, sum, GANTRY_SHAPE(batch, count, d[1], d[2], d[3]));
    return gantry__onnx_give(call,
                             gantry_transpose(call->scope, sum, (const int32_t[]){0, 2, 1, 3, 4}));
}

gantry_status_t gantry__onnx_lower_conv(gantry__onnx_call_t *call) {
    bool is_joined = false;
    GANTRY__TRY(gantry__onnx_join_quantized(call, GANTRY__ONNX_JOINED_CONV, &is_joined));
    if (is_joined) return GANTRY_OK;
    conv_parts_t conv;
    GANTRY__TRY(read_conv(call, &conv));
    if (conv.window.rank == 3) return conv_volumes(call, &conv);
    tensor *filter = conv.is_depthwise
                         ? gantry__onnx_prepared(call, 1, DEPTHWISE_FILTER, make_depthwise_filter)
                         : gantry__onnx_prepared(call, 1, PLAIN_FILTER, make_filter);
    tensor *x = gantry__onnx_to_planes(call, gantry__onnx_input(call, 0), &conv.window);
    tensor *y = gantry__onnx_add_bias(call, conv_planes(call, &conv, x, filter),
                                      gantry__onnx_folded_bias(call));
    return gantry__onnx_give(call, gantry__onnx_from_planes(call, y, &conv.window));
}
