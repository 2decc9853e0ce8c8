/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a model: from a file or bytes to a checked graph, and its tensors' elements as Gantry
 * has them. The bytes are never trusted: memory and work are bounded by their count
 * (onnx/base/limits.h).
 *
 * Owner: the caller releases a file; the model, its texts and spans are the file's. Threads: a file
 * does not change after it is made, and any thread may read it. */
#ifndef GANTRY_ONNX_READ_H
#define GANTRY_ONNX_READ_H

#include "onnx/graph/graph.h"

/* A model that was read, with the bytes that it uses. */
typedef struct gantry__onnx_file_t gantry__onnx_file_t;

/* Reads a file. reads_file: reads it in place of mapping it. follows_links: external data may be
 * symbolic links, and files with more than one name. NotFound; InvalidArgument with the file, the
 * node and what is wrong; Unimplemented for a version, a rank or a type that the library lacks. */
gantry_status_t gantry__onnx_read_path(const char *path, bool reads_file, bool follows_links,
                                       gantry__onnx_file_t **out_file);
/* Reads bytes, which must live as long as the file. name: for messages. folder: of external data;
 * NULL: the model must have none. */
gantry_status_t gantry__onnx_read_bytes(const char *name, const void *bytes, size_t size,
                                        const char *folder, bool follows_links,
                                        gantry__onnx_file_t **out_file);
/* The model. */
const gantry__onnx_graph_model_t *gantry__onnx_file_model(const gantry__onnx_file_t *file);
/* Releases a file; NULL does no harm. */
void gantry__onnx_file_release(gantry__onnx_file_t *file);

/* Writes all elements of a tensor, packed, little-endian and dense, whatever way the file has them;
 * integers of 2 and 4 bits are widened to 8. size must be count times the size of
 * gantry__onnx_stored_dtype. Unimplemented for a type that Gantry does not have. */
gantry_status_t gantry__onnx_tensor_data(const gantry__onnx_file_t *file,
                                         const gantry__onnx_tensor_t *tensor, void *bytes,
                                         size_t size);
/* The elements where they can be used in place: mapped or in the caller's bytes, aligned, of a type
 * that Gantry has. NULL: gantry__onnx_tensor_data must write them. They live as long as the
 * file. */
const void *gantry__onnx_tensor_span(const gantry__onnx_file_t *file,
                                     const gantry__onnx_tensor_t *tensor);
/* Says that elements are not needed for now: pages of a mapping that only they use leave this
 * process's memory, and come back when they are read again. */
void gantry__onnx_file_forget(const gantry__onnx_file_t *file, const void *data, size_t size);

#endif
