#include "device/staging.h"

#include "device/device_table.h"

typedef struct gantry_logical_device_t logical_t;

gantry_status_t gantry__staging_init(gantry__staging_t *staging) {
    *staging = (gantry__staging_t){.count = 0};
    if (gantry__mutex_init(&staging->lock) != 0) return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

static bool has_pinned_memory(const logical_t *device) {
    const gantry_memory_ops_t *memory = device->backend->memory;
    return GANTRY_ABI_HAS(memory, host_free) && memory->host_alloc && memory->host_free;
}

static gantry_status_t make_block(logical_t *device, void **out_data) {
    if (has_pinned_memory(device)) {
        return (gantry_status_t)device->backend->memory->host_alloc(device->handle, GANTRY__STAGING_BLOCK_BYTES,
                                                                    out_data);
    }
    *out_data = gantry__heap_alloc(device->table->heap, GANTRY__STAGING_BLOCK_BYTES);
    return *out_data ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__staging_deinit(logical_t *device) {
    gantry__staging_t *staging = &device->staging;
    for (uint32_t i = 0; i < staging->count; ++i) {
        if (has_pinned_memory(device)) {
            device->backend->memory->host_free(device->handle, staging->blocks[i].data, GANTRY__STAGING_BLOCK_BYTES);
        } else {
            gantry__heap_free(device->table->heap, staging->blocks[i].data, GANTRY__STAGING_BLOCK_BYTES);
        }
    }
    gantry__mutex_deinit(&staging->lock);
}

/* The oldest block that nobody holds, its work done or not; NULL when all are held. The lock is held. */
static gantry__staging_block_t *oldest(gantry__staging_t *staging, bool must_be_past) {
    for (uint32_t i = 0; i < staging->count; ++i) {
        gantry__staging_block_t *block = &staging->blocks[(staging->next + i) % staging->count];
        if (!block->taken && (!must_be_past || gantry__point_is_past(block->point))) return block;
    }
    return NULL;
}

gantry_status_t gantry__staging_acquire(logical_t *device, gantry__staging_block_t **out_block) {
    gantry__staging_t *staging = &device->staging;
    gantry__point_t point = {NULL, 0};
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&staging->lock);
    gantry__staging_block_t *block = oldest(staging, true);
    if (!block && staging->count < GANTRY__STAGING_BLOCKS) {
        void *data = NULL;
        status = make_block(device, &data);
        if (status == GANTRY_OK) {
            block = &staging->blocks[staging->count++];
            block->data = data;
        }
    }
    if (!block)
        block = oldest(staging, false); /* wait for it below; also the way out when memory for a new one is short */
    if (block) {
        status = GANTRY_OK;
        point = block->point;
        block->taken = true;
        staging->next = (uint32_t)(block - staging->blocks) + 1;
    } else if (status == GANTRY_OK) {
        status = gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "%s: all %d staging blocks are held by other threads",
                              device->name, GANTRY__STAGING_BLOCKS);
    }
    gantry__mutex_unlock(&staging->lock);
    *out_block = block;
    if (block && gantry__point_wait(point) != GANTRY_OK)
        block->point = (gantry__point_t){NULL, 0}; /* its work failed: it is over */
    return status;
}

void gantry__staging_return(logical_t *device, gantry__staging_block_t *block, gantry__point_t point) {
    gantry__mutex_lock(&device->staging.lock);
    block->point = point;
    block->taken = false;
    gantry__mutex_unlock(&device->staging.lock);
}
