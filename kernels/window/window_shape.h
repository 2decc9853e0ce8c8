/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the geometry of windows (kernels/window/window.cl) from a call's attributes.
 *
 * Attributes are lists of four in the order of data_format ("NHWC" or "NCHW"). Shape inference must
 * have checked them all. Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_WINDOW_SHAPE_H
#define GANTRY_KERNELS_WINDOW_SHAPE_H

#include <stdbool.h>

#include "kernels/common/item_kernel.h"
#include "kernels/window/window.cl"

/* The names of the attributes; NULL if the op lacks one. */
typedef struct gantry__window_names_t {
    const char *steps;   /* "strides" */
    const char *spreads; /* "dilations", "rates" */
    const char *size;    /* "ksize", "ksizes"; NULL: the caller gives rows and columns */
} gantry__window_names_t;

/* Fills in the geometry. image is [batch, height, width, channels] or [batch, channels, height,
 * width], and places must be the output over its windows of rows x columns, which a size in `names`
 * overrules. Sets depth to 1. */
void gantry__window_fill(const gantry_op_call_t *call, const gantry__window_names_t *names,
                         const gantry_arg_t *image, const gantry_arg_t *places, int64_t rows,
                         int64_t columns, gantry__windows_t *out);
/* Means of the windows then count the padding around the image. */
void gantry__window_count_padding(const gantry_op_call_t *call, gantry__windows_t *window);
/* On processors, turns a launch over all elements of output 0 into one over stretches of its
 * places, `width` in a row, and sets the window's runs. */
void gantry__window_stretches(const gantry_op_call_t *call, gantry__windows_t *window,
                              int64_t width, gantry__k_item_launch_t *launch);
/* Runs a costly item over all elements of output 0, with the spans x, filter (or NULL) and the
 * output. With a width above 0 it runs over stretches. */
int32_t gantry__window_run(gantry_op_call_t *call, uint32_t item, const gantry_arg_t *x,
                           const gantry_arg_t *filter, gantry__windows_t *window, int64_t width);
/* Whether a convolution leaves the padding out; otherwise the padding counts as zeros. */
bool gantry__window_is_without_padding(const gantry_op_call_t *call);
/* Whether a convolution of input 0 with the filter, input 1, has no groups. */
int32_t gantry__window_is_whole(const gantry_op_call_t *call);
/* Whether the attribute, input_format or output_format, has the channels first. */
bool gantry__window_is_planar(const gantry_op_call_t *call, const char *name);
/* Result 0 with its channels last, from where output_format says. dims must live as long. */
gantry_arg_t gantry__window_result_arg(const gantry_op_call_t *call, int64_t dims[4]);

#endif
