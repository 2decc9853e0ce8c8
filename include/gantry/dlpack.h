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
struct DLPackExchangeAPI;

/** Options of the calls that take a DLPack tensor. */
typedef struct gantry_from_dlpack_options_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** Refuses what cannot be used in place with FailedPrecondition; false: it is copied. */
    bool requires_no_copy;
} gantry_from_dlpack_options_t;

/** Makes a tensor of a DLPack tensor in host memory, on /CPU:0: in place where
 * gantry_tensor_from_memory would, if the strides are those of row-major order; else a copy, of any
 * strides. Results may be written to memory that is marked as copied for the consumer and not as
 * read-only; other memory is only read. options may be NULL.
 *
 * On success the deleter is called once: when the memory is not used any more, or before this
 * returns if it was copied. Meanwhile managed is Gantry's, which puts a deleter of its own there:
 * the program must not read or write it, a call of that deleter is only logged, as an error, and
 * the struct is not taken again. On failure managed is the caller's, as it was.
 *
 * The scope keeps InvalidArgument for a major version other than 1, a device whose memory is not
 * the host's, a type that gantry_dtype_t lacks, lanes, more than GANTRY_MAX_RANK dimensions,
 * negative ones, strides or offsets that lead out of the numbers of addresses, and a struct that a
 * tensor uses. */
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

/* ---- tables of other libraries ---- */

/** Makes a tensor of an object of another library, by its table of functions: in Python, the
 * capsule "dlpack_exchange_api" that the object's type has as __dlpack_c_exchange_api__. It is
 * gantry_tensor_from_dlpack without a capsule. The thread must hold what the table's functions
 * demand: Python's lock. The object stays the caller's.
 *
 * Of the tables that api leads to, the first of major version 1 is used. The scope keeps
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
