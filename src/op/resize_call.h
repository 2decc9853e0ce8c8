/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of Resize or ResizeGrad asks for: its words as numbers, and for each dimension sizes,
 * scale and region, as ONNX Runtime finds them.
 *
 * Reads the call only; makes no table. Owner: points to nothing. Thread-safe. */
#ifndef GANTRY_OP_RESIZE_CALL_H
#define GANTRY_OP_RESIZE_CALL_H

#include "op/op_infer.h"

typedef enum gantry__resize_mode_t {
    GANTRY__RESIZE_NEAREST,
    GANTRY__RESIZE_LINEAR,
    GANTRY__RESIZE_CUBIC
} gantry__resize_mode_t;

typedef enum gantry__resize_coordinate_t {
    GANTRY__RESIZE_HALF_PIXEL,
    GANTRY__RESIZE_HALF_PIXEL_SYMMETRIC,
    GANTRY__RESIZE_PYTORCH_HALF_PIXEL,
    GANTRY__RESIZE_ALIGN_CORNERS,
    GANTRY__RESIZE_ASYMMETRIC,
    GANTRY__RESIZE_TF_HALF_PIXEL_FOR_NN,
    GANTRY__RESIZE_TF_CROP_AND_RESIZE
} gantry__resize_coordinate_t;

typedef enum gantry__resize_nearest_t {
    GANTRY__RESIZE_ROUND_PREFER_FLOOR,
    GANTRY__RESIZE_ROUND_PREFER_CEIL,
    GANTRY__RESIZE_FLOOR,
    GANTRY__RESIZE_CEIL
} gantry__resize_nearest_t;

/* A dimension. */
typedef struct gantry__resize_axis_t {
    int64_t source, result; /* sizes; -1: open, only in a trace */
    double scale;           /* the given one, which is of float32, or result / source */
    float from, to;         /* the region of interest, in parts of source - 1 */
} gantry__resize_axis_t;

typedef struct gantry__resize_call_t {
    gantry__resize_mode_t mode;
    gantry__resize_coordinate_t coordinate;
    gantry__resize_nearest_t nearest;
    double cubic;
    bool excludes_outside;
    bool antialias;
    int32_t rank;
    /* whether the dimension is one of axes; else it stays as it is */
    bool resizes[GANTRY_MAX_RANK];
    gantry__resize_axis_t axes[GANTRY_MAX_RANK];
} gantry__resize_call_t;

/* Reads the call, for an input of this shape; input `first` must be sizes, and scales and roi come
 * after it. */
gantry_status_t gantry__resize_read(gantry__infer_t *call, const gantry_shape_t *source,
                                    uint32_t first, gantry__resize_call_t *out);

#endif
