/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls for DLPack share: structs of both forms are read, held and given back.
 *
 * Owner: a struct is the program's until a call succeeds; then Gantry calls its deleter once.
 * Threads: thread-safe, but for what takes a scope. */
#ifndef GANTRY_API_DLPACK_H
#define GANTRY_API_DLPACK_H

#include <gantry/dlpack.h>

#include "api/dlpack_abi.h"
#include "api/interop.h"

/* A struct that a program gave. */
typedef struct gantry__dl_taken_t {
    const char *call;                           /* the public call's name, for messages */
    struct DLManagedTensorVersioned *versioned; /* NULL: it is old */
    struct DLManagedTensor *old;
    const gantry__dl_tensor_t *tensor;
    uint64_t flags;
} gantry__dl_taken_t;

/* ---- dlpack_read.c ---- */

/* Reads the struct of host memory: type, shape, size and address, which were checked with all that
 * the strides reach. */
gantry_status_t gantry__dlpack_read(const gantry__dl_taken_t *taken, gantry__memory_t *out_memory);
bool gantry__dlpack_is_row_major(const gantry_shape_t *shape, const int64_t *strides);

/* ---- dlpack_held.c: a struct that a tensor uses ---- */

typedef struct gantry__dl_held_t gantry__dl_held_t;

/* Marks the struct as Gantry's: until it is released, it is not taken again, and a program that
 * calls its deleter has no effect but a line of the log. InvalidArgument for one that is marked. */
gantry_status_t gantry__dlpack_hold(gantry_runtime_t *runtime, const gantry__dl_taken_t *taken,
                                    gantry__dl_held_t **out_held);
/* The struct is the program's again, as it was. */
void gantry__dlpack_unhold(gantry__dl_held_t *held);
/* A gantry_release_fn: calls the deleter. */
void gantry__dlpack_release(void *held);

/* ---- dlpack_take.c, dlpack_give.c ---- */

/* Takes a struct; *out_tensor is the scope's. */
gantry_status_t gantry__dlpack_take(gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
                                    const gantry_from_dlpack_options_t *options, const char *call,
                                    gantry_tensor_t **out_tensor);
/* Gives a struct. options are the program's, or NULL. */
gantry_status_t gantry__dlpack_give(const gantry_tensor_t *tensor,
                                    const gantry_to_dlpack_options_t *options, const char *call,
                                    struct DLManagedTensorVersioned **out_managed);
/* Another reference to a given struct, for a consumer that may or may not call the deleter. */
void gantry__dlpack_keep(struct DLManagedTensorVersioned *given);
/* Returns whether it was the last one. */
bool gantry__dlpack_drop(struct DLManagedTensorVersioned *given);

#endif
