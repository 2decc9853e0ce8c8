/* SPDX-License-Identifier: Apache-2.0 */
/* From a call's attributes to the geometry of its windows (kernels/window/window.cl).
 *
 * Attributes are lists of four in the order of data_format ("NHWC" or "NCHW"). Shape inference has
 * checked them all.
 * Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_WINDOW_SHAPE_H
#define GANTRY_KERNELS_WINDOW_SHAPE_H

#include "kernels/common/item_kernel.h"

#include "kernels/window/window.cl"

/* The names of the attributes; NULL where an op has none. */
typedef struct gantry__window_names_t {
    const char *steps;   /* "strides" */
    const char *spreads; /* "dilations", "rates" */
} gantry__window_names_t;

/* image: [batch, height, width, channels] or [batch, channels, height, width]; places: what the
 * window made of it. rows and columns: of the window. depth is left at 1. */
void gantry__window_fill(const gantry_op_call_t *call, const gantry__window_names_t *names,
                         const gantry_arg_t *image, const gantry_arg_t *places, int64_t rows,
                         int64_t columns, gantry__windows_t *out);
/* On processors the launch, of all elements of output 0 before, becomes one of stretches of its
 * places, `width` in a row; which makes the window's runs. */
void gantry__window_stretches(const gantry_op_call_t *call, gantry__windows_t *window,
                              int64_t width, gantry__k_item_launch_t *launch);
/* Runs a costly item over all elements of output 0: x, filter (NULL where there is none) and the
 * output are its spans. By stretches where there is a width. */
int32_t gantry__window_run(gantry_op_call_t *call, uint32_t item, const gantry_arg_t *x,
                           const gantry_arg_t *filter, gantry__windows_t *window, int64_t width);
/* 1: of a convolution what lies in the padding is left out, not taken as zeros. */
int gantry__window_is_without_padding(const gantry_op_call_t *call);
/* Rows and columns from a list attribute of four, such as "ksize". */
void gantry__window_size(const gantry_op_call_t *call, const char *name, int64_t *out_rows,
                         int64_t *out_columns);

#endif
