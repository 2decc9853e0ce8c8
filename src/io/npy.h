/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files: one array each, read from and written to host memory.
 *
 * Reads format 1.0, 2.0 and 3.0 as NumPy's documentation (numpy.lib.format) defines them, in both
 * byte orders and both memory orders; writes format 1.0, byte for byte as NumPy does. Plain numbers
 * only: no objects (they would be Python code), records, text or dates. The parser trusts nothing:
 * the bytes may be hostile. Owner: it owns only the file that gantry__npy_open opens, and that the
 * caller must close. Threads: thread-safe; one file is externally synchronised. */
#ifndef GANTRY_IO_NPY_H
#define GANTRY_IO_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include <gantry/types.h>

#include "base/heap.h"

/* The content of a file's header; data points into the parsed bytes, at any alignment. */
typedef struct gantry__npy_view_t {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    bool fortran_order; /* the first index is the fastest */
    bool swapped;       /* not in this machine's byte order */
    const void *data;
    size_t data_offset; /* the offset of data from the file's first byte */
    size_t data_bytes;
} gantry__npy_view_t;

/* Parses a file. InvalidArgument: no .npy file, or a header that NumPy would refuse; Unimplemented:
 * an element type or rank that Gantry lacks, or an unknown format version; DataLoss: more or fewer
 * bytes than the header says. *out is defined only after OK. */
gantry_status_t gantry__npy_parse(const void *bytes, size_t size, gantry__npy_view_t *out);

/* Parses in the same way the file's first front_bytes, which must contain its header; *out has no
 * data. InvalidArgument if the header is longer. */
gantry_status_t gantry__npy_parse_front(const void *front, size_t front_bytes, uint64_t size,
                                        gantry__npy_view_t *out);

/* Copies the elements to target (data_bytes, aligned for the type) in row-major order and this
 * machine's byte order; bools become 0 or 1. */
void gantry__npy_copy(const gantry__npy_view_t *view, void *target);

/* Large enough for every header that gantry__npy_header makes. */
#define GANTRY__NPY_HEADER_BYTES 384

/* Writes the bytes before the data of a row-major array, and their number (a multiple of 64).
 * Unimplemented for a type that NumPy has no name for; InvalidArgument for an invalid shape. */
gantry_status_t gantry__npy_header(gantry_dtype_t dtype, const gantry_shape_t *shape,
                                   char out[GANTRY__NPY_HEADER_BYTES], size_t *out_bytes);

/* An array in a file, of which only the header is in memory. */
typedef struct gantry__npy_file_t {
    gantry__npy_view_t array; /* the array, without data */
    const char *path;         /* the caller's */
    int file;
    size_t left; /* bytes of elements that are still to be read */
} gantry__npy_file_t;

/* Reads and checks the header, and checks that the file has the length that the header says, at
 * most max_bytes. Failures name the path; the caller must close the file also after a failure. */
gantry_status_t gantry__npy_open(const gantry__heap_t *heap, const char *path, size_t max_bytes,
                                 gantry__npy_file_t *out);
/* Reads the next elements in row-major order and this machine's byte order, bools as 0 or 1. bytes
 * must be a whole number of elements, and all of them if the array is in Fortran order. DataLoss if
 * the file's length changed meanwhile. */
gantry_status_t gantry__npy_read(const gantry__heap_t *heap, gantry__npy_file_t *file, void *target,
                                 size_t bytes);
void gantry__npy_close(gantry__npy_file_t *file);

#endif
