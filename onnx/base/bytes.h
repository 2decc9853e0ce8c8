/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that somebody else has. Owner: whoever has them. Threads: a value. */
#ifndef GANTRY_ONNX_BYTES_H
#define GANTRY_ONNX_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the file, or of the caller. */
typedef struct gantry__onnx_bytes_t {
    const uint8_t *data;
    size_t size;
} gantry__onnx_bytes_t;

#endif
