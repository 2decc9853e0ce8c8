/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions, and what else puts windows back into images: MaxUnpool and Col2Im. */
#include <string.h>

#include "onnx/lower/fold.h"
#include "onnx/lower/window.h"

typedef const gantry_tensor_t tensor;

/* ---- ConvTranspose ---- */

/* A transposed convolution. The whole result has (size - 1) * stride + reach elements, of which
 * begin and end are cut. Below 0, that many zeros are added in place. */
typedef struct unconv_t {
    gantry__onnx_window_t window;
    int64_t add_begin[GANTRY__ONNX_MOST_SPATIAL], add_end[GANTRY__ONNX_MOST_SPATIAL];
    int64_t count[GANTRY__ONNX_MOST_SPATIAL]; /* Of the result before zeros are added. */
    int64_t outputs, groups;
    bool is_padded;
} unconv_t;

static gantry_status_t read_output_list(gantry__onnx_call_t *call, const char *name, int32_t rank,
                                        const int64_t **out_list) {
    size_t count;
    const int64_t *given = gantry__onnx_attr_ints(call, name, &count);
    *out_list = given;
    if (!given || count == (size_t)rank) return GANTRY_OK;
    *out_list = given + 2; /* Old files have the batch and the channels in front. */
    if (count == (size_t)rank + 2) return GANTRY_OK;
    return gantry__onnx_invalid(call, "%s has %zu numbers for %d spatial dimensions", name, count,
                                (int)rank);
}

/* What is cut from the whole result: pads, or what it has more than a wanted size. A larger size
 * that output_shape wants gets zeros at its end; auto_pad wants none. */
static gantry_status_t read_cuts(gantry__onnx_call_t *call, tensor *x, unconv_t *unconv) {
    gantry__onnx_window_t *window = &unconv->window;
    const char *auto_pad = gantry__onnx_attr_text(call, "auto_pad", "NOTSET");
    const bool is_upper = strcmp(auto_pad, "SAME_UPPER") == 0;
    const bool is_same = is_upper || strcmp(auto_pad, "SAME_LOWER") == 0;
    const int64_t *wanted, *added;
    GANTRY__TRY(read_output_list(call, "output_shape", window->rank, &wanted));
    GANTRY__TRY(read_output_list(call, "output_padding", window->rank, &added));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, window));
    const int32_t first = GANTRY__ONNX_MOST_SPATIAL - window->rank;
    for (int32_t i = first; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        const int64_t whole =
            (window->size[i] - 1) * window->strides[i] + gantry__onnx_window_reach(window, i);
        const int64_t more = added ? added[i - first] : 0;
        if (more < 0 || more > INT32_MAX || (wanted && wanted[i - first] < 0))
            return gantry__onnx_invalid(
                call,
                "output_padding or output_shape has a negative size, or one that is too large");
        if (wanted || is_same) {
            const int64_t size = wanted ? wanted[i - first] : window->size[i] * window->strides[i];
            const int64_t over = whole + more - size, cut = over > 0 ? over : 0;
            window->begin[i] = is_upper ? cut / 2 : cut - cut / 2;
            window->end[i] = (wanted ? over : cut) - window->begin[i];
        }
        window->end[i] -= more;
    }
    return GANTRY_OK;
}

