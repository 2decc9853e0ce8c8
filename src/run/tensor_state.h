/* SPDX-License-Identifier: Apache-2.0 */
/* The struct of a tensor: where the elements are, when they are ready, and which faults may still
 * turn up.
 *
 * Owner: tensors are counted; a tensor that is in a scope's list belongs to that scope. Threads:
 * immutable once made, except for reference counts, so that any thread may read; the list links
 * belong to the owning scope's thread. */
#ifndef GANTRY_RUN_TENSOR_STATE_H
#define GANTRY_RUN_TENSOR_STATE_H

#include "device/point.h"
#include "memory/allocator.h"
#include "run/runtime_state.h"

/* Tensors up to this size on the CPU backend live inside their object. */
#define GANTRY__INLINE_BYTES 64

struct gantry__allocation_t;
struct gantry__buffer_t;
struct gantry__foreign_t;
struct gantry__shared_memory_t;
struct gantry__fault_t;

struct gantry_tensor_t {
    atomic_uint references;
    gantry_dtype_t dtype;
    gantry_runtime_t *runtime;
    gantry_logical_device_t *device;
    struct gantry__buffer_t *buffer; /* NULL: inline or empty */
    uint64_t offset_bytes;           /* the place in the buffer */
    size_t size_bytes;
    int64_t elements;
    void *data; /* the elements on a host-addressable device */
    gantry__point_t ready;
    struct gantry__fault_t **faults; /* NULL: none */
    uint32_t fault_count;
    atomic_uint map_count; /* maps that were not undone (gantry_tensor_map) */
    gantry_shape_t shape;
    gantry_scope_t *scope; /* owner, or NULL */
    struct gantry_tensor_t *next, *previous;
    /* for a tensor of a trace (run/trace_hooks.h), the trace, 0 for none, and the value there. A
     * symbolic one has no elements and no device; inline_data is its node's name. */
    uint64_t trace;
    uint32_t value;
    bool is_symbolic;
    bool is_donated; /* it ends with the op of its scope that takes it; of the scope's thread */
    bool is_own; /* made by the library for an op's input, so the device policy does not apply */
    /* aligned as the heap aligns: kernels require no more */
    _Alignas(16) unsigned char inline_data[GANTRY__INLINE_BYTES];
};

/* Makes an uninitialised tensor with memory on the device; first_stream writes it first. purpose:
 * everything but bytes. It is in no scope yet. */
gantry_status_t gantry__tensor_create(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                      gantry_dtype_t dtype, const gantry_shape_t *shape,
                                      uint32_t first_stream,
                                      const struct gantry__allocation_t *purpose,
                                      gantry_tensor_t **out_tensor);
/* The same in one of the scope's spare objects; scope NULL: in one of the runtime's. */
gantry_status_t gantry__tensor_create_at(gantry_runtime_t *runtime, gantry_scope_t *scope,
                                         gantry_logical_device_t *device, gantry_dtype_t dtype,
                                         const gantry_shape_t *shape, uint32_t first_stream,
                                         const struct gantry__allocation_t *purpose,
                                         gantry_tensor_t **out_tensor);
/* Creates a tensor for an op of the scope, in one of the scope's spare objects if it has one. */
gantry_status_t gantry__tensor_create_for(gantry_scope_t *scope, gantry_logical_device_t *device,
                                          gantry_dtype_t dtype, const gantry_shape_t *shape,
                                          const gantry__allocation_t *purpose,
                                          gantry_tensor_t **out_tensor);
/* Makes a symbolic tensor: a value of a trace, with the name of the node that makes it. */
gantry_status_t gantry__tensor_symbolic(gantry_runtime_t *runtime, gantry_dtype_t dtype,
                                        const gantry_shape_t *shape, uint64_t trace, uint32_t value,
                                        const char *name, gantry_tensor_t **out_tensor);
/* Fails with FailedPrecondition that names the node of a symbolic tensor. */
gantry_status_t gantry__tensor_fail_symbolic(const gantry_tensor_t *tensor);
/* Releases memory and faults if only the caller holds the tensor; false: nothing is changed. */
bool gantry__tensor_empty(gantry_tensor_t *tensor);
/* Gives empty tensors, linked by next, back to the runtime, which they hold; NULL: none. */
void gantry__tensor_return_all(gantry_runtime_t *runtime, gantry_tensor_t *first);
/* Makes a view of contiguous elements in source's buffer, from byte first_byte of source on. */
gantry_status_t gantry__tensor_view(const gantry_tensor_t *source, uint64_t first_byte,
                                    const gantry_shape_t *shape, gantry_tensor_t **out_tensor);
