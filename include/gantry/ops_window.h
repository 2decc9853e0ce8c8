/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Windows over images and sequences: convolutions and pooling; ops.h says what holds for all ops,
 * for owners and for threads.
 *
 * Images are [batch, height, width, channels], with channels_first [batch, channels, height,
 * width]. Sequences are [batch, length, channels] or [batch, channels, length]. */
#ifndef GANTRY_OPS_WINDOW_H
#define GANTRY_OPS_WINDOW_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How far windows reach beyond the image. */
typedef enum gantry_padding_t {
    /** ceil(size / stride) windows; zeros around the image, the smaller half in front. */
    GANTRY_PADDING_SAME = 0,
    GANTRY_PADDING_VALID = 1,   /**< Windows stay inside. */
    GANTRY_PADDING_EXPLICIT = 2 /**< explicit_paddings says it. */
} gantry_padding_t;

/** Options of windows. NULL or zero-filled: strides and dilations of 1, SAME, channels last.
 * Sequences use the first of two numbers. */
typedef struct gantry_window_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    int64_t strides[2];   /**< Rows, columns; 0 means 1. */
    /** Distance between the elements of a filter or of a pool's window; 0 means 1. */
    int64_t dilations[2];
    gantry_padding_t padding; /**< The padding; 0: SAME. */
    /** The padding above, below, left and right; of sequences the first two. Not for conv1d. */
    int64_t explicit_paddings[4];
    bool channels_first; /**< Channels are dimension 1, not the last. */
    /** Pools: ceil(size / step) windows as far as they begin in the image or before it. */
    bool ceil_mode;
    /** Means: the padding counts, as zeros. What ceil_mode adds never counts. */
    bool count_include_pad;
} gantry_window_options_t;

/** Conv2D. filter is [rows, columns, channels / groups, outputs]; the number of groups follows
 * from the channels. Types: float16, bfloat16, float32, float64, int32 and int64; sums of the
 * 16-bit types are float32. */
GANTRY_API const gantry_tensor_t *gantry_conv2d(gantry_scope_t *scope,
                                                const gantry_tensor_t *images,
                                                const gantry_tensor_t *filter,
                                                const gantry_window_options_t *options);
/** DepthwiseConv2dNative: each channel has filters of its own. filter is [rows, columns,
 * channels, outputs per channel]. */
GANTRY_API const gantry_tensor_t *gantry_depthwise_conv2d(gantry_scope_t *scope,
                                                          const gantry_tensor_t *images,
                                                          const gantry_tensor_t *filter,
                                                          const gantry_window_options_t *options);
/** Conv2DBackpropInput: the transpose of a convolution, tf.nn.conv2d_transpose. filter is [rows,
 * columns, outputs, channels]. output_shape is the shape of the images that a convolution with
 * these options would turn into `images`; otherwise InvalidArgument. Its padding is cut from the
 * result.
 *
 * With a stride several sizes have n windows, of which output_shape chooses one, as what others
 * call output padding. For a window that reaches over (rows - 1) dilation + 1: (n - 1) stride +
 * reach - padding above and below, up to stride - 1 more. */
GANTRY_API const gantry_tensor_t *gantry_conv2d_transpose(gantry_scope_t *scope,
                                                          const gantry_tensor_t *images,
                                                          const gantry_tensor_t *filter,
                                                          gantry_shape_t output_shape,
                                                          const gantry_window_options_t *options);
/** ConvInteger: gantry_conv2d of integers less their zero points, in int32, modulo 2^32. The types
 * are those of gantry_matmul_integer. The padding counts as the zero point. images_zero_point is a
 * scalar, filter_zero_point a scalar or a vector with an element for each output. NULL: 0. */
GANTRY_API const gantry_tensor_t *gantry_conv_integer(gantry_scope_t *scope,
                                                      const gantry_tensor_t *images,
                                                      const gantry_tensor_t *filter,
                                                      const gantry_tensor_t *images_zero_point,
                                                      const gantry_tensor_t *filter_zero_point,
                                                      const gantry_window_options_t *options);