/* Splits cuts below 0 from the others. */
static gantry_status_t split_cuts(gantry__onnx_call_t *call, unconv_t *unconv) {
    gantry__onnx_window_t *window = &unconv->window;
    for (int32_t i = 0; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        int64_t *cuts[] = {&window->begin[i], &window->end[i]};
        int64_t *adds[] = {&unconv->add_begin[i], &unconv->add_end[i]};
        for (int32_t k = 0; k < 2; ++k) {
            *adds[k] = *cuts[k] < 0 ? -*cuts[k] : 0;
            if (*cuts[k] < 0) *cuts[k] = 0;
            unconv->is_padded = unconv->is_padded || *adds[k] > 0;
        }
        unconv->count[i] = (window->size[i] - 1) * window->strides[i] +
                           gantry__onnx_window_reach(window, i) - window->begin[i] - window->end[i];
        if (unconv->count[i] < 0)
            return gantry__onnx_invalid(call, "pads %lld and %lld cut more than the result has",
                                        (long long)window->begin[i], (long long)window->end[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t read_unconv(gantry__onnx_call_t *call, unconv_t *unconv) {
    tensor *x = gantry__onnx_input(call, 0), *w = gantry__onnx_input(call, 1);
    const gantry_shape_t *images = gantry_tensor_shape(x), *filter = gantry_tensor_shape(w);
    *unconv = (unconv_t){.groups = gantry__onnx_attr_int(call, "group", 1)};
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(gantry__onnx_need_shape(call, w));
    if (filter->rank != images->rank || images->rank < 3 || unconv->groups < 1 ||
        filter->dims[0] != images->dims[1] || filter->dims[0] % unconv->groups != 0)
        return gantry__onnx_invalid(
            call,
            "images of %d dimensions with %lld channels in %lld groups, and a filter of %d "
            "dimensions, the first of which is %lld",
            (int)images->rank, (long long)images->dims[1], (long long)unconv->groups,
            (int)filter->rank, (long long)filter->dims[0]);
    unconv->outputs = filter->dims[1] * unconv->groups;
    GANTRY__TRY(gantry__onnx_check_bias(call, 2, unconv->outputs));
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, filter->dims + 2, &unconv->window));
    GANTRY__TRY(read_cuts(call, x, unconv));
    return split_cuts(call, unconv);
}

/* [channels, outputs, (depth,) rows, columns] to [depth, rows, columns, outputs, channels]. */
static tensor *make_unconv_filter(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *w) {
    const gantry_shape_t *shape = gantry_tensor_shape(w);
    const int64_t *d = shape->dims;
    w = gantry__onnx_folded_filter(call, scope, w, 1);
    return gantry_transpose(
        scope,
        gantry_reshape(scope, w,
                       GANTRY_SHAPE(d[0], d[1], shape->rank == 5 ? d[2] : 1,
                                    shape->rank > 3 ? d[shape->rank - 2] : 1, d[shape->rank - 1])),
        (const int32_t[]){2, 3, 4, 1, 0});
}

/* A filter of its own for each channel: the gradient of a depthwise convolution's input. */
static tensor *unconv_depthwise(gantry__onnx_call_t *call, const unconv_t *unconv, tensor *x,
                                tensor *filter) {
    const gantry__onnx_window_t *window = &unconv->window;
    const int64_t
        strides[] = {1, 1, window->strides[1], window->strides[2]},
        dilations[] = {1, 1, window->dilations[1], window->dilations[2]},
        paddings[] = {
            0, 0, 0, 0, window->begin[1], window->end[1], window->begin[2], window->end[2]};
    const gantry_attr_value_t attrs[] = {GANTRY__ONNX_INTS_OF("strides", strides, 4),
                                         GANTRY__ONNX_INTS_OF("dilations", dilations, 4),
                                         GANTRY__ONNX_INTS_OF("explicit_paddings", paddings, 8),
                                         GANTRY__ONNX_TEXT_OF("padding", "EXPLICIT"),
                                         GANTRY__ONNX_TEXT_OF("data_format", "NCHW")};
    const int64_t sizes[] = {gantry_tensor_shape(x)->dims[0], unconv->outputs, unconv->count[1],
                             unconv->count[2]};
    tensor *const inputs[] = {
        gantry__onnx_make_ints(call, GANTRY_INT32, sizes, 4),
        gantry_reshape(call->scope, filter,
                       GANTRY_SHAPE(window->kernel[1], window->kernel[2], unconv->groups, 1)),
        x};
    return gantry__onnx_op(call, "DepthwiseConv2dNativeBackpropInput", inputs, 3, attrs, 5);
}

/* One plane operation for each group, whose results are joined by channels. filter is [rows,
 * columns, outputs of a group, channels]. */
static tensor *unconv_planes(gantry__onnx_call_t *call, const unconv_t *unconv, tensor *x,
                             tensor *filter) {
    const gantry_window_options_t options = gantry__onnx_plane_options(&unconv->window);
    const int64_t groups = unconv->groups;
    if (!x || !filter) return NULL;
    const int64_t batch = gantry_tensor_shape(x)->dims[0],
                  channels = gantry_tensor_shape(x)->dims[1] / groups;
    const gantry_shape_t shape =
        GANTRY_SHAPE(batch, unconv->outputs / groups, unconv->count[1], unconv->count[2]);
    if (groups > 1 && channels == 1 && unconv->outputs == groups)
        return unconv_depthwise(call, unconv, x, filter);
    if (groups == 1) return gantry_conv2d_transpose(call->scope, x, filter, shape, &options);
    tensor **parts = gantry__onnx_scratch(call, (size_t)groups, sizeof *parts);
    if (!parts) return NULL;
    for (int64_t i = 0; i < groups; ++i)
        parts[i] = gantry_conv2d_transpose(
            call->scope, gantry__onnx_part(call, x, 1, i * channels, channels),
            gantry__onnx_part(call, filter, 3, i * channels, channels), shape, &options);
    return gantry__onnx_concat(call, parts, (size_t)groups, 1);
}

/* Adds the zeros of cuts below 0; the depth is the first spatial dimension. */
static tensor *add_cut_zeros(gantry__onnx_call_t *call, const unconv_t *unconv, tensor *y,
                             int32_t first, int32_t at) {
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
    if (!unconv->is_padded) return y;
    for (int32_t i = first; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        paddings[2 * (at + i - first)] = unconv->add_begin[i];
        paddings[2 * (at + i - first) + 1] = unconv->add_end[i];
    }
    return gantry_pad(call->scope, y, paddings, NULL);
}

/* Depth k of the filter puts the planes of depth d to depth d * stride + k * dilation. */
static tensor *unconv_volumes(gantry__onnx_call_t *call, const unconv_t *unconv, tensor *filter) {
    const gantry__onnx_window_t *window = &unconv->window;
    const int64_t *d = gantry_tensor_shape(gantry__onnx_input(call, 0))->dims, *f;
    const int64_t last = (window->kernel[0] - 1) * window->dilations[0];
    tensor *sum = NULL;
    tensor *planes = gantry_reshape(call->scope,
                                    gantry_transpose(call->scope, gantry__onnx_input(call, 0),
                                                     (const int32_t[]){0, 2, 1, 3, 4}),
                                    GANTRY_SHAPE(d[0] * d[2], d[1], d[3], d[4]));
    if (!filter) return NULL;
    f = gantry_tensor_shape(filter)->dims;
    for (int64_t k = 0; k < window->kernel[0]; ++k) {
        const int64_t place = k * window->dilations[0];
        const int64_t paddings[10] = {0, 0, place, last - place},
                      interior[5] = {0, window->strides[0] - 1};
        const gantry_pad_options_t options = {.struct_size = sizeof options, .interior = interior};
        tensor *part =
            unconv_planes(call, unconv, planes,
                          gantry_reshape(call->scope, gantry__onnx_part(call, filter, 0, k, 1),
                                         GANTRY_SHAPE(f[1], f[2], f[3], f[4])));
        part = gantry_pad(call->scope,
                          gantry_reshape(call->scope, part,
                                         GANTRY_SHAPE(d[0], d[2], unconv->outputs, unconv->count[1],
                                                      unconv->count[2])),
                          paddings, &options);
        sum = sum ? gantry_add(call->scope, sum, part) : part;
    }
    sum = gantry__onnx_part(call, sum, 1, window->begin[0], unconv->count[0]);
    return gantry_transpose(call->scope, sum, (const int32_t[]){0, 2, 1, 3, 4});
}

/* The bias of volumes, in their form. */
static tensor *volume_bias(gantry__onnx_call_t *call, tensor *bias) {
    if (!bias) return NULL;
    const int64_t outputs = gantry_tensor_shape(bias)->dims[0];
    return gantry_reshape(call->scope, bias, GANTRY_SHAPE(1, outputs, 1, 1, 1));
}

gantry_status_t gantry__onnx_lower_conv_transpose(gantry__onnx_call_t *call) {
    unconv_t unconv;
    GANTRY__TRY(read_unconv(call, &unconv));
    tensor *filter = gantry__onnx_prepared(call, 1, 0, make_unconv_filter);
    tensor *bias = gantry__onnx_folded_bias(call);
    if (unconv.window.rank == 3) {
        tensor *y = add_cut_zeros(call, &unconv, unconv_volumes(call, &unconv, filter), 0, 2);
        tensor *shift = volume_bias(call, bias);
        return gantry__onnx_give(call, shift ? gantry_add(call->scope, y, shift) : y);
    }
    tensor *x = gantry__onnx_to_planes(call, gantry__onnx_input(call, 0), &unconv.window);
    filter = gantry_squeeze(call->scope, filter, (const int32_t[]){0}, 1);
    tensor *y = add_cut_zeros(call, &unconv, unconv_planes(call, &unconv, x, filter), 1, 2);
    return gantry__onnx_give(
        call, gantry__onnx_from_planes(call, gantry__onnx_add_bias(call, y, bias), &unconv.window));
}

/* ---- MaxUnpool ---- */

gantry_status_t gantry__onnx_lower_max_unpool(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    gantry__onnx_window_t window;
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
    const int64_t *wanted = NULL;
    size_t count;
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (!gantry_shape_equal(gantry_tensor_shape(x),
                            gantry_tensor_shape(gantry__onnx_input(call, 1))))
        return gantry__onnx_invalid(call, "X and I have different shapes; equal ones are accepted");
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, NULL, &window));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, &window));
    if (gantry__onnx_input(call, 2))
        GANTRY__TRY(gantry__onnx_get_ints(call, 2, "output_shape", &wanted, &count));
    gantry_shape_t shape = *gantry_tensor_shape(x);
    const int32_t first = GANTRY__ONNX_MOST_SPATIAL - window.rank;
    for (int32_t i = first; i < GANTRY__ONNX_MOST_SPATIAL; ++i)
        shape.dims[2 + i - first] = (window.size[i] - 1) * window.strides[i] + window.kernel[i] -
                                    window.begin[i] - window.end[i];
    const int64_t places = gantry_shape_elements(&shape);
    if (places < 0) return gantry__onnx_invalid(call, "pads cut more than the result has");
    if (wanted && count != (size_t)shape.rank)
        return gantry__onnx_invalid(call, "output_shape has %zu sizes for %d dimensions", count,
                                    (int)shape.rank);
    for (int32_t i = 0; wanted && i < shape.rank; ++i) {
        const int64_t least = shape.dims[i];
        if (i < 2 ? wanted[i] != least : wanted[i] < least)
            return gantry__onnx_invalid(call, "output_shape has %lld at %d; %lld is %s",
                                        (long long)wanted[i], (int)i, (long long)least,
                                        i < 2 ? "accepted" : "the least");
        paddings[2 * i + 1] = wanted[i] - shape.dims[i];
    }
    const int64_t from = gantry_tensor_elements(x);
    tensor *y = gantry_tensor_scatter_update(
        call->scope, gantry_zeros(call->scope, gantry_tensor_dtype(x), GANTRY_SHAPE(places)),
        gantry__onnx_reshape(call, gantry__onnx_input(call, 1), GANTRY_SHAPE(from, 1)),
        gantry__onnx_reshape(call, x, GANTRY_SHAPE(from)));
    y = gantry_reshape(call->scope, y, shape);
    const gantry_pad_options_t options = {.struct_size = sizeof options, .crop = true};
    return gantry__onnx_give(call, wanted ? gantry_pad(call->scope, y, paddings, &options) : y);
}
