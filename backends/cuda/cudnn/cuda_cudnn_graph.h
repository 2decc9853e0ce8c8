/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as cuDNN sees it: its form in plain numbers, and the descriptors of that form.
 *
 * cuDNN names dimensions [batch, channels, height, width], and strides say how they are stored. So
 * images with their channels last or first, and filters [rows, columns, channels, outputs], are
 * described as they are, with a padding that may be longer after the image than before it.
 *
 * Owner: whoever begins parts must end them; a part that is finalised does not change. Threads:
 * externally synchronised; the handle is one thread's at a time. */
#ifndef GANTRY_CUDA_CUDNN_GRAPH_H
#define GANTRY_CUDA_CUDNN_GRAPH_H

#include <stdbool.h>

#include "cuda/cudnn/cuda_cudnn_api.h"

enum { GANTRY__CUDNN_CONVOLVES, GANTRY__CUDNN_GIVES_IMAGE, GANTRY__CUDNN_GIVES_FILTER };

/* All that a plan depends on. Forms are compared byte by byte, so there must be no padding. */
typedef struct gantry__cudnn_form_t {
    int32_t what;                              /* GANTRY__CUDNN_CONVOLVES or a gradient */
    int32_t dtype;                             /* of all operands; sums are float32 */
    int32_t image_is_planar, result_is_planar; /* 1: the channels come first */
    int32_t has_bias, has_relu;
    int32_t may_round; /* float32 operands may be rounded to TF32 */
    int32_t any_order; /* sums may have another order in each run */
    int64_t image[4];  /* batch, channels, height, width */
    int64_t filter[4]; /* outputs, channels of a group, rows, columns */
    int64_t result[4]; /* batch, outputs, height, width */
    int64_t before[2], after[2], steps[2], spreads[2]; /* of rows and columns */
    uint64_t most_workspace_bytes;
} gantry__cudnn_form_t;

/* The operands by their unique id. */
enum {
    GANTRY__CUDNN_IMAGE = 1,
    GANTRY__CUDNN_FILTER = 2,
    GANTRY__CUDNN_RESULT = 3,
    GANTRY__CUDNN_BIAS = 4,
    GANTRY__CUDNN_OPERANDS = 4
};

/* Every operand must begin at a multiple of this. */
#define GANTRY__CUDNN_ALIGNMENT 16

#define GANTRY__CUDNN_MOST_PARTS 40
/* Descriptors that belong together, in the order in which they were made. */
typedef struct gantry__cudnn_parts_t {
    const gantry__cudnn_t *cudnn;
    gantry__cudnn_desc_t list[GANTRY__CUDNN_MOST_PARTS];
    int32_t count;
    gantry__cudnn_status_t status; /* the first failure; every call after it does nothing */
    char reason[200];              /* the library's words for it */
} gantry__cudnn_parts_t;

void gantry__cudnn_parts_begin(const gantry__cudnn_t *cudnn, gantry__cudnn_parts_t *parts);
void gantry__cudnn_parts_end(gantry__cudnn_parts_t *parts);
/* Keeps the failure, with the library's words, if it is the first one. */
void gantry__cudnn_parts_note(gantry__cudnn_parts_t *parts, gantry__cudnn_status_t status);

/* Makes a descriptor, which the parts end; NULL after a failure. */
gantry__cudnn_desc_t gantry__cudnn_make(gantry__cudnn_parts_t *parts, unsigned int kind);
void gantry__cudnn_set(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc,
                       unsigned int attribute, unsigned int type, int64_t count,
                       const void *values);
void gantry__cudnn_set_desc(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc,
                            unsigned int attribute, gantry__cudnn_desc_t value);
void gantry__cudnn_finalize(gantry__cudnn_parts_t *parts, gantry__cudnn_desc_t desc);

/* Makes the finalised graph of the form; NULL after a failure. handle NULL: it is not set, which a
 * device without a card needs. */
gantry__cudnn_desc_t gantry__cudnn_graph(gantry__cudnn_parts_t *parts,
                                         gantry__cudnn_handle_t handle,
                                         const gantry__cudnn_form_t *form);

#endif
