/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in_convolution.h"

#include <string.h>

#include "stand_in_numbers.h"

typedef const stand_in_convolution_t conv_t;

static int64_t places(conv_t *conv, int d) {
    int64_t reach = (conv->filter.dims[d + 2] - 1) * conv->spreads[d] + 1;
    int64_t room = conv->image.dims[d + 2] + conv->before[d] + conv->after[d] - reach;

    return room < 0 ? -1 : room / conv->steps[d] + 1;
}

int stand_in__check_convolution(conv_t *conv) {
    for (int d = 0; d < 2; ++d) {
        if (conv->steps[d] < 1 || conv->spreads[d] < 1 || conv->before[d] < 0 ||
            conv->after[d] < 0 || places(conv, d) != conv->result.dims[d + 2]) {
            return -1;
        }
    }
    if (conv->image.dims[1] % conv->filter.dims[1] != 0) return -1;
    return conv->image.dims[0] == conv->result.dims[0] &&
                   conv->filter.dims[0] == conv->result.dims[1]
               ? 0
               : -1;
}

uint64_t stand_in__tensor_bytes(const stand_in_tensor_t *tensor) {
    int64_t last = 0;

    for (int d = 0; d < 4; ++d) {
        last += (tensor->dims[d] - 1) * tensor->strides[d];
    }
    return (uint64_t)(last + 1) * stand_in__element_bytes(tensor->type);
}

/* ---- elements ---- */

static uint64_t index_of(const stand_in_tensor_t *tensor, int64_t a, int64_t b, int64_t y,
                         int64_t x) {
    return (uint64_t)(a * tensor->strides[0] + b * tensor->strides[1] + y * tensor->strides[2] +
                      x * tensor->strides[3]);
}

static double element(conv_t *conv, const stand_in_tensor_t *tensor, int64_t a, int64_t b,
                      int64_t y, int64_t x) {
    double value =
        stand_in__load((const void *)tensor->data, tensor->type, index_of(tensor, a, b, y, x));

    return conv->rounds_to_tf32 ? stand_in__round_to_tf32(value) : value;
}

static void set_element(const stand_in_tensor_t *tensor, int64_t a, int64_t b, int64_t y, int64_t x,
                        double value) {
    stand_in__store((void *)tensor->data, tensor->type, index_of(tensor, a, b, y, x), value);
}

static int64_t channels_of_group(conv_t *conv) { return conv->filter.dims[1]; }
static int64_t outputs_of_group(conv_t *conv) {
    return conv->filter.dims[0] / (conv->image.dims[1] / conv->filter.dims[1]);
}

/* The pixel of a window's element; 0: it is in the padding. */
static int pixel(conv_t *conv, int d, int64_t place, int64_t at, int64_t *out) {
    *out = place * conv->steps[d] + at * conv->spreads[d] - conv->before[d];
    return *out >= 0 && *out < conv->image.dims[d + 2];
}

/* ---- forward ---- */

static double window(conv_t *conv, int64_t n, int64_t k, int64_t py, int64_t px) {
    int64_t first = k / outputs_of_group(conv) * channels_of_group(conv), y, x;
    double sum = 0;

    for (int64_t r = 0; r < conv->filter.dims[2]; ++r) {
        for (int64_t s = 0; s < conv->filter.dims[3]; ++s) {
            if (!pixel(conv, 0, py, r, &y) || !pixel(conv, 1, px, s, &x)) continue;
            for (int64_t c = 0; c < channels_of_group(conv); ++c) {
                sum += element(conv, &conv->image, n, first + c, y, x) *
                       element(conv, &conv->filter, k, c, r, s);
            }
        }
    }
    return sum;
}

/* In float32: the sum is rounded before the bias is added. */
static double epilogue(conv_t *conv, int64_t k, double value) {
    float sum = (float)value;

    if (!conv->has_bias && !conv->has_relu) return value;
    if (conv->has_bias)
        sum += (float)stand_in__load((const void *)conv->bias.data, conv->bias.type,
                                     index_of(&conv->bias, 0, k, 0, 0));
    return conv->has_relu && !(sum > 0) ? 0 : sum;
}

