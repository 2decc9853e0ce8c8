/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensors from and to files in NumPy's .npy format. Gantry reads versions 1 to 3 and writes 1.0. A
 * path is UTF-8.
 *
 * The scope owns the tensors that are loaded; buffers are the caller's. Thread-safe, except for the
 * scope, which belongs to one thread. */
#ifndef GANTRY_IO_H
#define GANTRY_IO_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Loads a tensor onto the scope's device.
 *
 * Returns NULL after an error, and the scope keeps it: NotFound; InvalidArgument (no .npy file,
 * or a directory, a device or a pipe); DataLoss (truncated or damaged); Unimplemented (a type
 * that Gantry does not have). The elements are read directly into the tensor; a device gets
 * them in blocks of 4 MiB. An array in Fortran order is transposed on the host first, as a
 * whole. */
GANTRY_API const gantry_tensor_t *gantry_load_npy(gantry_scope_t *scope, const char *path);
/** The same without a copy where the scope's device is a CPU device: the tensor is over a private,
 * read-only mapping of the file, which ends with the last use of the tensor. Gantry never writes
 * there; the elements count as foreign_bytes of gantry_memory_info_t and not against limits, and
 * the system reads a page when it is used. Another device gets the elements from the mapping.
 *
 * Until then nobody may change the file, in this process or another: a page that a shorter file
 * lacks ends the process by SIGBUS. It may be removed, or replaced as gantry_save_npy does. For a
 * file that others may write, gantry_load_npy is the call.
 *
 * The elements are copied if they are in Fortran order or another byte order, do not begin at a
 * multiple of their size, or are bools other than 0 and 1; gantry_get_tensor_memory says so. */
GANTRY_API const gantry_tensor_t *gantry_map_npy(gantry_scope_t *scope, const char *path);
/** Waits for the tensor and writes it to a file. Replaces the file whole or not at all. */
GANTRY_API gantry_status_t gantry_save_npy(gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                           const char *path);

/** Parses a .npy file that is in memory. *out_dtype and *out_shape describe its array. out (may be
 * NULL, which only asks for them) gets the elements, row-major and in this machine's byte order;
 * it is aligned for the type, and out_bytes is their exact size. Failures are those of
 * gantry_load_npy. Thread-safe. */
GANTRY_API gantry_status_t gantry_parse_npy(const void *npy, size_t npy_bytes,
                                            gantry_dtype_t *out_dtype, gantry_shape_t *out_shape,
                                            void *out, size_t out_bytes);
/** Parses the beginning of a .npy file that has npy_bytes bytes: front_bytes of them, at front,
 * which are to contain its header; 65547 always do. *out_offset is where the elements begin. An
 * array may be in Fortran order or another byte order. Failures are those of gantry_load_npy, and
 * InvalidArgument if the header is longer than front. Thread-safe. */
GANTRY_API gantry_status_t gantry_parse_npy_header(const void *front, size_t front_bytes,
                                                   uint64_t npy_bytes, gantry_dtype_t *out_dtype,
                                                   gantry_shape_t *out_shape, uint64_t *out_offset);
/** The most bytes that gantry_format_npy_header writes. */
#define GANTRY_NPY_HEADER_BYTES 384
/** Writes the bytes of a .npy file in front of the elements, which follow row-major and in this
 * machine's byte order. *out_size is their number. Unimplemented for a type that NumPy does not
 * have: bfloat16. Thread-safe. */
GANTRY_API gantry_status_t gantry_format_npy_header(gantry_dtype_t dtype,
                                                    const gantry_shape_t *shape,
                                                    char out[GANTRY_NPY_HEADER_BYTES],
                                                    size_t *out_size);

/** Loads the elements of a tensor from an open file, from byte offset on, onto the scope's device:
 * row-major and in this machine's byte order. A bool that is not 0 becomes 1. The file is a plain
 * one, its position stays, and path names it in messages. The elements are read directly into the
 * tensor; a device gets them in blocks of 4 MiB, so that the host never holds all of them.
 *
 * Returns NULL after an error, and the scope keeps it: InvalidArgument: an offset below 0, no plain
 * file or a shape that is none; DataLoss: the file ends before the elements do. */
GANTRY_API const gantry_tensor_t *gantry_load_elements(gantry_scope_t *scope, int file,
                                                       const char *path, int64_t offset,
                                                       gantry_dtype_t dtype, gantry_shape_t shape);

/** Makes a tensor of the same elements without a copy where the scope's device is a CPU device, by
 * a mapping of the file; what gantry_map_npy says holds. file may be closed. Failures are those of
 * gantry_load_elements. */
GANTRY_API const gantry_tensor_t *gantry_map_elements(gantry_scope_t *scope, int file,
                                                      const char *path, int64_t offset,
                                                      gantry_dtype_t dtype, gantry_shape_t shape);

/** Says what a file is that was taken for a file of tensors, by its first bytes, of which 512 are
 * enough: a Git LFS pointer, an error message of a site (HTML, XML, JSON), an archive or compressed
 * file, or another format, such as HDF5, GGUF, ONNX, a TensorFlow SavedModel, a Python pickle, .npy
 * and .zip. A constant text, such as "it is an HTML page, ...", or NULL: nothing known, or what may
 * be a safetensors file. Thread-safe. */
GANTRY_API const char *gantry_recognize_file(const void *front, size_t front_bytes);

#ifdef __cplusplus
}
#endif
#endif
