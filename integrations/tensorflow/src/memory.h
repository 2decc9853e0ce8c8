/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory as TensorFlow sees it: addresses that name Gantry's tensors.
 *
 * TensorFlow's C API wants an address for each tensor of a device. Gantry's tensors have none. An
 * allocation is therefore a range of reserved addresses without pages; this room knows, for every
 * address, which tensor it names. A kernel puts its result at an address (memory_bind) and gets its
 * inputs from addresses (memory_tensor); no element is copied. A slice of an allocation is a view
 * of its tensor, and a write to a part replaces that part (parts.h).
 *
 * Only Gantry decides about device memory: an allocation takes none, the op that computes the
 * tensor does, or fails with Gantry's report.
 *
 * Tensors are immutable: whoever writes to an address replaces its tensor, and a reader that got
 * the former tensor keeps it.
 *
 * Owner: an address holds a reference to its tensor until it is freed or written. Threads:
 * thread-safe; two threads that write to one address leave one of the two values. */
#ifndef GANTRY_TENSORFLOW_MEMORY_H
#define GANTRY_TENSORFLOW_MEMORY_H

#include <gantry/gantry.h>

#include "memory_state.h"

/* Reserves the addresses, for tensors of the runtime. Returns ResourceExhausted if the system
 * refused them (ulimit -v). */
gantry_status_t memory_create(gantry_runtime_t *runtime, memory_t **out);
/* Releases every tensor that is still at an address, and the addresses. No other thread may use the
 * memory. NULL does no harm. */
void memory_destroy(memory_t *memory);

/* Returns an address for so many bytes, aligned to 256; NULL for 0 bytes, or when no address or no
 * host memory is left. */
void *memory_allocate(memory_t *memory, uint32_t device, uint64_t bytes);
/* Takes an allocation back, and releases its tensor. NULL does no harm. */
void memory_free(memory_t *memory, void *address);
/* An aligned address that never has a tensor. It takes no lock. */
void *memory_nowhere(const memory_t *memory);
/* Writes the device that an address was allocated for. Returns false if the address is none of
 * ours. */
bool memory_device(memory_t *memory, const void *address, uint32_t *out_device);

/* Copies bytes from the host to an address. Many bytes go at once to the device, which must be that
 * of the address; few wait on the host until a kernel gives their type. */
gantry_status_t memory_write(memory_t *memory, const gantry_logical_device_t *device, void *to,
                             const void *from, uint64_t bytes);
/* Waits for the tensor at an address and copies its bytes to the host. */
gantry_status_t memory_read(memory_t *memory, void *to, const void *from, uint64_t bytes);
/* Fills bytes with a pattern of four. */
gantry_status_t memory_fill(memory_t *memory, void *to, uint32_t pattern, uint64_t bytes);
/* Copies between addresses. On one device both then name one tensor; between devices, Gantry copies
 * it. The scope's device must be that of the target. */
gantry_status_t memory_copy(memory_t *memory, gantry_scope_t *scope, void *to, const void *from,
                            uint64_t bytes);

/* Binds the tensor to the address. */
gantry_status_t memory_bind(memory_t *memory, void *to, const gantry_tensor_t *tensor);
/* The tensor at an address, under this type and shape; the caller must release it. NULL after an
 * error, which the scope keeps. */
gantry_tensor_t *memory_tensor(memory_t *memory, gantry_scope_t *scope, const void *from,
                               gantry_dtype_t dtype, const gantry_shape_t *shape);
/* The same, and removes the tensor from the address, which holds zeros until memory_bind. It is for
 * values that are overwritten, which nothing else may hold. If the allocation has other bytes, too,
 * nothing is removed. NULL as above; the address then keeps its tensor. */
gantry_tensor_t *memory_take(memory_t *memory, gantry_scope_t *scope, void *from,
                             gantry_dtype_t dtype, const gantry_shape_t *shape);

#endif
