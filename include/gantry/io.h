/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from and to files. NumPy's .npy format, versions 1 to 3 read, 1.0 written. A path is
 * UTF-8. */
#ifndef GANTRY_IO_H
#define GANTRY_IO_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Placed by the scope's device. NULL after an error, kept by the scope: NotFound, InvalidArgument
 * (no .npy file, or no plain file: a directory, a device, a pipe), DataLoss (truncated or damaged),
 * Unimplemented (a type Gantry does not have). The file is read as it is checked, to where the
 * tensor lies; a device gets it in blocks of 4 MiB, but for Fortran order, which the host turns
 * as a whole. */
GANTRY_API const gantry_tensor_t *gantry_load_npy(gantry_scope_t *scope, const char *path);
/* Replaces the file whole or not at all. Waits for the tensor. */
GANTRY_API gantry_status_t gantry_save_npy(gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                           const char *path);

#ifdef __cplusplus
}
#endif
#endif
