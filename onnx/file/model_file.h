/* SPDX-License-Identifier: Apache-2.0 */
/* The struct of a file that was read (onnx/file/read.h). Owner: whoever read it. Threads: does not
 * change after it is made. */
#ifndef GANTRY_ONNX_MODEL_FILE_H
#define GANTRY_ONNX_MODEL_FILE_H

#include "base/os/pages.h"
#include "onnx/base/reader.h"
#include "onnx/file/read.h"

/* Bytes of a file: mapped, read into memory of its own, or of the caller. */
typedef struct gantry__onnx_content_t {
    gantry__onnx_bytes_t bytes;
    void *memory;         /* Read. */
    gantry__os_map_t map; /* Mapped. */
} gantry__onnx_content_t;

/* A file of external data. */
typedef struct gantry__onnx_external_t {
    const char *location;
    uint64_t size;
    gantry__onnx_content_t content; /* Empty if it is read when it is needed. */
} gantry__onnx_external_t;

struct gantry__onnx_file_t {
    gantry__onnx_content_t content;
    gantry__onnx_arena_t arena;
    const gantry__onnx_graph_model_t *model;
    bool reads_file, follows_links;
    int folder; /* -1: none. */
    gantry__onnx_external_t *externals;
    size_t external_count, external_capacity;
};

/* Maps an open file of this size, or reads it. path: for messages. */
gantry_status_t gantry__onnx_take_content(int file, uint64_t size, bool reads, const char *path,
                                          gantry__onnx_content_t *out_content);
void gantry__onnx_content_deinit(gantry__onnx_content_t *content);
/* Reads bytes of an open file. */
gantry_status_t gantry__onnx_read_at(int file, const char *path, uint64_t offset, void *bytes,
                                     size_t size);
/* external.c: opens the files of all external data and gives the tensors their bytes. */
gantry_status_t gantry__onnx_take_externals(gantry__onnx_file_t *file,
                                            gantry__onnx_reader_t *reader,
                                            gantry__onnx_tensor_t *const *tensors, size_t count);

#endif
