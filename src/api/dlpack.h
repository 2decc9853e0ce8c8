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

/* The bytes before the first element, and from there on, that the strides reach. */
typedef struct gantry__dl_extent_t {
    uint64_t before, after;
} gantry__dl_extent_t;

bool gantry__dlpack_is_host(const gantry__dl_tensor_t *tensor);
/* Reads the struct: device type, type, shape, size and the address of the first element (of OpenCL:
 * the cl_mem), which were checked with all that the strides reach. */
gantry_status_t gantry__dlpack_read(const gantry__dl_taken_t *taken, gantry__memory_t *out_memory,
                                    gantry__dl_extent_t *out_extent);
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

/* ---- dlpack_device.c: memory of OpenCL and CUDA ---- */

bool gantry__dlpack_is_device(const gantry__dl_tensor_t *tensor);
/* Whether a program's stream is one that work waits for: not NULL, nor GANTRY_DLPACK_NO_STREAM. */
bool gantry__dlpack_is_queue(const void *stream);
/* Takes a struct of device memory; *out_tensor is the scope's. */
gantry_status_t gantry__dlpack_take_device(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
                                           const gantry_from_dlpack_options_t *options,
                                           gantry_tensor_t **out_tensor);
/* Describes the tensor's memory, which its device shares. */
gantry_status_t gantry__dlpack_describe_device(const gantry_tensor_t *tensor,
                                               gantry__dl_tensor_t *out);
/* Waits for the tensor, or makes the stream wait; *out_queue is one to close (NULL: none). */
gantry_status_t gantry__dlpack_order(const gantry_tensor_t *tensor, void *stream,
                                     gantry_backend_stream_t **out_queue);

/* ---- dlpack_take.c, dlpack_give.c ---- */

/* Whether the memory may be written: it is a copy for the consumer. */
bool gantry__dlpack_is_writable(const gantry__dl_taken_t *taken);
/* Takes a struct; *out_tensor is the scope's. options were read. */
gantry_status_t gantry__dlpack_take(gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
                                    const gantry_from_dlpack_options_t *options, const char *call,
                                    gantry_tensor_t **out_tensor);
/* Gives a struct. options were read. */
gantry_status_t gantry__dlpack_give(const gantry_tensor_t *tensor,
                                    const gantry_to_dlpack_options_t *options, const char *call,
                                    struct DLManagedTensorVersioned **out_managed);
/* Another reference to a given struct, for a consumer that may or may not call the deleter. */
void gantry__dlpack_keep(struct DLManagedTensorVersioned *given);
/* Returns whether it was the last one. */
bool gantry__dlpack_drop(struct DLManagedTensorVersioned *given);

#endif
