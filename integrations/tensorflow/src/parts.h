/* SPDX-License-Identifier: Apache-2.0 */
/* What one allocation has: parts, in the order of their addresses, that never overlap.
 *
 *     bytes of the allocation   0           256         384                 1024
 *                               |-- part ---|-- part ---|      (nothing)     |
 *     where its bytes are       tensor A,   block B,
 *                               from byte 0 from byte 64
 *
 * Nearly always one part covers all of it: the tensor that a kernel put there. TensorFlow slices
 * tensors by address, and collectives write them in chunks; then there are several. Writing to a
 * range cuts the parts that were there, which copies nothing, because a part says from which byte
 * of its source on it counts. Bytes that no part covers were never written and read as zeros.
 *
 * Owner: each part has a reference to its tensor or block. Threads: externally synchronised; the
 * cell's lock must be held (cells.h). */
#ifndef GANTRY_TENSORFLOW_PARTS_H
#define GANTRY_TENSORFLOW_PARTS_H

#include <gantry/gantry.h>
#include <stdatomic.h>

/* Bytes of the host that several parts share. */
typedef struct host_block_t {
    atomic_uint references;
    max_align_t data[];
} host_block_t;

/* A block for so many bytes, with one reference; NULL: no memory is left. */
host_block_t *host_block_create(uint64_t bytes);

/* The bytes begin to end of an allocation. tensor or block must be set, and the part has a
 * reference. */
typedef struct part_t {
    uint64_t begin, end;
    uint64_t skip; /* the byte of the tensor or block that is at begin */
    gantry_tensor_t *tensor;
    host_block_t *block;
} part_t;

/* The parts of an allocation. Zero-filled means that there is none. */
typedef struct parts_t {
    part_t one;   /* the part, while many is NULL and count is 1 */
    part_t *many; /* else all parts */
    uint32_t count;
    uint32_t version; /* changes with every write */
} parts_t;

/* The part with this index, which must be below count. */
const part_t *parts_at(const parts_t *parts, uint32_t index);
/* Writes a part, whose reference parts takes over. *out_former is a part that the caller must
 * release after it has released the lock (zero-filled: there is none). Returns false if no host
 * memory is left; the caller then still owns part. */
bool parts_write(parts_t *parts, part_t part, part_t *out_former);
/* Copies the parts of a range, cut to it, with references of their own. Returns false if no host
 * memory is left. */
bool parts_hold(const parts_t *parts, uint64_t begin, uint64_t end, parts_t *out);
/* Whether the ends of the range cut no part. */
bool parts_are_whole(const parts_t *parts, uint64_t begin, uint64_t end);
/* Releases all parts. */
void parts_clear(parts_t *parts);
/* The same part, with a reference of its own. */
part_t part_retain(const part_t *part);
/* Releases what a part refers to. A zero-filled part does no harm. */
void part_release(part_t *part);

#endif
