/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls for memory and for DLPack share.
 *
 * Owner: the scope owns the tensor that is made; the memory stays the program's. Threads: only the
 * scope's thread may call gantry__from_memory. */
#ifndef GANTRY_API_INTEROP_H
#define GANTRY_API_INTEROP_H

#include <gantry/interop.h>

#include "device/sharing.h"

typedef struct gantry__memory_t {
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    void *data;
    size_t bytes; /* the size of the shape and type */
    gantry_from_memory_options_t options;
    gantry_logical_device_t *device; /* NULL: the host's; another is open, and may get a copy */
} gantry__memory_t;

/* Makes a tensor of memory that was checked, in place or as a copy. On failure the options' release
 * is not called. */
gantry_status_t gantry__from_memory(gantry_scope_t *scope, const gantry__memory_t *memory,
                                    const char *call, gantry_tensor_t **out_tensor);

/* Makes a tensor of the elements of an open file from offset on, on the scope's device: memory has
 * their type, shape and size, and the file was found to have as many bytes. */
gantry_status_t gantry__from_file(gantry_scope_t *scope, int file, const char *path,
                                  uint64_t offset, const gantry__memory_t *memory, const char *call,
                                  gantry_tensor_t **out_tensor);

/* Initialises the runtime and opens the host's device. */
gantry_status_t gantry__open_host(gantry_scope_t *scope, gantry_logical_device_t **out_host);

/* Device memory of the program, as a call describes it. */
typedef struct gantry__from_device_t {
    const char *call; /* the public call's name in messages */
    const gantry_logical_device_t *device;
    gantry_dtype_t dtype;
    const gantry_shape_t *shape;
    gantry__shared_memory_t memory; /* its sizes and its event follow */
    gantry_from_device_memory_options_t options;
} gantry__from_device_t;

/* Checks the memory and makes a tensor over it, which is in no scope yet. On failure the options'
 * release is not called. */
gantry_status_t gantry__from_device(gantry_scope_t *scope, gantry__from_device_t *from,
                                    gantry_tensor_t **out_tensor);

/* Whether the host may read the tensor's memory. */
bool gantry__is_mappable(const gantry_tensor_t *tensor);
/* Checks that the tensor has elements in a memory. call is the public call's name in messages. */
gantry_status_t gantry__check_concrete(const gantry_tensor_t *tensor, const char *call);

#endif
