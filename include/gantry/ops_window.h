/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images and sequences: convolutions and pooling. Included by ops.h, whose words on
 * results and errors hold here.
 *
 * Images are [batch, height, width, channels]; with channels_first [batch, channels, height,
 * width]. Sequences are [batch, length, channels] or [batch, channels, length]. */
#ifndef GANTRY_OPS_WINDOW_H
#define GANTRY_OPS_WINDOW_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gantry_padding_t {
    /* places = ceil(size / stride); zeros around, the smaller half in front */
    GANTRY_PADDING_SAME = 0,
    GANTRY_PADDING_VALID = 1,   /* the window stays inside */
    GANTRY_PADDING_EXPLICIT = 2 /* as the options say */
} gantry_padding_t;

/* NULL or zero-filled: strides and dilations of 1, SAME, channels last. For sequences the first
 * of two counts. */
typedef struct gantry_window_options_t {
    uint32_t struct_size; /* its sizeof; 0: the fields of version 0.1 */
    int64_t strides[2];   /* rows, columns; 0 means 1 */
    int64_t dilations[2]; /* distance of a filter's elements; 0 means 1; not for pooling */
    gantry_padding_t padding;
    /* above, below, left, right; not for AvgPool, transposed convolutions and sequences */
    int64_t explicit_paddings[4];
    bool channels_first;
} gantry_window_options_t;

/* filter: [rows, columns, channels / groups, outputs]; the number of groups follows from the
 * channels. float16 to float64, int32, int64; sums of halves are float32. */
GANTRY_API const gantry_tensor_t *gantry_conv2d(gantry_scope_t *scope,
                                                const gantry_tensor_t *images,
                                                const gantry_tensor_t *filter,
                                                const gantry_window_options_t *options);
/* filter: [rows, columns, channels, outputs per channel]. */
GANTRY_API const gantry_tensor_t *gantry_depthwise_conv2d(gantry_scope_t *scope,
                                                          const gantry_tensor_t *images,
                                                          const gantry_tensor_t *filter,
                                                          const gantry_window_options_t *options);
/* filter: [rows, columns, outputs, channels]; output_shape: of the images that a convolution
 * would make `images` of. */
GANTRY_API const gantry_tensor_t *gantry_conv2d_transpose(gantry_scope_t *scope,
                                                          const gantry_tensor_t *images,
                                                          const gantry_tensor_t *filter,
                                                          gantry_shape_t output_shape,
                                                          const gantry_window_options_t *options);
/* filter: [length, channels / groups, outputs]. */
GANTRY_API const gantry_tensor_t *gantry_conv1d(gantry_scope_t *scope,
                                                const gantry_tensor_t *sequences,
                                                const gantry_tensor_t *filter,
                                                const gantry_window_options_t *options);
/* The largest, the mean of each window of rows x columns; what lies in the padding does not
 * count. */
GANTRY_API const gantry_tensor_t *gantry_max_pool2d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *images, int64_t rows,
                                                    int64_t columns,
                                                    const gantry_window_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_avg_pool2d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *images, int64_t rows,
                                                    int64_t columns,
                                                    const gantry_window_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_max_pool1d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *sequences,
                                                    int64_t length,
                                                    const gantry_window_options_t *options);
GANTRY_API const gantry_tensor_t *gantry_avg_pool1d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *sequences,
                                                    int64_t length,
                                                    const gantry_window_options_t *options);
/* [batch, y, x, rows * columns * channels]: what a window sees at each place. Channels last, no
 * explicit padding of its own. */
GANTRY_API const gantry_tensor_t *gantry_extract_image_patches(
    gantry_scope_t *scope, const gantry_tensor_t *images, int64_t rows, int64_t columns,
    const gantry_window_options_t *options);

#ifdef __cplusplus
}
#endif
#endif
