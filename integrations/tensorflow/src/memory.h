/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory as TensorFlow sees it: addresses that stand for Gantry's tensors.
 *
 * TensorFlow's C API wants an address for each tensor of a device. Gantry's tensors have none. An
 * allocation is therefore a range of reserved addresses without pages; this room knows, for every
 * address, which tensor lies there. A kernel puts its result there (memory_bind) and gets its
 * inputs from there (memory_tensor); no element is copied. A slice of an allocation is a view of
 * its tensor, and a write to a part replaces that part (parts.h).
 *
 * Gantry alone decides about device memory: an allocation takes none, the op that computes the
 * tensor does, or fails with Gantry's report.
 *
 * Tensors are immutable: whoever writes to an address replaces what lies there, and a reader that
 * got the former tensor keeps it. Thread-safe; two threads that write to one address leave one of
 * the two values. */
#ifndef GANTRY_TENSORFLOW_MEMORY_H
#define GANTRY_TENSORFLOW_MEMORY_H

#include <gantry/gantry.h>

/* The addresses of all devices of the process. */
typedef struct memory_t memory_t;

/* Figures of one device's addresses. */
typedef struct memory_figures_t {
    int64_t bytes;       /* of allocations that live */
    int64_t most_bytes;  /* the most since the start */
    int64_t largest;     /* the largest allocation since the start */
    int64_t allocations; /* since the start */
} memory_figures_t;

/* Reserves the addresses, for tensors of the runtime. ResourceExhausted: the system refused them
 * (ulimit -v). */
gantry_status_t memory_create(gantry_runtime_t *runtime, memory_t **out);
/* Releases every tensor that still lies there, and the addresses. NULL does no harm. */
void memory_destroy(memory_t *memory);

/* Returns an address for so many bytes, aligned to 256; NULL for 0 bytes, or when no address or no
 * host memory is left. device is any number below 64. */
void *memory_allocate(memory_t *memory, uint32_t device, uint64_t bytes);
/* Takes an allocation back; what lies there is released. NULL does no harm. */
void memory_free(memory_t *memory, void *address);
/* An aligned address at which nothing ever lies. It takes no lock. */
void *memory_nowhere(const memory_t *memory);
/* The device that an address was allocated for; false: it is none of ours. */
bool memory_device(memory_t *memory, const void *address, uint32_t *out_device);
/* Reads the figures of a device. */
void memory_figures(const memory_t *memory, uint32_t device, memory_figures_t *out);

/* Copies bytes from the host to an address, at once. Many bytes go to the device, that of the
 * address, at once; few wait on the host until a kernel tells their type. */
gantry_status_t memory_write(memory_t *memory, const gantry_logical_device_t *device, void *to,
                             const void *from, uint64_t bytes);
/* Waits for the tensor at an address and copies its bytes to the host. */
gantry_status_t memory_read(memory_t *memory, void *to, const void *from, uint64_t bytes);
/* Fills bytes with a pattern of four. */
gantry_status_t memory_fill(memory_t *memory, void *to, uint32_t pattern, uint64_t bytes);
/* Copies between addresses. On one device both then stand for one tensor; between devices, Gantry
 * copies it. The scope's device is that of the target. */
gantry_status_t memory_copy(memory_t *memory, gantry_scope_t *scope, void *to, const void *from,
                            uint64_t bytes);

/* Lets the address stand for this tensor. */
gantry_status_t memory_bind(memory_t *memory, void *to, const gantry_tensor_t *tensor);
/* The tensor at an address, under this type and shape; the caller releases it. NULL after an
 * error, which the scope keeps. */
gantry_tensor_t *memory_tensor(memory_t *memory, gantry_scope_t *scope, const void *from,
                               gantry_dtype_t dtype, const gantry_shape_t *shape);
/* The same, away from the address, which holds zeros until memory_bind: for values that are
 * overwritten, which nothing else may hold. If other bytes lie in the allocation, too, nothing is
 * taken away. NULL as above; the address then keeps what it has. */
gantry_tensor_t *memory_take(memory_t *memory, gantry_scope_t *scope, void *from,
                             gantry_dtype_t dtype, const gantry_shape_t *shape);

#endif
