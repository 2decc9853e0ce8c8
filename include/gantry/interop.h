/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Memory that tensors and the program share, without a copy: tensors over the program's memory, and
 * the elements of tensors read in place; and the contexts, queues and events of drivers that both
 * use.
 *
 * Memory that a tensor uses must stay as it is, and must not be freed, until release is called.
 * Calls that take a scope, which only one thread at a time may use, are for that thread; the other
 * calls are thread-safe. docs/interop.md shows programs. */
#ifndef GANTRY_INTEROP_H
#define GANTRY_INTEROP_H

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of gantry_tensor_from_memory. */
typedef struct gantry_from_memory_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Refuses memory that cannot be used in place with FailedPrecondition; false: it is copied. */
    bool requires_no_copy;
    /** Results may be written to the memory when nobody else uses the tensor (gantry_donate);
     * false: Gantry only reads it. */
    bool is_writable;
    /** Is called once, when no tensor and no work uses the memory any more, by the thread that ends
     * the last use: often in gantry_tensor_release, gantry_scope_end or gantry_function_release. It
     * must not call Gantry. May be NULL. */
    gantry_release_fn release;
    void *user; /**< The argument of release. */
} gantry_from_memory_options_t;

/** Makes a tensor over the bytes at data, row-major, on /CPU:0, whatever the scope's device is.
 * bytes is their total size.
 *
 * The memory is used in place if its address is a multiple of the element's size and each bool is 0
 * or 1; a kernel of another device gets a copy as of every tensor. Otherwise, and if the tensor has
 * no elements, it is copied and release is called before this returns; gantry_get_tensor_memory
 * says which. The memory counts as foreign_bytes of gantry_memory_info_t and not against limits.
 * In a traced body the tensor is a constant, which the function holds.
 *
 * options may be NULL. On failure release is not called, and the memory is the caller's. */
GANTRY_API const gantry_tensor_t *gantry_tensor_from_memory(
    gantry_scope_t *scope, gantry_dtype_t dtype, gantry_shape_t shape, void *data, size_t bytes,
    const gantry_from_memory_options_t *options);

/** Where the elements of a tensor are. */
typedef struct gantry_tensor_memory_t {
    uint32_t struct_size; /**< Its sizeof. */
    bool is_foreign;      /**< The program's memory, or a file. */
    bool is_writable;     /**< Results may be written to it; true for Gantry's own memory. */
    bool is_mappable;     /**< gantry_tensor_map gives the elements in place. */
    uint32_t map_count;   /**< Calls of gantry_tensor_map that were not undone. */
} gantry_tensor_memory_t;

/** Reads where the elements are. It does not wait for the tensor. out_memory->struct_size must be
 * set. InvalidArgument for a tensor of a trace. */
GANTRY_API gantry_status_t gantry_get_tensor_memory(const gantry_tensor_t *tensor,
                                                    gantry_tensor_memory_t *out_memory);

/** Waits for the tensor and gives the address of its elements, row-major, which must only be read.
 * The address holds until gantry_tensor_unmap; meanwhile the tensor is held, and nothing is written
 * there. Maps nest. A tensor without elements gives an address that must not be read.
 *
 * FailedPrecondition on a device whose memory is not the host's: gantry_tensor_read copies. */
GANTRY_API gantry_status_t gantry_tensor_map(const gantry_tensor_t *tensor, const void **out_data);
/** Undoes one gantry_tensor_map. FailedPrecondition if the tensor is not mapped. */
GANTRY_API gantry_status_t gantry_tensor_unmap(const gantry_tensor_t *tensor);

/* ---- contexts, memory and events of a driver ---- */

/** A context of the program over which the runtime opens its device: an entry of
 * gantry_runtime_options_t.adopted. The context, the device and the queue must outlive the runtime
 * and its objects.
 *
 * The device keeps its number as /GPU:N. gantry_runtime_create fails with InvalidArgument for a
 * backend that is not usable or shares no contexts, for a context of no device of that backend, for
 * two entries with one device, and for a queue of another context or device, or out of order. */
typedef struct gantry_adopted_context_t {
    uint32_t struct_size; /**< Its sizeof. */
    const char *backend;  /**< "opencl" or "cuda". */
    void *context;        /**< cl_context or CUcontext. */
    /** cl_device_id; NULL: the context's only device. CUDA does not read it. */
    void *device;
    /** cl_command_queue or CUstream: the compute stream of the device's first logical device, whose
     * work is in order with the program's. NULL: a queue of Gantry's own in that context. */
    void *queue;
} gantry_adopted_context_t;

/** The objects of a logical device, as its driver calls them. They are Gantry's or the program's,
 * as the device is, and valid while the runtime lives. */
