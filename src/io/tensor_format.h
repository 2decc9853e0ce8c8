/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an array, laid out as NumPy prints it: str(array), NumPy 2.4; or as TensorFlow 2.21
 * prints a tensor of it: str(tensor).
 *
 * Works on row-major host memory; the caller reads a device's tensor. Owns nothing. Thread-safe. */
#ifndef GANTRY_IO_TENSOR_FORMAT_H
#define GANTRY_IO_TENSOR_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/types.h>

#include "base/text.h"

/* NumPy's print options; 0 in a field means the default. */
typedef struct gantry__format_options_t {
    int32_t precision;  /* the most digits after the point, 1 to 32; default 8 */
    int64_t threshold;  /* an array with more elements shows its edges only; default 1000 */
    int32_t edge_items; /* shown at each end of an axis; default 3 */
    int32_t line_width; /* characters; default 75 */
    bool suppress;      /* small numbers make no exponents */
    bool as_tensorflow; /* with the frame, and bfloat16 and the float8 as ml_dtypes writes them */
} gantry__format_options_t;

/* Appends the text and returns the bytes appended. Failures (out of memory) are sticky in out: see
 * gantry__text_status. options may be NULL. data may be NULL if the shape is empty. An invalid type
 * or shape appends "<invalid>". */
size_t gantry__format_array(gantry_dtype_t dtype, const gantry_shape_t *shape, const void *data,
                            const gantry__format_options_t *options, gantry__text_t *out);

#endif
