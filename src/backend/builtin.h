/* SPDX-License-Identifier: Apache-2.0 */
/* Backends and kernel packs that are linked into the library; the build writes the lists. Owner:
 * constant data. Threads: thread-safe. */
#ifndef GANTRY_BACKEND_BUILTIN_H
#define GANTRY_BACKEND_BUILTIN_H

#include <gantry/backend_abi.h>

typedef struct gantry__builtin_backend_t {
    const char *name;
    gantry_backend_query_fn query;
} gantry__builtin_backend_t;

extern const gantry__builtin_backend_t gantry__builtin_backends[];
extern const size_t gantry__builtin_backend_count;

/* A backend that this build knows but does not contain: the reason when no module of the name is
 * found either. */
typedef struct gantry__absent_backend_t {
    const char *name;
    const char *reason;
} gantry__absent_backend_t;

extern const gantry__absent_backend_t gantry__absent_backends[]; /* ends with a NULL name */

/* The names of both, in the order of the alphabet; ends with NULL. */
extern const char *const gantry__own_backends[];

extern const gantry_kernel_pack_query_fn gantry__builtin_packs[];
extern const size_t gantry__builtin_pack_count;

#endif
