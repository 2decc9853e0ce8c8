/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of images at places between pixels: sums of neighbours, which are gathered.
 *
 * The images [batch, channels, spatial...] are stored as rows, one for each pixel. For each spatial
 * dimension a place has taps: the pixels to take, with weights. A sampler adds up all combinations.
 *
 * Owner: the scopes of the call. Threads: as the call. */
#ifndef GANTRY_ONNX_SAMPLE_H
#define GANTRY_ONNX_SAMPLE_H

#include "onnx/lower/move.h"

#define GANTRY__ONNX_MOST_SAMPLED 3
#define GANTRY__ONNX_MOST_TAPS 4

/* What is outside the images. */
typedef enum gantry__onnx_outside_t {
    GANTRY__ONNX_ZEROS = 0,
    GANTRY__ONNX_BORDER = 1,    /* The nearest pixel. */
    GANTRY__ONNX_REFLECTION = 2 /* Pixels mirrored at the edges. */
} gantry__onnx_outside_t;

/* How pixels are mixed: the number of taps. */
typedef enum gantry__onnx_mix_t {
    GANTRY__ONNX_NEAREST = 1,
    GANTRY__ONNX_LINEAR = 2,
    GANTRY__ONNX_CUBIC = 4
} gantry__onnx_mix_t;

/* A sampler. */
typedef struct gantry__onnx_sampler_t {
    gantry__onnx_call_t *call;
    int32_t count; /* Spatial dimensions. */
    int64_t batch, channels, sizes[GANTRY__ONNX_MOST_SAMPLED];
    gantry__onnx_mix_t mix;
    gantry__onnx_outside_t outside;
    bool align_corners;          /* The edges are in the middle of pixels, not at their sides. */
    gantry_dtype_t dtype, place; /* Types of the images, and of places. */
    const gantry_tensor_t *rows;
} gantry__onnx_sampler_t;

/* The images as rows. Their sizes must be known. */
void gantry__onnx_sampler_init(gantry__onnx_sampler_t *sampler, gantry__onnx_call_t *call,
                               const gantry_tensor_t *images);
/* The elements at places, in pixels, of each dimension: tensors [batch, places]. Returns [batch,
 * places, channels]. */
const gantry_tensor_t *gantry__onnx_sample(const gantry__onnx_sampler_t *sampler,
                                           const gantry_tensor_t *const *places);
/* Pixels as rows: [batch * pixels, channels]. */
const gantry_tensor_t *gantry__onnx_pixel_rows(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *images);

#endif
