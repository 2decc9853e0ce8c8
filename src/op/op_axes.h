/* SPDX-License-Identifier: Apache-2.0 */
/* What each op does with the axes of its operands, for a graph in which they are stored in another
 * order.
 *
 * Owner: constant data. Threads: thread-safe. */
#ifndef GANTRY_OP_OP_AXES_H
#define GANTRY_OP_OP_AXES_H

#include "op/op_def.h"

typedef enum gantry__axes_kind_t {
    GANTRY__AXES_FIXED = 0, /* takes operands as the body gives them */
    GANTRY__AXES_TRANSPOSE,
    GANTRY__AXES_RESHAPE,  /* Reshape, ExpandDims, Squeeze */
    GANTRY__AXES_ALIKE,    /* elementwise: any order, which all operands have; they broadcast */
    GANTRY__AXES_BIAS,     /* BiasAdd: channels must be stored last or second */
    GANTRY__AXES_AXES,     /* any order; a host input names axes, or has numbers for each */
    GANTRY__AXES_LAST,     /* the last axis must be stored last */
    GANTRY__AXES_REDUCE,   /* an order in which the sequences stay, or do not matter */
    GANTRY__AXES_CHANNELS, /* has data_format: NCHW, or NCHW stored as NHWC */
    GANTRY__AXES_NORMALIZE /* NormalizeChannels */
} gantry__axes_kind_t;

/* What the host inputs of AXES and REDUCE hold. */
typedef enum gantry__axes_host_t {
    GANTRY__AXES_NAMES = 0, /* axes */
    GANTRY__AXES_EACH = 1,  /* a number for each axis */
    GANTRY__AXES_PAIRS = 2  /* two numbers for each axis */
} gantry__axes_host_t;

typedef struct gantry__axes_op_t {
    uint8_t kind;       /* GANTRY__AXES_... */
    uint8_t first_host; /* the first host input that is changed; 0: none, or the last input */
    uint8_t host_count;
    uint8_t host; /* gantry__axes_host_t */
} gantry__axes_op_t;

gantry__axes_op_t gantry__op_axes(const gantry__op_def_t *op);

#endif
