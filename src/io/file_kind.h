/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that was taken for a file of tensors. It reads only the bytes. Owner: constant
 * texts. Threads: thread-safe. */
#ifndef GANTRY_IO_FILE_KIND_H
#define GANTRY_IO_FILE_KIND_H

#include <stddef.h>

/* Bytes from a file's beginning that are enough. */
#define GANTRY__FILE_KIND_BYTES 512

/* A sentence without its full stop, constant text; NULL: the bytes show nothing known. */
const char *gantry__file_kind(const void *front, size_t bytes);

#endif
