/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: host memory through which small transfers pass, so that a caller need not wait for them.
 *
 * Blocks come from the backend's pinned memory and are kept for reuse. Their number is limited by a
 * part of the device's limit, against which they count, and by the runtime's limit of pinned memory
 * for all devices. A block returned with a point is used again once the point has passed. A caller
 * without a block transfers from its own memory and waits; that is no failure. In addition the
 * device keeps one pair of large blocks, for copies to it through the host: pinned by the first
 * such copy, because pinning takes longer than copying, and lent to one copy at a time. The pair
 * counts only against the limit of pinned memory. Owner: the logical device. Thread-safe; the lock
 * is not held while the driver makes or frees a block. */
#ifndef GANTRY_DEVICE_STAGING_H
#define GANTRY_DEVICE_STAGING_H

#include <stdatomic.h>

#include "base/failure.h"
#include "device/point.h"
#include "base/os/thread.h"

struct gantry_logical_device_t;

/* A larger transfer goes directly from or to the caller's memory, and is waited for. */
#define GANTRY__STAGING_BLOCK_BYTES (UINT64_C(64) << 10)
#define GANTRY__STAGING_BLOCKS 64
/* Each block of the pair: large enough that the driver's cost of a transfer is small in comparison,
 * small enough to overlap. */
#define GANTRY__STAGING_LARGE_BYTES (UINT64_C(4) << 20)
/* The divisor of a device's limit that gives the limit of staging, so that staging does not fill a
 * small device. */
#define GANTRY__STAGING_PART 16

typedef enum gantry__staging_state_t {
    GANTRY__STAGING_NONE = 0, /* no memory */
    GANTRY__STAGING_BUSY,     /* being made or freed */
    GANTRY__STAGING_IDLE,
    GANTRY__STAGING_TAKEN
} gantry__staging_state_t;

typedef struct gantry__staging_block_t {
    void *data;
    gantry__point_t point; /* free when past */
    gantry__staging_state_t state;
} gantry__staging_block_t;

typedef struct gantry__staging_t {
    gantry__mutex_t lock;
    gantry__staging_block_t blocks[GANTRY__STAGING_BLOCKS];
    uint32_t most;  /* blocks that the device's limit allows */
    uint32_t count; /* entries that were ever used */
    uint32_t next;  /* where to look first: the oldest */
    /* a block could not be made: do not try again for this many requests */
    uint32_t patience;
    uint32_t reserved; /* blocks that are charged to the device's limit and not made yet */
    atomic_uint_fast64_t charged_bytes;
    atomic_bool pair_is_lent; /* only the thread that set it touches the pair */
    /* two consecutive blocks of GANTRY__STAGING_LARGE_BYTES; NULL: not made */
    unsigned char *pair;
} gantry__staging_t;

/* The device's allocator and limit are set. */
gantry_status_t gantry__staging_init(struct gantry_logical_device_t *device);
void gantry__staging_deinit(struct gantry_logical_device_t *device);
/* A block of GANTRY__STAGING_BLOCK_BYTES; waits for the oldest if no more may be made. NULL: there
 * is no block. */
gantry__staging_block_t *gantry__staging_acquire(struct gantry_logical_device_t *device);
void gantry__staging_return(struct gantry_logical_device_t *device, gantry__staging_block_t *block,
                            gantry__point_t point);
/* The pair; NULL: another copy has it, or there is none. Return it when no work reads or writes it
 * any more. */
unsigned char *gantry__staging_take_pair(struct gantry_logical_device_t *device);
void gantry__staging_give_pair(struct gantry_logical_device_t *device);
/* Frees blocks whose work is known to have ended, the pair, and the reserve for further blocks.
 * Returns the bytes discharged from the device's limit. */
uint64_t gantry__staging_release_idle(struct gantry_logical_device_t *device);

#endif
