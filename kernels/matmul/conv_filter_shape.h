/* SPDX-License-Identifier: Apache-2.0 */
/* How the gradient of a convolution's filter is cut into units (kernels/matmul/conv_filter.cl).
 *
 * Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CONV_FILTER_SHAPE_H
#define GANTRY_KERNELS_CONV_FILTER_SHAPE_H

#include "kernels/window/window_shape.h"

#include "kernels/matmul/conv_filter.cl"

/* Whether the convolution of a call of _ImagesFilterGradient has no groups. */
int32_t gantry__filter_is_whole(const gantry_op_call_t *call);
/* Fills in the units of a call of _ImagesFilterGradient that has places, for panels of those sizes
 * and at most so many lanes. */
void gantry__filter_fill(const gantry_op_call_t *call, int64_t panel_rows, int64_t panel_columns,
                         int64_t most_lanes, gantry__filter_t *out);
/* The numbers of elements of the memory of all lanes, and of the parts of the chunks, which is 0 if
 * there is one chunk. The caller must provide both. */
int64_t gantry__filter_lane_memory(const gantry__filter_t *filter);
int64_t gantry__filter_part_memory(const gantry__filter_t *filter);

#endif
