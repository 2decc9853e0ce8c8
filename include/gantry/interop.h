/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Memory that tensors and the program share, without a copy: tensors over the program's memory, and
 * the elements of tensors read in place.
 *
 * Memory that a tensor uses must stay as it is, and must not be freed, until release is called.
 * gantry_tensor_from_memory takes a scope, which only one thread at a time may use; the other calls
 * are thread-safe. docs/interop.md shows a program. */
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
    bool is_foreign;      /**< The program's memory (gantry_tensor_from_memory), or a file. */
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

/* ---- DLPack ---- */

/* The structs of a program's own dlpack.h. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** Options of the calls that take a DLPack tensor. */
typedef struct gantry_from_dlpack_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Refuses what cannot be used in place with FailedPrecondition; false: it is copied. */
    bool requires_no_copy;
} gantry_from_dlpack_options_t;

/** Makes a tensor of a DLPack tensor in host memory, on /CPU:0: in place where
 * gantry_tensor_from_memory would, if the strides are those of row-major order; else a copy, of any
 * strides. Gantry only reads the memory. On success the deleter is called once: when the memory is
 * not used any more, or before this returns if it was copied. On failure managed is the caller's.
 * options may be NULL.
 *
 * The scope keeps InvalidArgument for a major version beyond 1, a device whose memory is not the
 * host's, a type that gantry_dtype_t lacks, lanes, or more than GANTRY_MAX_RANK dimensions. */
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
} gantry_to_dlpack_options_t;

/** Waits for the tensor and gives it as a DLPack tensor of host memory (version 1.1), which holds
 * the tensor until its deleter is called: by the consumer, once, from any thread. Without
 * copies the elements are the tensor's own, and flags say that they are read-only. options may be
 * NULL.
 *
 * FailedPrecondition on a device whose memory is not the host's, unless copies is set. */
GANTRY_API gantry_status_t gantry_tensor_to_dlpack(const gantry_tensor_t *tensor,
                                                   const gantry_to_dlpack_options_t *options,
                                                   struct DLManagedTensorVersioned **out_managed);
/** The same for the struct of DLPack before 1.0. FailedPrecondition unless copies is set, because
 * this struct cannot say that memory is read-only. */
GANTRY_API gantry_status_t gantry_tensor_to_dlpack_unversioned(
    const gantry_tensor_t *tensor, const gantry_to_dlpack_options_t *options,
    struct DLManagedTensor **out_managed);

#ifdef __cplusplus
}
#endif
#endif
