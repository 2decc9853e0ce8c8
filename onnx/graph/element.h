/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of ONNX (elements.def). Threads: constant. */
#ifndef GANTRY_ONNX_ELEMENT_H
#define GANTRY_ONNX_ELEMENT_H

#include "onnx/graph/graph.h"

/* The field of numbers that a type uses. */
typedef enum gantry__onnx_field_of_t {
    GANTRY__ONNX_IN_FLOATS,
    GANTRY__ONNX_IN_INTS,
    GANTRY__ONNX_IN_LONGS,
    GANTRY__ONNX_IN_UNSIGNED,
    GANTRY__ONNX_IN_DOUBLES,
    GANTRY__ONNX_IN_TEXTS
} gantry__onnx_field_of_t;

/* A row of elements.def. */
typedef struct gantry__onnx_element_t {
    const char *name;
    uint32_t bits;
    gantry_dtype_t dtype, stored;
    gantry__onnx_field_of_t field;
    int64_t least, most;
} gantry__onnx_element_t;

/* A float of 4 or 8 bits that Gantry does not have; its numbers are in float32. */
typedef struct gantry__onnx_small_float_t {
    int32_t number;     /* ONNX's. */
    int fraction, bias; /* Bits of the fraction; what is added to the exponent. */
    float most;         /* The largest number. */
} gantry__onnx_small_float_t;

/* The float of ONNX's number; NULL: it is no such float. */
const gantry__onnx_small_float_t *gantry__onnx_small_float(int64_t number);
/* The number of a code. */
float gantry__onnx_small_value(const gantry__onnx_small_float_t *type, uint32_t code);

/* The row of a type; NULL: ONNX has none of this number. */
const gantry__onnx_element_t *gantry__onnx_element(int64_t type);
/* Whether Gantry's elements are other bytes than those of raw_data: they are larger. */
bool gantry__onnx_is_packed(const gantry__onnx_element_t *element);
/* Bytes of so many elements, packed as in raw_data. */
uint64_t gantry__onnx_packed_bytes(const gantry__onnx_element_t *element, int64_t count);

#endif