/** tf.nn.conv1d. filter is [length, channels / groups, outputs]. */
GANTRY_API const gantry_tensor_t *gantry_conv1d(gantry_scope_t *scope,
                                                const gantry_tensor_t *sequences,
                                                const gantry_tensor_t *filter,
                                                const gantry_window_options_t *options);
/** MaxPool: the maximum of each window of rows x columns. Elements of the padding do not count; a
 * window that has no others gives the type's lowest value. */
GANTRY_API const gantry_tensor_t *gantry_max_pool2d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *images, int64_t rows,
                                                    int64_t columns,
                                                    const gantry_window_options_t *options);
/** MaxPoolWithArgmax: the same in outputs[0], and in outputs[1] the int64 positions of the maxima,
 * the first of equal ones: (row * width + column) * channels + channel, or with channels_first
 * (channel * height + row) * width + column. include_batch_in_index: counted over all images, not
 * in each. by_columns: column * height + row in place of row * width + column. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_max_pool2d_with_argmax(
    gantry_scope_t *scope, const gantry_tensor_t *images, int64_t rows, int64_t columns,
    const gantry_window_options_t *options, bool include_batch_in_index, bool by_columns,
    const gantry_tensor_t *outputs[2]);
/** AvgPool: the mean of each window of rows x columns. Elements of the padding do not count, but
 * with count_include_pad. */
GANTRY_API const gantry_tensor_t *gantry_avg_pool2d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *images, int64_t rows,
                                                    int64_t columns,
                                                    const gantry_window_options_t *options);
/** tf.nn.max_pool1d: the maximum of each window of a sequence. */
GANTRY_API const gantry_tensor_t *gantry_max_pool1d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *sequences,
                                                    int64_t length,
                                                    const gantry_window_options_t *options);
/** tf.nn.avg_pool1d: the mean of each window of a sequence. */
GANTRY_API const gantry_tensor_t *gantry_avg_pool1d(gantry_scope_t *scope,
                                                    const gantry_tensor_t *sequences,
                                                    int64_t length,
                                                    const gantry_window_options_t *options);
/** ExtractImagePatches: the elements of each window as channels: [batch, y, x, rows * columns *
 * channels]. Channels are last; explicit padding is not accepted. */
GANTRY_API const gantry_tensor_t *gantry_extract_image_patches(
    gantry_scope_t *scope, const gantry_tensor_t *images, int64_t rows, int64_t columns,
    const gantry_window_options_t *options);

/** Options of gantry_resize; docs/ops.md says what the words mean. */
typedef struct gantry_resize_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: the fields of version 0.1. */
    const char *mode;     /**< "NEAREST" (NULL), "LINEAR" or "CUBIC". */
    /** Where an element of the result is in the input: "HALF_PIXEL" (NULL) or another word. */
    const char *coordinate_transformation;
    const char *nearest_mode; /**< NEAREST: the rounding; NULL: "ROUND_PREFER_FLOOR". */
    double cubic_coeff_a;     /**< CUBIC: its coefficient; 0: -0.75. gantry_op_call takes 0. */
    bool exclude_outside;     /**< Places outside the input have the weight 0. */
    bool antialias;           /**< A smaller result mixes all elements that it stands for. */
    /** TF_CROP_AND_RESIZE: of places outside the input. */
    double extrapolation_value;
    const char *keep_aspect_ratio_policy; /**< "STRETCH" (NULL), "NOT_LARGER", "NOT_SMALLER". */
    const int64_t *axes;                  /**< The dimensions to resize; NULL: all, in order. */
    const float *scales; /**< Results are so many times as large; in place of sizes. */
    /** TF_CROP_AND_RESIZE: the begins of the region, then its ends, in parts of size - 1. */
    const float *roi;
} gantry_resize_options_t;

/** Resize: dimensions of x resized to sizes, or by options->scales where sizes is NULL. sizes,
 * scales and axes have count numbers, roi twice as many. */
GANTRY_API const gantry_tensor_t *gantry_resize(gantry_scope_t *scope, const gantry_tensor_t *x,
                                                const int64_t *sizes, size_t count,
                                                const gantry_resize_options_t *options);

#ifdef __cplusplus
}
#endif
#endif
