/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensors from and to files in NumPy's .npy format. Gantry reads versions 1 to 3 and writes
 * 1.0. A path is UTF-8. */
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
/** Waits for the tensor and writes it to a file. Replaces the file whole or not at all. */
GANTRY_API gantry_status_t gantry_save_npy(gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                           const char *path);

#ifdef __cplusplus
}
#endif
#endif