/* A view of the same memory with another shape of equally many elements. scope: whose spare objects
 * serve; NULL: none. */
gantry_status_t gantry__tensor_alias(gantry_scope_t *scope, const gantry_tensor_t *source,
                                     const gantry_shape_t *shape, gantry_tensor_t **out_tensor);
/* Uses the same memory for elements of another type, and another shape of equally many bytes. The
 * source must not be read any more. */
gantry_status_t gantry__tensor_reuse(const gantry_tensor_t *source, gantry_dtype_t dtype,
                                     const gantry_shape_t *shape, gantry_tensor_t **out_tensor);
/* Gives a tensor whose bytes are those of elements of this type its type. */
void gantry__tensor_retype(gantry_tensor_t *tensor, gantry_dtype_t dtype);
/* How many bytes from byte first_byte of the tensor on the next place is at which elements of this
 * many bytes may begin. */
uint64_t gantry__tensor_bytes_to_align(const gantry_tensor_t *tensor, uint64_t first_byte,
                                       uint64_t size);
/* Makes a tensor over the program's memory, which suits the type; the device is open, synchronous
 * and host-addressable. It is in no scope yet. On failure foreign->release is not called. */
gantry_status_t gantry__tensor_from_memory(gantry_scope_t *scope, gantry_logical_device_t *device,
                                           gantry_dtype_t dtype, const gantry_shape_t *shape,
                                           void *data, const struct gantry__foreign_t *foreign,
                                           gantry_tensor_t **out_tensor);
/* The same over device memory of the program; the device is open. */
gantry_status_t gantry__tensor_from_device_memory(gantry_scope_t *scope,
                                                  gantry_logical_device_t *device,
                                                  gantry_dtype_t dtype, const gantry_shape_t *shape,
                                                  const struct gantry__shared_memory_t *memory,
                                                  const struct gantry__foreign_t *foreign,
                                                  gantry_tensor_t **out_tensor);
/* Whether only the one owner of the tensor can reach its memory, which is a buffer, and a result
 * may be written there. */
bool gantry__tensor_is_sole(const gantry_tensor_t *tensor);
/* A copy on another device. */
gantry_status_t gantry__tensor_copy_to(const gantry_tensor_t *source,
                                       gantry_logical_device_t *device,
                                       const struct gantry__allocation_t *purpose,
                                       gantry_tensor_t **out_tensor);
/* Replaces a tensor at whose begin elements of this many bytes may not be by a copy; size 0: none
 * are. */
gantry_status_t gantry__tensor_align(gantry_tensor_t **tensor, uint64_t size,
                                     const struct gantry__allocation_t *purpose);
/* A tensor with these elements on the device, which is open; a bool that is not 0 becomes 1. tag:
 * the scope's, or NULL. */
gantry_status_t gantry__tensor_from_host(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                         gantry_dtype_t dtype, const gantry_shape_t *shape,
                                         const void *data, const char *tag,
                                         gantry_tensor_t **out_tensor);

/* The same for a scope, with its tag, in one of its spare objects if it has one. */
gantry_status_t gantry__tensor_from_host_for(gantry_scope_t *scope, gantry_logical_device_t *device,
                                             gantry_dtype_t dtype, const gantry_shape_t *shape,
                                             const void *data, gantry_tensor_t **out_tensor);

/* Whether a fault that the tensor depends on may still turn up. */
bool gantry__tensor_has_faults(const gantry_tensor_t *tensor);
/* Adds those faults of source that may still turn up. */
gantry_status_t gantry__tensor_inherit_faults(gantry_tensor_t *tensor,
                                              const gantry_tensor_t *source);
/* Takes over the caller's reference. */
gantry_status_t gantry__tensor_add_fault(gantry_tensor_t *tensor, struct gantry__fault_t *fault);
/* The first error among the tensor's faults. */
gantry_status_t gantry__tensor_settle(const gantry_tensor_t *tensor);

/* Whether the elements may be read to out, which must have room for `bytes`. */
gantry_status_t gantry__tensor_check_read(const gantry_tensor_t *tensor, const void *out,
                                          size_t bytes);
/* The elements in host memory: the tensor's own, or a copy in *out_owned (heap memory of
 * size_bytes, the caller's). Waits. */
gantry_status_t gantry__tensor_host_data(const gantry_tensor_t *tensor, const void **out_data,
                                         void **out_owned);

#endif
