/* SPDX-License-Identifier: Apache-2.0 */
/* The table by which one dimension is resized: for each place of the result its taps, which are
 * places of the source with weights.
 *
 *     result    0          1                2
 *     taps      0: 1.0     0: 0.5  1: 0.5   1: 1.0
 *
 * It is made on the host, as TensorFlow and ONNX Runtime make it: resize_images.c, resize_onnx.c.
 * Owner: the caller closes it. Threads: externally synchronised. */
#ifndef GANTRY_COMPOSE_RESIZE_TABLE_H
#define GANTRY_COMPOSE_RESIZE_TABLE_H

#include "base/heap.h"
#include "op/resize_call.h"

typedef struct gantry__resize_tap_t {
    double weight; /* of float32 too, which it then holds exactly */
    int32_t place;
} gantry__resize_tap_t;

typedef enum gantry__resize_kind_t {
    GANTRY__RESIZE_TAKES,  /* one tap of weight 1 for each place */
    GANTRY__RESIZE_BLENDS, /* two taps, whose weights are 1 - part and part */
    GANTRY__RESIZE_SUMS    /* any taps */
} gantry__resize_kind_t;

typedef struct gantry__resize_table_t {
    const gantry__heap_t *heap;
    gantry__resize_kind_t kind;
    bool is_double; /* the weights are of float64 */
    int64_t source, result;
    int64_t filled;  /* places of the result that have their taps */
    int32_t *starts; /* the first tap of each place, and the number of all */
    gantry__resize_tap_t *taps;
    size_t count, capacity; /* of taps */
    /* 1 for places that have the extrapolated value; NULL: there are none */
    unsigned char *outside;
} gantry__resize_table_t;

/* Opens a table without taps; it must be closed also after a failure. */
gantry_status_t gantry__resize_open(gantry__resize_table_t *table, const gantry__heap_t *heap,
                                    gantry__resize_kind_t kind, int64_t source, int64_t result);
void gantry__resize_close(gantry__resize_table_t *table);
/* Adds a tap to the place that is filled next. The place of the tap is moved into the source. */
gantry_status_t gantry__resize_add(gantry__resize_table_t *table, int64_t place, double weight);
/* Ends the place. */
void gantry__resize_end_place(gantry__resize_table_t *table);
/* Makes the table of the gradient: the taps of each place of the source, in the order of the
 * result's. *out must be closed. */
gantry_status_t gantry__resize_transpose(const gantry__resize_table_t *table,
                                         gantry__resize_table_t *out);

/* How many times a table that takes places repeats each place of the source, one after another; 0:
 * it does not. */
int64_t gantry__resize_repeats(const gantry__resize_table_t *table);

/* ---- the tables of ops; *out must be closed ---- */

typedef enum gantry__resize_images_t {
    GANTRY__IMAGES_NEAREST,
    GANTRY__IMAGES_BILINEAR,
    GANTRY__IMAGES_BICUBIC,
    GANTRY__IMAGES_AREA
} gantry__resize_images_t;

/* An axis of TensorFlow's images. */
typedef struct gantry__resize_pixels_t {
    int64_t source, result;
    bool align_corners, half_pixel_centers;
} gantry__resize_pixels_t;

gantry_status_t gantry__resize_of_images(gantry__resize_images_t method,
                                         const gantry__resize_pixels_t *pixels,
                                         const gantry__heap_t *heap, gantry__resize_table_t *out);
/* The factor of ResizeArea's axis: the number of the source's places in one of the result. */
float gantry__resize_scale(const gantry__resize_pixels_t *pixels);

/* An axis of ScaleAndTranslate. */
typedef struct gantry__resize_spans_t {
    int64_t source, result;
    float scale, translation;
    const char *kernel_type;
    bool antialias;
} gantry__resize_spans_t;

gantry_status_t gantry__resize_of_spans(const gantry__resize_spans_t *spans,
                                        const gantry__heap_t *heap, gantry__resize_table_t *out);

/* Dimension d of Resize. is_double: coordinates and weights are of float64. */
gantry_status_t gantry__resize_of_axis(const gantry__resize_call_t *call, int32_t d, bool is_double,
                                       const gantry__heap_t *heap, gantry__resize_table_t *out);

#endif
