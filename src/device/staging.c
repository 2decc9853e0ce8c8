/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks go round:   NONE -> BUSY (made) -> TAKEN -> IDLE -> TAKEN -> ... -> IDLE -> BUSY (freed)
 * -> NONE
 *
 * Only the thread that made an entry BUSY or TAKEN touches it; other threads see it under the lock
 * and skip it. A block is charged before it is made, against the device's limit and against that of
 * pinned memory, and both charges are undone if it cannot be made. A pool that has grown to the
 * limit would leave nothing for staging, and every small transfer would have to wait. So some
 * blocks are charged to the device's limit when the device is opened: with growth a quarter of the
 * blocks that may be made, without growth all of them, because the pool then takes the rest at
 * once. An allocation that is about to fail gets the reserve, too. Cost of an existing block: one
 * lock and a look at a few entries. */
#include "device/staging.h"

#include "device/device_table.h"
#include "device/logical_device.h"
#include "device/pinned.h"

typedef struct gantry_logical_device_t logical_t;
typedef gantry__staging_block_t block_t;

#define BLOCK_BYTES GANTRY__STAGING_BLOCK_BYTES
#define PAIR_BYTES (2 * GANTRY__STAGING_LARGE_BYTES)

/* ---- paying ---- */

static bool staging_charge(logical_t *device, uint64_t bytes) {
    if (!gantry__allocator_charge(&device->allocator, bytes)) return false;
    atomic_fetch_add(&device->staging->charged_bytes, bytes);
    return true;
}

static void discharge(logical_t *device, uint64_t bytes) {
    gantry__allocator_discharge(&device->allocator, bytes);
    atomic_fetch_sub(&device->staging->charged_bytes, bytes);
}

static void staging_reserve(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    bool grows = device->card->settings.growth;
    uint32_t wanted = grows ? (staging->most + 3) / 4 : staging->most;
    if (wanted > 0 && staging_charge(device, wanted * BLOCK_BYTES)) staging->reserved = wanted;
}

/* ---- making: the caller must hold no lock ---- */

/* The entry is BUSY. is_reserved: it was charged to the device's limit before. */
static bool make_block(logical_t *device, block_t *block, bool is_reserved) {
    if (!is_reserved && !staging_charge(device, BLOCK_BYTES)) return false;
    block->data = gantry__pinned_take(device, BLOCK_BYTES);
    block->point = (gantry__point_t){NULL, 0};
    if (!block->data) discharge(device, BLOCK_BYTES);
    return block->data != NULL;
}

static void free_block(logical_t *device, block_t *block) {
    gantry__pinned_give(device, block->data, BLOCK_BYTES);
    block->data = NULL;
    discharge(device, BLOCK_BYTES);
}

/* ---- the pair ---- */

unsigned char *gantry__staging_take_pair(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    if (atomic_exchange(&staging->pair_is_lent, true)) return NULL;
    if (!staging->pair) staging->pair = gantry__pinned_take(device, PAIR_BYTES);
    if (staging->pair) return staging->pair;
    atomic_store(&staging->pair_is_lent, false);
    return NULL;
}

void gantry__staging_give_pair(logical_t *device) {
    atomic_store(&device->staging->pair_is_lent, false);
}

static void free_pair(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    if (atomic_exchange(&staging->pair_is_lent, true)) return;
    if (staging->pair) gantry__pinned_give(device, staging->pair, PAIR_BYTES);
    staging->pair = NULL;
    atomic_store(&staging->pair_is_lent, false);
}

/* ---- the pool ---- */

gantry_status_t gantry__staging_init(logical_t *device) {
    gantry__staging_t *staging = gantry__heap_zalloc(device->table->heap, sizeof *staging);
    if (!staging) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry__mutex_init(&staging->lock) != 0) {
        gantry__heap_free(device->table->heap, staging, sizeof *staging);
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    }
    device->staging = staging;
    uint64_t most = device->limit_bytes / GANTRY__STAGING_PART / BLOCK_BYTES;
    staging->most = most < GANTRY__STAGING_BLOCKS ? (uint32_t)most : GANTRY__STAGING_BLOCKS;
    /* its copies end before they return, so that staging is useless */
    if (device->synchronous) staging->most = 0;
    staging_reserve(device);
    return GANTRY_OK;
}

