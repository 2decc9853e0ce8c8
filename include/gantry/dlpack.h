/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * DLPack: tensors that libraries of arrays give each other without a copy, by the structs of a
 * program's own dlpack.h.
 *
 * Who takes a struct calls its deleter once. The calls that take one have a scope, which only one
 * thread at a time may use; the other calls, and the deleters, are thread-safe. docs/interop.md has
 * the rules. */
#ifndef GANTRY_DLPACK_H
#define GANTRY_DLPACK_H

#include <gantry/device.h>
#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of a program's own dlpack.h. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
struct DLPackExchangeAPI;

/** As stream of the options: the program orders the work itself. */
#define GANTRY_DLPACK_NO_STREAM ((void *)(intptr_t)-1)

/** Options of the calls that take a DLPack tensor. */
typedef struct gantry_from_dlpack_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Refuses what cannot be used in place with FailedPrecondition; false: it is copied. */
    bool requires_no_copy;
    /** Of device memory: the device that it is of. NULL: kDLOpenCL's device_id N is /GPU:N, and
     * kDLCUDA's is CUDA's number of the card, of which the first logical device is meant. */
    const gantry_logical_device_t *device;
    /** Of device memory: the producer's stream, for whose present work Gantry's work waits on the
     * device: a cl_command_queue that is in order, or a CUstream (1: the legacy default stream).
     * NULL and GANTRY_DLPACK_NO_STREAM: the elements are there, or are made by earlier work of the
     * device's queue (gantry_device_get_native). */
    void *stream;
} gantry_from_dlpack_options_t;

/** Makes a tensor of a DLPack tensor: in place if the strides are those of row-major order, else a
 * copy, of any strides. Host memory is on /CPU:0, where more may need a copy: see
 * gantry_tensor_from_memory. Memory of OpenCL and CUDA is on its device, and a copy is made there,
 * without a wait; it is not accepted in a traced body, and a bool in it must be 0 or 1, which is
 * not checked. Results may be written to memory that is marked as copied for the consumer and not
 * as read-only; other memory is only read. options may be NULL.
 *
 * On success the deleter is called once: when the memory is not used any more (of device memory:
 * when the last work with it has ended), or, of host memory that was copied, before this returns.
 * Meanwhile managed is Gantry's, which puts a deleter of its own there: the program must not read
 * or write it, a call of that deleter is only logged, as an error, and the struct is not taken
 * again. On failure managed is the caller's, as it was.
 *
 * The scope keeps InvalidArgument for a major version other than 1, a type of device other than
 * kDLCPU, kDLCUDA, kDLCUDAHost, kDLOpenCL and kDLROCMHost, a device that the runtime lacks, a
 * stream with host memory, a type that gantry_dtype_t lacks, lanes, more than GANTRY_MAX_RANK
 * dimensions, negative ones, strides or offsets that lead out of the numbers of addresses or of the
 * memory, and a struct that a tensor uses. */
GANTRY_API const gantry_tensor_t *gantry_tensor_from_dlpack(
    gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
    const gantry_from_dlpack_options_t *options);
/** The same for the struct of DLPack before 1.0. */
GANTRY_API const gantry_tensor_t *gantry_tensor_from_dlpack_unversioned(
    gantry_scope_t *scope, struct DLManagedTensor *managed,
    const gantry_from_dlpack_options_t *options);

/** Options of the calls that give a DLPack tensor. */
typedef struct gantry_to_dlpack_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Gives a copy in host memory, which the consumer may write; a tensor of any device. */
    bool copies;
    /** Of device memory: the consumer's stream, as the stream of `__dlpack__`. Its later work waits
     * for the tensor on the device, and the memory is kept until the work that is in it at the
     * deleter's call has ended: a cl_command_queue that is in order, or a CUstream (1: the legacy
     * default stream), which must be valid until the deleter was called. NULL: this call waits for
     * the tensor, and the deleter must be called after the consumer's work. So it is for 2, CUDA's
     * default stream of each thread. GANTRY_DLPACK_NO_STREAM: nothing waits; the consumer waits for
     * gantry_tensor_get_event. */
    void *stream;
} gantry_to_dlpack_options_t;

/** Gives a tensor as a DLPack tensor (version 1.1), which holds the tensor until its deleter is
 * called: by the consumer, once, from any thread. Without copies the elements are the tensor's own,
 * and flags say that they are read-only: memory of the host, for which this waits, or of OpenCL or
 * CUDA, with device_id as in gantry_from_dlpack_options_t. A copy, and up to 64 bytes of the host's
 * memory, are at a multiple of 256 bytes. options may be NULL.
 * FailedPrecondition on a device of another backend, unless copies is set. */
GANTRY_API gantry_status_t gantry_tensor_to_dlpack(const gantry_tensor_t *tensor,
                                                   const gantry_to_dlpack_options_t *options,
                                                   struct DLManagedTensorVersioned **out_managed);
/** The same for the struct of DLPack before 1.0. FailedPrecondition unless copies is set, because
 * this struct cannot say that memory is read-only. */
GANTRY_API gantry_status_t gantry_tensor_to_dlpack_unversioned(
    const gantry_tensor_t *tensor, const gantry_to_dlpack_options_t *options,
    struct DLManagedTensor **out_managed);

/* ---- tables of other libraries ---- */

/** Makes a tensor of an object of another library, by its table of functions: in Python, the
 * capsule "dlpack_exchange_api" that the object's type has as `__dlpack_c_exchange_api__`. It is
 * gantry_tensor_from_dlpack without a capsule. The thread must hold what the table's functions
 * demand: Python's lock. The object stays the caller's.
 *
 * Of device memory, the stream is the one that the table names, unless options name one. Of the
 * tables that api leads to, the first of major version 1 is used. The scope keeps
 * InvalidArgument if there is none, if a function is missing, and if the table does not give the
 * object: then an exception of Python is set. */
GANTRY_API const gantry_tensor_t *gantry_tensor_from_exchange(
    gantry_scope_t *scope, const struct DLPackExchangeAPI *api, void *object,
    const gantry_from_dlpack_options_t *options);

/** Makes an object of another library over the tensor, or over a copy, by its table of functions.
 * It is gantry_tensor_to_dlpack without a capsule, and the new object is the caller's. Status codes
 * as of both calls above. */
GANTRY_API gantry_status_t gantry_tensor_to_exchange(const gantry_tensor_t *tensor,
                                                     const struct DLPackExchangeAPI *api,
                                                     const gantry_to_dlpack_options_t *options,
                                                     void **out_object);

#ifdef __cplusplus
}
#endif
#endif
