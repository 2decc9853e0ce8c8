/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of safetensors, and their names there. Owner: constant data. Threads:
 * thread-safe. */
#ifndef GANTRY_SHARED_SAFETENSORS_TYPES_H
#define GANTRY_SHARED_SAFETENSORS_TYPES_H

#include <stddef.h>

#include <gantry/types.h>

/* "F32"; NULL: the format has no such type. */
const char *gantry__safetensors_type_name(gantry_dtype_t dtype);
/* GANTRY_DTYPE_NONE: Gantry has no such type. */
gantry_dtype_t gantry__safetensors_type(const char *name);
/* Returns the place of a type in the format's order, in which tensors are laid out from the last
 * type to the first; -1 if the format has no such type. */
int gantry__safetensors_rank(gantry_dtype_t dtype);

#endif
