/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the data of tensors, which may be in the model's folder only. A path is walked one
 * folder at a time, from an open folder, so that nothing that is renamed meanwhile leads out of it.
 *
 * Owner: the caller closes what it opened. Threads: thread-safe. */
#ifndef GANTRY_ONNX_FOLDER_H
#define GANTRY_ONNX_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/status.h>

/* Opens the folder of a file. */
gantry_status_t gantry__onnx_open_folder_of(const char *path, int *out_folder);
/* Opens a folder. */
gantry_status_t gantry__onnx_open_folder(const char *path, int *out_folder);
/* Opens a file of the folder for reading; location was checked by gantry__onnx_make_external.
 * Without follows_links a symbolic link, and a file with other names (hard links), is refused. It
 * must be a regular file. model and tensor: for messages. */
gantry_status_t gantry__onnx_open_external(int folder, const char *location, bool follows_links,
                                           const char *model, const char *tensor, int *out_file,
                                           uint64_t *out_size);

#endif
