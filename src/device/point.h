/* SPDX-License-Identifier: Apache-2.0 */
/* A point in the order of one stream: (stream, count); device/stream.h explains it. A plain value,
 * which owns nothing and which any thread may copy; the stream must outlive it. */
#ifndef GANTRY_DEVICE_POINT_H
#define GANTRY_DEVICE_POINT_H

#include <stdint.h>

/* Streams of one logical device: GANTRY_STREAM_COMPUTE, _TO_DEVICE, _TO_HOST. */
#define GANTRY__STREAMS 3

typedef struct gantry__stream_t gantry__stream_t;

/* A point that work must wait for. stream NULL: no point. */
typedef struct gantry__point_t {
    gantry__stream_t *stream;
    uint64_t count;
} gantry__point_t;

#endif
