/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of a window over images, from attributes: the part that pooling, patches and
 * convolutions share.
 *
 * Private to src/op. Values of the caller, no heap. Thread-safe. */
#ifndef GANTRY_OP_OP_INFER_WINDOW_H
#define GANTRY_OP_OP_INFER_WINDOW_H

#include "op/op_infer.h"

/* A window over the two dimensions of the image, rows first. */
typedef struct gantry__window_t {
    int32_t first;   /* the image's first dimension: 1 (NHWC) or 2 */
    int32_t channel; /* 3 or 1 */
    int64_t window[2], step[2], spread[2];
    int64_t before[2], after[2]; /* explicit padding, else 0 */
    bool is_same;                /* "SAME" */
    bool is_ceil;                /* "ceil_mode" */
} gantry__window_t;

/* Names of list attributes; NULL: the op has none. */
typedef struct gantry__window_attrs_t {
    const char *size;   /* "ksize"; NULL: window stays unchanged */
    const char *spread; /* "dilations" */
} gantry__window_attrs_t;

/* Reads and checks size, strides, dilations, padding and data_format. */
gantry_status_t gantry__window_read(const gantry__infer_t *call,
                                    const gantry__window_attrs_t *names, gantry__window_t *out);
/* The number of places of the window: InvalidArgument if it exceeds the padded image by more than a
 * step. */
gantry_status_t gantry__window_places(const gantry__window_t *w, const gantry_shape_t *image,
                                      int64_t out[2]);
/* The same along one dimension of size + before + after, where a window reaches over `reach`
 * elements; below 0: it exceeds them by more than a step. With is_ceil the last window may exceed
 * them, if it begins before their last `after`. */
int64_t gantry__window_places_along(int64_t size, int64_t before, int64_t after, int64_t reach,
                                    int64_t step, bool is_ceil);
/* Reads the window of a filter [rows, columns, channels, ...] over image. */
gantry_status_t gantry__window_read_conv(const gantry__infer_t *call, const gantry_shape_t *image,
                                         const gantry_shape_t *filter, gantry__window_t *out);
/* The most channels that kernels read as fast where they come first as where they come last. */
#define GANTRY__WINDOW_MOST_PLANES 4
/* The shape of input 0 with its channels last, from where input_format has them. */
gantry_status_t gantry__window_images(const gantry__infer_t *call, const char *what,
                                      gantry_shape_t *out);
/* ConvolveImages before output_format: the channels are last. */
gantry_status_t gantry__infer_convolved_rows(gantry__infer_t *call);
/* Gives the result, whose channels are last, the shape that output_format requests. */
gantry_status_t gantry__window_result(const gantry__infer_t *call);
/* The output's shape of a depthwise convolution of image with filter. */
gantry_status_t gantry__window_depthwise(const gantry__infer_t *call, const gantry_shape_t *image,
                                         const gantry_shape_t *filter, gantry_shape_t *out);

#endif
