/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of reading a model has: the bytes, memory and work with their bounds, and where
 * in the model it is, for messages.
 *
 * Owner: the reader has its arenas; what is in `model` outlives it when its owner takes that arena.
 * Threads: externally synchronised. */
#ifndef GANTRY_ONNX_READER_H
#define GANTRY_ONNX_READER_H

#include <stdbool.h>

#include "onnx/base/arena.h"
#include "onnx/base/bytes.h"
#include "shared/fail.h"

/* The node that is being read; op NULL: none. */
typedef struct gantry__onnx_place_t {
    gantry__onnx_bytes_t node, op, function;
    int64_t version; /* 0: not known. */
    uint64_t index;
    bool in_node, in_function;
} gantry__onnx_place_t;

/* The state of reading one model. */
typedef struct gantry__onnx_reader_t {
    const char *path; /* For messages. */
    gantry__onnx_bytes_t bytes;
    gantry__onnx_arena_t messages, model; /* Until the model is made; of the model. */
    uint64_t work, most_bytes;            /* most_bytes: the model's bound. */
    gantry__onnx_place_t place;
} gantry__onnx_reader_t;

/* Makes a reader of bytes, with bounds after their count. */
void gantry__onnx_reader_init(gantry__onnx_reader_t *reader, const char *path, const void *bytes,
                              size_t size);
void gantry__onnx_reader_deinit(gantry__onnx_reader_t *reader);

/* Makes room for one more item in a list, as gantry__grow, within the bound of the model. */
gantry_status_t gantry__onnx_grow_list(gantry__onnx_reader_t *reader, void *items_ptr, size_t count,
                                       size_t *capacity, size_t item_bytes);
/* Takes bytes from the model's bound for what is not in its arena; fails when they are too many. */
gantry_status_t gantry__onnx_charge(gantry__onnx_reader_t *reader, uint64_t bytes);
/* Counts steps; fails when they are too many for the bytes. */
gantry_status_t gantry__onnx_work(gantry__onnx_reader_t *reader, uint64_t steps);
/* Zeroed memory of the model, or of the messages; NULL after a failure, which is reported. */
void *gantry__onnx_model_alloc(gantry__onnx_reader_t *reader, size_t count, size_t item_bytes);
void *gantry__onnx_message_alloc(gantry__onnx_reader_t *reader, size_t count, size_t item_bytes);
/* Copies a text into the model's memory and ends it by a zero. what: "the name of an input".
 * Refuses a zero within it, and more than most bytes. */
gantry_status_t gantry__onnx_copy_text(gantry__onnx_reader_t *reader, gantry__onnx_bytes_t text,
                                       size_t most, const char *what, const char **out_text);

/* Fails with the file and the place in it: "PATH: node 'Conv_12' (Conv, opset 12): TEXT". */
gantry_status_t gantry__onnx_fail(const gantry__onnx_reader_t *reader, gantry_status_t status,
                                  const char *format, ...) GANTRY__PRINTF(3, 4);
/* Refuses the file. */
#define gantry__onnx_bad(reader, ...) \
    gantry__onnx_fail((reader), GANTRY_INVALID_ARGUMENT, __VA_ARGS__)
/* Refuses what the library lacks. */
#define gantry__onnx_lacks(reader, ...) \
    gantry__onnx_fail((reader), GANTRY_UNIMPLEMENTED, __VA_ARGS__)
/* A text for %.*s: at most 200 bytes of it. */
#define GANTRY__ONNX_SHOWN(text) \
    ((int)((text).size < 200 ? (text).size : 200)), ((text).size ? (const char *)(text).data : "")

#endif
