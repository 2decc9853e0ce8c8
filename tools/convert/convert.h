/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry convert`: named tensors of files, listed, read and written.
 *
 * Files are trusted in nothing. A function that returns false must have written the reason to
 * standard error. Owner: the caller has the set and the source, and must end both. Threads:
 * externally synchronised. */
#ifndef GANTRY_TOOLS_CONVERT_H
#define GANTRY_TOOLS_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef GANTRY_TOOL_HAS_TRAIN
#include <gantry_train/checkpoint.h>
#endif

#include "common/tool.h"

typedef enum convert_format_t {
    CONVERT_NPY,
    CONVERT_NPZ,
    CONVERT_SAFETENSORS,
    CONVERT_FORMATS
} convert_format_t;

/* A tensor of a file. Its elements are read by convert_load. */
typedef struct convert_tensor_t {
    char *name;    /* "" for the array of a .npy file */
    char *problem; /* a sentence: why the entry cannot be read; NULL: it can */
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    void *data; /* row-major, in this machine's byte order; NULL: not loaded. Of lists it is loaded
                   by the list of the file */
    size_t bytes;
    /* of an .npz file: where its .npy file is, and how */
    uint64_t at, stored_bytes, npy_bytes;
    uint32_t crc;
    bool is_deflated;
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
/* Adds a last tensor without elements, and copies the name. It returns NULL if there is no
 * memory. */
convert_tensor_t *convert_set_add(convert_set_t *self, const char *path, const char *name,
                                  gantry_dtype_t dtype, const gantry_shape_t *shape);
/* The same for an entry that cannot be read. */
convert_tensor_t *convert_set_add_problem(convert_set_t *self, const char *path, const char *name,
                                          const char *problem);
void convert_tensor_deinit(convert_tensor_t *tensor);

/* ".npz" */
const char *convert_format_suffix(convert_format_t format);
/* Writes the tensors, all of which must be loaded. The file is replaced whole or not at all. */
bool convert_write(const char *path, convert_format_t format, const convert_set_t *set);

/* ---- read.c ---- */

/* An open input. Only its headers are read when it is opened. */
typedef struct convert_source_t {
    const char *path;
    convert_format_t format; /* as the first bytes show it */
    int file;                /* -1: none */
    uint64_t size;
    void *checkpoint; /* of a safetensors file */
} convert_source_t;

/* The end of a message about another file. */
#define CONVERT_ACCEPTED "; .npy, .npz and .safetensors files are accepted"

/* Opens a file and lists its tensors. The caller must close the source and deinit the set after a
 * failure, too. */
bool convert_open(const char *path, convert_source_t *out, convert_set_t *out_set);
void convert_close(convert_source_t *source);
/* Reads the elements of one tensor, which must have no problem and must have its name in the
 * file. */
bool convert_load(const convert_source_t *source, convert_tensor_t *tensor);
/* Reads the lists of integers of an entry of an .npz file, whose elements are Python's, and adds
 * them as two tensors, NAME/values and NAME/row_splits; or adds the entry with its problem. */
bool convert_add_lists(const convert_source_t *source, const convert_tensor_t *entry,
                       convert_set_t *out);
#ifndef GANTRY_TOOL_HAS_TRAIN
/* Says that this build reads and writes no safetensors, and returns false. */
bool convert_refuse_safetensors(const char *path);
#endif
/* Reads exactly `size` bytes. */
bool convert_read_at(const convert_source_t *source, uint64_t offset, void *bytes, size_t size);

/* ---- zip.c ---- */

/* The bytes of a .npy file that always contain its header. */
#define CONVERT_NPY_FRONT ((size_t)65547)

/* Lists the entries of an .npz file. */
bool convert_zip_list(const convert_source_t *source, convert_set_t *out);
/* Returns whether a tensor may have this name in a .zip: no unzip may leave its folder by it. If
 * not, *out_why says why. */
bool convert_zip_name_is_safe(const char *name, const char **out_why);

/* ---- zip_write.c ---- */

typedef bool (*convert_sink_fn)(void *user, const void *bytes, size_t size);
/* Makes an archive of stored entries. It returns false if the sink fails, or if there is no
 * memory. */
bool convert_zip_write(const convert_set_t *set, convert_sink_fn sink, void *user);

/* ---- zlib.c ---- */

uint32_t convert_crc32(uint32_t crc, const void *bytes, size_t size);
/* Returns whether this build has zlib. */
bool convert_can_inflate(void);
/* Decompresses a DEFLATE stream or its beginning into `out`, at most `room` bytes of it; returns
 * their number. *out_is_whole: the stream ended after exactly `room` bytes. */
size_t convert_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t room,
                       bool *out_is_whole);

#endif
