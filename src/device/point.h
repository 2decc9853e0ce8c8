/* SPDX-License-Identifier: Apache-2.0 */
/* A point in the order of one stream: (stream, count), see device/stream.h. A plain value. */
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
