/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of convolutions and pools over images [batch, channels, spatial...], of one to three
 * spatial dimensions.
 *
 * A window always has a depth, rows and columns, in this order: those that the images lack have
 * kernels and strides of 1, without padding. So sequences are images of one row, and Gantry's ops
 * on images serve them all: ops on planes (rows and columns), and a composition over the depth.
 *
 * Threads: as the call. */
#ifndef GANTRY_ONNX_WINDOW_H
#define GANTRY_ONNX_WINDOW_H

#include "onnx/lower/move.h"

#define GANTRY__ONNX_MOST_SPATIAL 3

/* A window. */
typedef struct gantry__onnx_window_t {
    int32_t rank; /* Spatial dimensions of the images. */
    int64_t kernel[GANTRY__ONNX_MOST_SPATIAL], strides[GANTRY__ONNX_MOST_SPATIAL],
        dilations[GANTRY__ONNX_MOST_SPATIAL];
    int64_t begin[GANTRY__ONNX_MOST_SPATIAL], end[GANTRY__ONNX_MOST_SPATIAL]; /* Padding. */
    int64_t size[GANTRY__ONNX_MOST_SPATIAL]; /* The images' sizes; -1: open. */
} gantry__onnx_window_t;

/* The elements over which a window reaches in dimension i. */
int64_t gantry__onnx_window_reach(const gantry__onnx_window_t *window, int32_t i);
/* The number of windows in dimension i. */
int64_t gantry__onnx_window_count(const gantry__onnx_window_t *window, int32_t i, bool ceil_mode);
/* Reads kernel (NULL: the attribute kernel_shape), strides, dilations and the sizes of x. */
gantry_status_t gantry__onnx_read_kernel(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                         const int64_t *kernel, gantry__onnx_window_t *window);
/* Reads pads or auto_pad, after the kernel. */
gantry_status_t gantry__onnx_read_padding(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                          gantry__onnx_window_t *window);
/* Refuses a window that is larger than what is padded. ceil_mode: one that is so by less than a
 * stride is accepted, because the number of windows is rounded up. */
gantry_status_t gantry__onnx_check_reach(gantry__onnx_call_t *call,
                                         const gantry__onnx_window_t *window, bool ceil_mode);
/* The rows and columns of a window as options of ops on images with channels first. */
gantry_window_options_t gantry__onnx_plane_options(const gantry__onnx_window_t *window);

/* Images of one row, from sequences; other images as they are. */
const gantry_tensor_t *gantry__onnx_to_planes(gantry__onnx_call_t *call, const gantry_tensor_t *x,
                                              const gantry__onnx_window_t *window);
/* Back from images of one row. */
const gantry_tensor_t *gantry__onnx_from_planes(gantry__onnx_call_t *call, const gantry_tensor_t *y,
                                                const gantry__onnx_window_t *window);
/* Refuses input i as the bias of so many outputs, unless it is left out or a vector of them. */
gantry_status_t gantry__onnx_check_bias(gantry__onnx_call_t *call, size_t i, int64_t outputs);
/* Adds a vector by channels, which are dimension 1; nothing for NULL. */
const gantry_tensor_t *gantry__onnx_add_bias(gantry__onnx_call_t *call, const gantry_tensor_t *y,
                                             const gantry_tensor_t *bias);

#endif
