/* SPDX-License-Identifier: Apache-2.0 */
/* The format safetensors: the header's text, made and parsed.
 *
 *     bytes 0..7    H, the header's length, little-endian
 *           8..     H bytes of JSON, blanks at the end
 *           then    the elements, little-endian and row-major, without gaps
 *
 *     {"__metadata__":{"epoch":"3"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
 *
 * The parser trusts nothing. It is stricter than JSON: no duplicate keys, no other keys and kinds
 * of values than these. Owner: the caller has a parsed header, and must call deinit. Threads:
 * externally synchronised. Format: https://huggingface.co/docs/safetensors */
#ifndef GANTRY_SHARED_SAFETENSORS_H
#define GANTRY_SHARED_SAFETENSORS_H

#include <stdbool.h>

#include <gantry/types.h>

#include "shared/fail.h"

#define GANTRY__SAFETENSORS_LENGTH_BYTES 8
/* The longest header, as the format's authors have it. */
#define GANTRY__SAFETENSORS_HEADER_BYTES UINT64_C(100000000)

/* Host memory for headers, as the heap of each library gives it. ptr NULL: allocate; new_bytes 0:
 * free, returns NULL; else resize, or return NULL, with ptr as before and ResourceExhausted as the
 * thread's last message. */
typedef struct gantry__safetensors_memory_t {
    void *(*reallocate)(void *user, void *ptr, size_t old_bytes, size_t new_bytes);
    void *user;
} gantry__safetensors_memory_t;

/* An entry of __metadata__. */
typedef struct gantry__safetensors_text_t {
    const char *key, *value;
} gantry__safetensors_text_t;

/* A tensor of a file. begin and end count from the first element. */
typedef struct gantry__safetensors_tensor_t {
    const char *name;
    gantry_dtype_t dtype; /* GANTRY_DTYPE_NONE: type_name is none of Gantry's */
    const char *type_name;
    gantry_shape_t shape;
    uint64_t dim_count; /* may be more than shape can hold */
    uint64_t begin, end;
    size_t source; /* the index of the entry that is saved */
} gantry__safetensors_tensor_t;

/* A parsed header; the lists are sorted by name and key. */
typedef struct gantry__safetensors_t {
    gantry__safetensors_tensor_t *tensors;
    size_t count, capacity;
    gantry__safetensors_text_t *texts;
    size_t text_count, text_capacity;
    char *strings; /* all names, keys and texts */
    size_t string_bytes;
    gantry__safetensors_memory_t memory;
} gantry__safetensors_t;

/* Returns Unimplemented on a big-endian machine. */
gantry_status_t gantry__safetensors_check_machine(void);

/* Checks the first 8 bytes of a file of file_bytes, and reports the header's length. */
gantry_status_t gantry__safetensors_length(const unsigned char bytes[8], uint64_t file_bytes,
                                           uint64_t *out_header_bytes);
/* Parses a header, which data_bytes of elements follow. A tensor of a foreign type does not hide
 * the others. The caller must call deinit after a failure, too. */
gantry_status_t gantry__safetensors_parse(const gantry__safetensors_memory_t *memory,
                                          const char *header, size_t header_bytes,
                                          uint64_t data_bytes, gantry__safetensors_t *out);
void gantry__safetensors_deinit(gantry__safetensors_t *header);
/* Returns Unimplemented, with the reason, for a tensor of a type or a rank that Gantry does not
 * have. */
gantry_status_t gantry__safetensors_check_readable(const gantry__safetensors_tensor_t *tensor);
/* Returns the tensor of that name, or NULL. */
const gantry__safetensors_tensor_t *gantry__safetensors_find(const gantry__safetensors_t *header,
                                                             const char *name);

/* Returns the bytes of the well-formed UTF-8 character at text, of which `left` bytes may be read;
 * 0 if it is malformed. */
size_t gantry__safetensors_utf8(const char *text, size_t left);

/* Sorts tensors as the format's authors do, by type and then by name, so that each is aligned to
 * its elements, and sets their offsets. */
void gantry__safetensors_lay_out(gantry__safetensors_tensor_t *tensors, size_t count);
/* Makes the first bytes of a file, up to the elements. The caller must free *out_bytes, memory of
 * *out_capacity bytes. */
gantry_status_t gantry__safetensors_write(const gantry__safetensors_memory_t *memory,
                                          const gantry__safetensors_tensor_t *tensors, size_t count,
                                          const gantry__safetensors_text_t *texts,
                                          size_t text_count, char **out_bytes, size_t *out_size,
                                          size_t *out_capacity);

#endif
