/* Staging: host memory through which small transfers pass, so that a caller need not wait for them.
 *
 * Blocks come from the backend's pinned memory, are kept for reuse, and are bounded in number. A block returned with a point is used again
 * once the point has passed. Owner: the logical device. Thread-safe. */
#ifndef GANTRY_DEVICE_STAGING_H
#define GANTRY_DEVICE_STAGING_H

#include "base/thread.h"
#include "device/stream.h"

struct gantry_logical_device_t;

/* A transfer above this goes straight from or to the caller's memory, and is waited for. */
#define GANTRY__STAGING_BLOCK_BYTES (UINT64_C(64) << 10)
#define GANTRY__STAGING_BLOCKS 64

typedef struct gantry__staging_block_t {
    void *data;
    gantry__point_t point; /* free when past */
    bool taken;
} gantry__staging_block_t;

typedef struct gantry__staging_t {
    gantry__mutex_t lock;
    gantry__staging_block_t blocks[GANTRY__STAGING_BLOCKS];
    uint32_t count;
    uint32_t next; /* where to look first: the oldest */
} gantry__staging_t;

gantry_status_t gantry__staging_init(gantry__staging_t *staging);
void gantry__staging_deinit(struct gantry_logical_device_t *device);
/* A block of GANTRY__STAGING_BLOCK_BYTES; waits for the oldest when all are in flight. */
gantry_status_t gantry__staging_acquire(struct gantry_logical_device_t *device, gantry__staging_block_t **out_block);
void gantry__staging_return(struct gantry_logical_device_t *device, gantry__staging_block_t *block, gantry__point_t point);

#endif
