/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of matmul_patches.cl, and what the portable kernels of products share on devices.
 *
 * Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_MATMUL_PATCHES_H
#define GANTRY_KERNELS_MATMUL_PATCHES_H

#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_shape.h"

/* What A is: GANTRY_PATCHES of matmul_patches.cl, which explains them. */
typedef enum gantry__patches_kind_t {
    GANTRY__PATCHES_NONE, /* a matrix in memory */
    GANTRY__PATCHES_CHANNELS_LAST,
    GANTRY__PATCHES_CHANNELS_FIRST,
    GANTRY__PATCHES_TRANSPOSED,
    GANTRY__PATCHES_OF_RESULT
} gantry__patches_kind_t;

/* What patches take of local memory for each word of a tile's depth. */
#define GANTRY__PATCHES_TAP_BYTES 16u

/* Must have the same fields as patches_t of matmul_patches.cl. */
typedef struct gantry__patches_t {
    int64_t height, width;
    int64_t image, row, pixel, channel;
    int64_t places_y, places_x;
    int64_t step_y, step_x;
    int64_t top, left;
    int64_t rows, columns, channels;
    int64_t spread_y, spread_x;
    int64_t out_height, out_width;
} gantry__patches_t;

/* A product and what follows it. With patches the strides of A have no meaning. */
typedef struct gantry__product_t {
    const gantry_arg_t *a, *b;
    gantry__matmul_shape_t shape;
    gantry__epilogue_t epilogue;
    gantry__patches_kind_t kind;
    gantry__patches_t patches;
} gantry__product_t;

/* Launches the kernel that suits the device and the sizes. The result is output 0. */
int32_t gantry__matmul_device_launch(gantry_op_call_t *call, const gantry__product_t *product);

#endif
