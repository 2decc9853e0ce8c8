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
    bool is_foreign;      /**< The memory is the program's (gantry_tensor_from_memory). */
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

#ifdef __cplusplus
}
#endif
#endif