typedef struct gantry_native_t {
    uint32_t struct_size; /**< Its sizeof. */
    bool is_adopted;      /**< The context is the program's. */
    const char *backend;  /**< "opencl" or "cuda". */
    void *context;        /**< cl_context or CUcontext. */
    void *device;         /**< cl_device_id; the number of a CUdevice. */
    void *queue;          /**< cl_command_queue or CUstream that computes. */
} gantry_native_t;

/** Reads the driver's objects of a device, and opens it if it was not used yet. The program must
 * not submit to a queue of Gantry's own. out_native->struct_size must be set. FailedPrecondition if
 * the device's backend shares none. */
GANTRY_API gantry_status_t gantry_device_get_native(const gantry_logical_device_t *device,
                                                    gantry_native_t *out_native);

/** Options of gantry_tensor_from_device_memory. */
typedef struct gantry_from_device_memory_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Results may be written to the memory when nobody else uses the tensor (gantry_donate);
     * false: Gantry only reads it. */
    bool is_writable;
    /** cl_event or CUevent after which the elements are there: Gantry's work waits for it on the
     * device. It may be released once the call returned. NULL: the elements are there, or are made
     * by earlier work of the adopted queue. */
    void *ready_event;
    /** Is called once, when no tensor uses the memory any more and the last work with it has ended
     * on the device: by a thread that calls Gantry for this device later, at the latest by
     * gantry_runtime_synchronize or gantry_runtime_release. It must not call Gantry. Work of the
     * adopted queue may use the memory earlier: once the last owner has given the tensor back. May
     * be NULL. */
    gantry_release_fn release;
    void *user; /**< The argument of release. */
} gantry_from_device_memory_options_t;

/** Makes a tensor over device memory of the program, row-major, without a copy and without a wait.
 *
 * memory is a cl_mem of the device's context (a sub-buffer, too), or a CUdeviceptr. The elements
 * begin offset_bytes after its begin, at a multiple of their size. The memory counts as
 * foreign_bytes of gantry_memory_info_t and not against limits. Elements of bool must be 0 or 1,
 * which is not checked.
 *
 * The scope keeps InvalidArgument for memory that is too small, of another context, or whose flags
 * forbid the use, for an offset that is no multiple, and for a device of another runtime;
 * FailedPrecondition if the device's backend shares no memory, and in a traced body. options may be
 * NULL. On failure release is not called, and the memory is the caller's. */
GANTRY_API const gantry_tensor_t *gantry_tensor_from_device_memory(
    gantry_scope_t *scope, const gantry_logical_device_t *device, gantry_dtype_t dtype,
    gantry_shape_t shape, void *memory, uint64_t offset_bytes,
    const gantry_from_device_memory_options_t *options);

/** Where the elements of a tensor are in the memory of its device. */
typedef struct gantry_device_memory_t {
    uint32_t struct_size;                  /**< Its sizeof. */
    const gantry_logical_device_t *device; /**< The tensor's device. */
    void *memory;                          /**< cl_mem or CUdeviceptr; NULL: no elements. */
    uint64_t offset_bytes;                 /**< Of the first element in memory. */
    uint64_t size_bytes;                   /**< Of all elements. */
} gantry_device_memory_t;

/** Reads where the elements are, row-major, without a wait. The memory is valid while the tensor is
 * held, and must only be read. Work of the adopted queue that is submitted after this call may use
 * it at once, and until the tensor is given back; work elsewhere needs gantry_tensor_get_event
 * before it, and gantry_tensor_use_until for its end. out_memory->struct_size must be set.
 *
 * FailedPrecondition if the device's backend shares no memory. InvalidArgument for a tensor of a
 * trace. */
GANTRY_API gantry_status_t gantry_tensor_get_device_memory(const gantry_tensor_t *tensor,
                                                           gantry_device_memory_t *out_memory);

/** Gives an event (cl_event or CUevent) that completes when the tensor is computed. The caller
 * releases it (clReleaseEvent, cuEventDestroy). Errors as gantry_tensor_get_device_memory. */
GANTRY_API gantry_status_t gantry_tensor_get_event(const gantry_tensor_t *tensor, void **out_event);

/** Keeps the tensor's memory as it is until an event of the program (cl_event or CUevent) has
 * completed, also after the tensor was given back: nothing is written there. The event may be
 * released once the call returned. Several events add up. Errors as
 * gantry_tensor_get_device_memory. */
GANTRY_API gantry_status_t gantry_tensor_use_until(const gantry_tensor_t *tensor,
                                                   void *native_event);

#ifdef __cplusplus
}
#endif
#endif