void gantry__staging_deinit(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    for (uint32_t i = 0; i < staging->count; ++i) {
        if (staging->blocks[i].data) free_block(device, &staging->blocks[i]);
    }
    free_pair(device);
    if (staging->reserved > 0) discharge(device, staging->reserved * BLOCK_BYTES);
    gantry__mutex_deinit(&staging->lock);
    gantry__heap_free(device->table->heap, staging, sizeof *staging);
    device->staging = NULL;
}

/* The oldest idle block, with its work done or pending; NULL if there is none. The caller must hold
 * the lock. */
static block_t *oldest(gantry__staging_t *staging, bool must_be_past) {
    for (uint32_t i = 0; i < staging->count; ++i) {
        block_t *block = &staging->blocks[(staging->next + i) % staging->count];
        if (block->state == GANTRY__STAGING_IDLE &&
            (!must_be_past || gantry__point_is_past(block->point)))
            return block;
    }
    return NULL;
}

/* An entry for one more block, BUSY from now on; NULL if no more may be made. The caller must hold
 * the lock. */
static block_t *take_empty(gantry__staging_t *staging) {
    uint32_t i = 0;
    while (i < staging->count && staging->blocks[i].state != GANTRY__STAGING_NONE) ++i;
    if (i >= staging->most) return NULL;
    if (i == staging->count) ++staging->count;
    staging->blocks[i].state = GANTRY__STAGING_BUSY;
    return &staging->blocks[i];
}

/* Makes one more block; NULL if it cannot be charged or made. The caller must hold the lock, which
 * is released meanwhile and held again on return. A full device stays full for a while: after a
 * refusal, the next few requests do not try. */
static block_t *make_one_more(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    if (staging->patience > 0) {
        --staging->patience;
        return NULL;
    }
    block_t *block = take_empty(staging);
    if (!block) return NULL;
    bool is_reserved = staging->reserved > 0;
    staging->reserved -= is_reserved;
    gantry__mutex_unlock(&staging->lock);
    bool is_made = make_block(device, block, is_reserved);
    gantry__mutex_lock(&staging->lock);
    block->state = is_made ? GANTRY__STAGING_IDLE : GANTRY__STAGING_NONE;
    if (!is_made) staging->patience = GANTRY__STAGING_BLOCKS;
    return is_made ? block : NULL;
}

block_t *gantry__staging_acquire(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    gantry__point_t point = {NULL, 0};
    gantry__mutex_lock(&staging->lock);
    block_t *block = oldest(staging, true);
    if (!block) block = make_one_more(device);
    if (!block) block = oldest(staging, false); /* the code below waits for it */
    if (block) {
        point = block->point;
        block->state = GANTRY__STAGING_TAKEN;
        staging->next = (uint32_t)(block - staging->blocks) + 1;
    }
    gantry__mutex_unlock(&staging->lock);
    if (block && gantry__point_wait(point) != GANTRY_OK)
        block->point = (gantry__point_t){NULL, 0}; /* its work failed: it has ended */
    return block;
}

void gantry__staging_return(logical_t *device, block_t *block, gantry__point_t point) {
    gantry__mutex_lock(&device->staging->lock);
    block->point = point;
    block->state = GANTRY__STAGING_IDLE;
    gantry__mutex_unlock(&device->staging->lock);
}

uint64_t gantry__staging_release_idle(logical_t *device) {
    gantry__staging_t *staging = device->staging;
    gantry__mutex_lock(&staging->lock);
    uint64_t released = staging->reserved * BLOCK_BYTES;
    staging->reserved = 0;
    if (released > 0) discharge(device, released);
    for (uint32_t i = 0; i < staging->count; ++i) {
        block_t *block = &staging->blocks[i];
        if (block->state != GANTRY__STAGING_IDLE || !gantry__point_is_past(block->point)) continue;
        block->state = GANTRY__STAGING_BUSY;
        gantry__mutex_unlock(&staging->lock);
        free_block(device, block);
        released += BLOCK_BYTES;
        gantry__mutex_lock(&staging->lock);
        block->state = GANTRY__STAGING_NONE;
    }
    gantry__mutex_unlock(&staging->lock);
    free_pair(device);
    return released;
}
