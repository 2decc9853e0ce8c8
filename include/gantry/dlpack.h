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

#include <gantry/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

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