static void forward(conv_t *conv) {
    const int64_t *dims = conv->result.dims;

    for (int64_t n = 0; n < dims[0]; ++n) {
        for (int64_t k = 0; k < dims[1]; ++k) {
            for (int64_t y = 0; y < dims[2]; ++y) {
                for (int64_t x = 0; x < dims[3]; ++x) {
                    set_element(&conv->result, n, k, y, x,
                                epilogue(conv, k, window(conv, n, k, y, x)));
                }
            }
        }
    }
}

/* ---- gradients ---- */

/* The place whose element `at` of the window is the pixel; 0: none is. */
static int place_of(conv_t *conv, int d, int64_t at_pixel, int64_t at, int64_t *out) {
    int64_t from = at_pixel + conv->before[d] - at * conv->spreads[d];

    *out = from / conv->steps[d];
    return from >= 0 && from % conv->steps[d] == 0 && *out < conv->result.dims[d + 2];
}

static double spread(conv_t *conv, int64_t n, int64_t channel, int64_t y, int64_t x) {
    int64_t c = channel % channels_of_group(conv), py, px;
    int64_t first = channel / channels_of_group(conv) * outputs_of_group(conv);
    double sum = 0;

    for (int64_t r = 0; r < conv->filter.dims[2]; ++r) {
        for (int64_t s = 0; s < conv->filter.dims[3]; ++s) {
            if (!place_of(conv, 0, y, r, &py) || !place_of(conv, 1, x, s, &px)) continue;
            for (int64_t k = first; k < first + outputs_of_group(conv); ++k) {
                sum += element(conv, &conv->result, n, k, py, px) *
                       element(conv, &conv->filter, k, c, r, s);
            }
        }
    }
    return sum;
}

static void image_gradient(conv_t *conv) {
    const int64_t *dims = conv->image.dims;

    for (int64_t n = 0; n < dims[0]; ++n) {
        for (int64_t c = 0; c < dims[1]; ++c) {
            for (int64_t y = 0; y < dims[2]; ++y) {
                for (int64_t x = 0; x < dims[3]; ++x) {
                    set_element(&conv->image, n, c, y, x, spread(conv, n, c, y, x));
                }
            }
        }
    }
}

static double gather(conv_t *conv, int64_t k, int64_t c, int64_t r, int64_t s) {
    int64_t channel = k / outputs_of_group(conv) * channels_of_group(conv) + c, y, x;
    double sum = 0;

    for (int64_t n = 0; n < conv->image.dims[0]; ++n) {
        for (int64_t py = 0; py < conv->result.dims[2]; ++py) {
            for (int64_t px = 0; px < conv->result.dims[3]; ++px) {
                if (!pixel(conv, 0, py, r, &y) || !pixel(conv, 1, px, s, &x)) continue;
                sum += element(conv, &conv->image, n, channel, y, x) *
                       element(conv, &conv->result, n, k, py, px);
            }
        }
    }
    return sum;
}

static void filter_gradient(conv_t *conv) {
    const int64_t *dims = conv->filter.dims;

    for (int64_t k = 0; k < dims[0]; ++k) {
        for (int64_t c = 0; c < dims[1]; ++c) {
            for (int64_t r = 0; r < dims[2]; ++r) {
                for (int64_t s = 0; s < dims[3]; ++s) {
                    set_element(&conv->filter, k, c, r, s, gather(conv, k, c, r, s));
                }
            }
        }
    }
}

void stand_in__run_convolution(void *arguments) {
    conv_t *conv = arguments;

    if (conv->workspace != NULL) memset(conv->workspace, 0x5A, conv->workspace_bytes);
    switch (conv->what) {
        case STAND_IN_DATA: image_gradient(conv); break;
        case STAND_IN_FILTER: filter_gradient(conv); break;
        default: forward(conv); break;
    }
}
