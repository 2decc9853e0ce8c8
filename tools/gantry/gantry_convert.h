/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry convert`: named tensors in host memory, read from and written to files.
 *
 * Files are trusted in nothing. Functions that return false have told the reason on standard
 * error. Owns the set. Externally synchronised. */
#ifndef GANTRY_TOOLS_GANTRY_CONVERT_H
#define GANTRY_TOOLS_GANTRY_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef GANTRY_TOOL_HAS_TRAIN
#include <gantry_train/checkpoint.h>
#endif

#include "gantry_tool.h"

typedef enum convert_format_t {
    CONVERT_NPY,
    CONVERT_NPZ,
    CONVERT_SAFETENSORS,
    CONVERT_FORMATS
} convert_format_t;

typedef struct convert_tensor_t {
    char *name; /* "" for the array of a .npy file */
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    void *data; /* row-major, in this machine's byte order; not NULL */
    size_t bytes;
} convert_tensor_t;

typedef struct convert_text_t {
    char *key, *value;
} convert_text_t;

typedef struct convert_set_t {
    convert_tensor_t *tensors;
    size_t count, capacity;
    convert_text_t *texts; /* the metadata of safetensors */
    size_t text_count;
} convert_set_t;

void convert_set_deinit(convert_set_t *self);
/* The new last tensor, with data of `bytes` bytes to fill; NULL: no memory. Copies the name. */
convert_tensor_t *convert_set_add(convert_set_t *self, const char *path, const char *name,
                                  gantry_dtype_t dtype, const gantry_shape_t *shape);

/* ".npz" */
const char *convert_format_suffix(convert_format_t format);
/* The format that the file's first bytes show. */
bool convert_detect(const char *path, convert_format_t *out);
/* Reads all tensors. Deinit the set also after a failure. */
bool convert_read(const char *path, convert_format_t format, convert_set_t *out);
/* Replaces the file whole or not at all. */
bool convert_write(const char *path, convert_format_t format, const convert_set_t *set);

/* ---- gantry_convert_zip.c ---- */

/* Adds the arrays of an .npz file, whose bytes are in memory. */
bool convert_zip_read(const char *path, const unsigned char *bytes, size_t size,
                      convert_set_t *out);
/* Whether a tensor may have this name in a .zip: no unzip leaves its folder. Else why. */
bool convert_zip_name_is_safe(const char *name, const char **out_why);

/* ---- gantry_convert_zip_write.c ---- */

typedef bool (*convert_sink_fn)(void *user, const void *bytes, size_t size);
/* Makes an archive of stored entries. False if the sink fails, or there is no memory. */
bool convert_zip_write(const convert_set_t *set, convert_sink_fn sink, void *user);

/* ---- gantry_convert_inflate.c ---- */

uint32_t convert_crc32(uint32_t crc, const void *bytes, size_t size);
/* Decompresses a DEFLATE stream (RFC 1951) of exactly out_bytes bytes. */
bool convert_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t out_bytes);

#endif
