/* SPDX-License-Identifier: Apache-2.0 */
/* A map from a name in a scope to a number. Names stay where they are, in the file's bytes.
 * Owner: the caller has the map. Threads: externally synchronised. */
#ifndef GANTRY_ONNX_NAMES_H
#define GANTRY_ONNX_NAMES_H

#include "onnx/base/reader.h"

struct gantry__onnx_name_t;

/* A map. Zero is empty. */
typedef struct gantry__onnx_names_t {
    struct gantry__onnx_name_t *entries;
    size_t count, capacity; /* capacity: a power of two. */
} gantry__onnx_names_t;

/* Whether two texts are equal. */
bool gantry__onnx_equal(gantry__onnx_bytes_t a, gantry__onnx_bytes_t b);
/* Whether a text is the literal. */
bool gantry__onnx_is(gantry__onnx_bytes_t a, const char *literal);

/* Finds the number of a name in a scope; *out_found false: there is none. Fails when names that
 * were chosen to collide take too much work. */
gantry_status_t gantry__onnx_find_name(gantry__onnx_reader_t *reader,
                                       const gantry__onnx_names_t *names, uint32_t scope,
                                       gantry__onnx_bytes_t name, uint32_t *out_number,
                                       bool *out_found);
/* Adds a name, or gives one that is there another number. */
gantry_status_t gantry__onnx_set_name(gantry__onnx_reader_t *reader, gantry__onnx_names_t *names,
                                      uint32_t scope, gantry__onnx_bytes_t name, uint32_t number);
void gantry__onnx_names_deinit(gantry__onnx_names_t *names);

#endif
