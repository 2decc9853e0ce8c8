/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/window.h"

#include <string.h>

typedef const gantry_tensor_t tensor;

int64_t gantry__onnx_window_reach(const gantry__onnx_window_t *window, int32_t i) {
    return (window->kernel[i] - 1) * window->dilations[i] + 1;
}

int64_t gantry__onnx_window_count(const gantry__onnx_window_t *window, int32_t i, bool ceil_mode) {
    const int64_t stride = window->strides[i];
    const int64_t room = window->size[i] + window->begin[i] + window->end[i] -
                         gantry__onnx_window_reach(window, i) + (ceil_mode ? stride - 1 : 0);
    if (room < 0) return 0;
    int64_t count = room / stride + 1;
    /* A window that begins in the padding after the image does not count. */
    if (ceil_mode && (count - 1) * stride >= window->size[i] + window->begin[i]) --count;
    return count;
}

/* Copies the numbers of an attribute, or fallback, to the last dimensions of to. */
static gantry_status_t read_spatial(gantry__onnx_call_t *call, const char *name, int64_t least,
                                    const gantry__onnx_window_t *window, int64_t *to) {
    size_t count;
    const int64_t *given = gantry__onnx_attr_ints(call, name, &count);
    const int32_t first = GANTRY__ONNX_MOST_SPATIAL - window->rank;
    for (int32_t i = 0; i < GANTRY__ONNX_MOST_SPATIAL; ++i) to[i] = 1;
    if (!given) return GANTRY_OK;
    if (count != (size_t)window->rank)
        return gantry__onnx_invalid(call, "%s has %zu numbers for %d spatial dimensions", name,
                                    count, (int)window->rank);
    for (size_t i = 0; i < count; ++i) {
        if (given[i] < least || given[i] > INT32_MAX)
            return gantry__onnx_invalid(call, "%s has %lld; accepted are %lld to %d", name,
                                        (long long)given[i], (long long)least, INT32_MAX);
        to[(size_t)first + i] = given[i];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_read_kernel(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         const int64_t *kernel, gantry__onnx_window_t *window) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    size_t count;
    const bool is_given = gantry__onnx_attr_ints(call, "kernel_shape", &count) != NULL;
    *window = (gantry__onnx_window_t){.rank = shape->rank - 2};
    if (window->rank < 1)
        return gantry__onnx_invalid(call,
                                    "an input of %d dimensions; it has a batch, channels and "
                                    "spatial dimensions",
                                    (int)shape->rank);
    if (window->rank > GANTRY__ONNX_MOST_SPATIAL)
        return gantry__onnx_unsupported(call, "%d spatial dimensions; there are at most %d",
                                        (int)window->rank, GANTRY__ONNX_MOST_SPATIAL);
    GANTRY__TRY(read_spatial(call, "kernel_shape", 1, window, window->kernel));
    GANTRY__TRY(read_spatial(call, "strides", 1, window, window->strides));
    GANTRY__TRY(read_spatial(call, "dilations", 1, window, window->dilations));
    const int32_t first = GANTRY__ONNX_MOST_SPATIAL - window->rank;
    for (int32_t i = 0; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        window->size[i] = i < first ? 1 : shape->dims[2 + i - first];
        if (i < first || !kernel) continue;
        if (is_given && window->kernel[i] != kernel[i - first])
            return gantry__onnx_invalid(call, "kernel_shape has %lld where the filter has %lld",
                                        (long long)window->kernel[i], (long long)kernel[i - first]);
        window->kernel[i] = kernel[i - first];
    }
    return GANTRY_OK;
}

static gantry_status_t read_given_pads(gantry__onnx_call_t *call, gantry__onnx_window_t *window) {
    size_t count;
    const int64_t *pads = gantry__onnx_attr_ints(call, "pads", &count);
    const int32_t rank = window->rank, first = GANTRY__ONNX_MOST_SPATIAL - rank;
    if (!pads) return GANTRY_OK;
    if (count != 2 * (size_t)rank)
        return gantry__onnx_invalid(call, "pads has %zu numbers for %d spatial dimensions", count,
                                    (int)rank);
    for (int32_t i = 0; i < 2 * rank; ++i) {
        if (pads[i] < 0 || pads[i] > INT32_MAX)
            return gantry__onnx_invalid(call, "pads has %lld; accepted are 0 to %d",
                                        (long long)pads[i], INT32_MAX);
        if (i < rank)
            window->begin[first + i] = pads[i];
        else
            window->end[first + i - rank] = pads[i];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_read_padding(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                          gantry__onnx_window_t *window) {
    const char *text = gantry__onnx_attr_text(call, "auto_pad", "NOTSET");
    const bool is_lower = strcmp(text, "SAME_LOWER") == 0;
    if (strcmp(text, "NOTSET") == 0 || !*text) return read_given_pads(call, window);
    if (strcmp(text, "VALID") == 0) return GANTRY_OK;
    if (!is_lower && strcmp(text, "SAME_UPPER") != 0)
        return gantry__onnx_invalid(
            call, "auto_pad '%s'; accepted are NOTSET, SAME_UPPER, SAME_LOWER and VALID", text);
    for (int32_t i = 0; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        if (window->size[i] < 0) return gantry__onnx_need_shape(call, x);
        const int64_t count = (window->size[i] + window->strides[i] - 1) / window->strides[i];
        int64_t pad = (count - 1) * window->strides[i] + gantry__onnx_window_reach(window, i) -
                      window->size[i];
        if (pad < 0) pad = 0;
        window->begin[i] = is_lower ? pad - pad / 2 : pad / 2;
        window->end[i] = pad - window->begin[i];
    }
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_check_reach(gantry__onnx_call_t *call,
                                         const gantry__onnx_window_t *window, bool ceil_mode) {
    for (int32_t i = GANTRY__ONNX_MOST_SPATIAL - window->rank; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        const int64_t reach = gantry__onnx_window_reach(window, i);
        const int64_t more = ceil_mode ? window->strides[i] - 1 : 0;
        if (window->size[i] >= 0 &&
            window->size[i] + window->begin[i] + window->end[i] < reach - more)
            return gantry__onnx_invalid(
                call, "a window of %lld for a size of %lld with %lld of padding", (long long)reach,
                (long long)window->size[i], (long long)(window->begin[i] + window->end[i]));
    }
    return GANTRY_OK;
}

gantry_window_options_t gantry__onnx_plane_options(const gantry__onnx_window_t *window) {
    gantry_window_options_t options = {
        .struct_size = sizeof options, .padding = GANTRY_PADDING_VALID, .channels_first = true};
    for (int32_t i = 0; i < 2; ++i) {
        options.strides[i] = window->strides[1 + i];
        options.dilations[i] = window->dilations[1 + i];
        options.explicit_paddings[2 * i] = window->begin[1 + i];
        options.explicit_paddings[2 * i + 1] = window->end[1 + i];
        if (window->begin[1 + i] != 0 || window->end[1 + i] != 0)
            options.padding = GANTRY_PADDING_EXPLICIT;
    }
    return options;
}

const gantry_tensor_t *gantry__onnx_to_planes(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              const gantry__onnx_window_t *window) {
    return x && window->rank == 1 ? gantry_expand_dims(call->scope, x, 2) : x;
}

const gantry_tensor_t *gantry__onnx_from_planes(gantry__onnx_call_t *call, const gantry_tensor_t *y,
                                                const gantry__onnx_window_t *window) {
    return y && window->rank == 1 ? gantry_squeeze(call->scope, y, (const int32_t[]){2}, 1) : y;
}

gantry_status_t gantry__onnx_check_bias(gantry__onnx_call_t *call, size_t i, int64_t outputs) {
    tensor *bias = gantry__onnx_input(call, i);
    if (!bias) return GANTRY_OK;
    const gantry_shape_t *shape = gantry_tensor_shape(bias);
    if (shape->rank == 1 && (shape->dims[0] < 0 || shape->dims[0] == outputs)) return GANTRY_OK;
    return gantry__onnx_invalid(call, "B is not of the shape [%lld]", (long long)outputs);
}

const gantry_tensor_t *gantry__onnx_add_bias(gantry__onnx_call_t *call, const gantry_tensor_t *y,
                                             const gantry_tensor_t *bias) {
    const gantry_attr_value_t format = GANTRY__ONNX_TEXT_OF("data_format", "NCHW");
    if (!bias || !y) return y;
    return gantry__onnx_op(call, "BiasAdd", (tensor *const[]){y, bias}, 2, &format, 1);
}
