/* SPDX-License-Identifier: Apache-2.0 */
#include "device/pinned.h"

#include <inttypes.h>

#include "device/device_table.h"
#include "device/loss.h"

typedef struct gantry_logical_device_t logical_t;

/* One piece of a program's pinned memory. */
struct gantry__pinned_piece_t {
    gantry__pinned_piece_t *next;
    logical_t *device;
    void *data;
    uint64_t bytes;
};

/* ---- taking and giving ---- */

static bool has_pinned_memory(const logical_t *device) {
    const gantry_memory_ops_t *memory = device->backend->memory;
    return GANTRY_ABI_HAS(memory, host_free) && memory->host_alloc && memory->host_free;
}

static bool pinned_charge(gantry__device_table_t *table, uint64_t bytes) {
    uint64_t limit = table->policy.pinned_limit_bytes, taken = atomic_load(&table->pinned_bytes);
    do {
        if (bytes > limit || taken > limit - bytes) return false;
    } while (!atomic_compare_exchange_weak(&table->pinned_bytes, &taken, taken + bytes));
    return true;
}

static void *pinned_make(logical_t *device, uint64_t bytes) {
    void *data = NULL;
    if (bytes > PTRDIFF_MAX) return NULL;
    if (!has_pinned_memory(device)) return gantry__heap_alloc(device->table->heap, (size_t)bytes);
    gantry_status_t status =
        (gantry_status_t)device->backend->memory->host_alloc(device->handle, bytes, &data);
    return gantry__loss_note(device, status) == GANTRY_OK ? data : NULL;
}

void *gantry__pinned_take(logical_t *device, uint64_t bytes) {
    if (!pinned_charge(device->table, bytes)) return NULL;
    void *data = pinned_make(device, bytes);
    if (!data) atomic_fetch_sub(&device->table->pinned_bytes, bytes);
    return data;
}

void gantry__pinned_give(logical_t *device, void *data, uint64_t bytes) {
    if (has_pinned_memory(device)) {
        device->backend->memory->host_free(device->handle, data, bytes);
    } else {
        gantry__heap_free(device->table->heap, data, (size_t)bytes);
    }
    atomic_fetch_sub(&device->table->pinned_bytes, bytes);
}

/* ---- a program's pieces ---- */

gantry_status_t gantry__pinned_alloc(logical_t *device, uint64_t bytes, const char *call,
                                     void **out_data) {
    gantry__device_table_t *table = device->table;
    if (bytes == 0) return gantry__refuse("%s: bytes is 0; 1 or more are accepted", call);
    gantry__pinned_piece_t *piece = gantry__heap_alloc(table->heap, sizeof *piece);
    if (!piece) return GANTRY_RESOURCE_EXHAUSTED;
    *piece = (gantry__pinned_piece_t){
        .device = device, .bytes = bytes, .data = gantry__pinned_take(device, bytes)};
    if (!piece->data) {
        gantry__heap_free(table->heap, piece, sizeof *piece);
        GANTRY__TRY(gantry__loss_check(device));
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                            "%s: %" PRIu64
                            " bytes of pinned memory for %s are not available: of at most %" PRIu64
                            " for all devices (pinned_limit) %" PRIu64 " are taken",
                            call, bytes, device->name, table->policy.pinned_limit_bytes,
                            (uint64_t)atomic_load(&table->pinned_bytes));
    }
    gantry__mutex_lock(&table->lock);
    piece->next = table->pinned;
    table->pinned = piece;
    gantry__mutex_unlock(&table->lock);
    *out_data = piece->data;
    return GANTRY_OK;
}

static bool piece_has(const gantry__pinned_piece_t *piece, uintptr_t data, uint64_t bytes) {
    const uintptr_t begin = (uintptr_t)piece->data;
    return data >= begin && data - begin <= piece->bytes && bytes <= piece->bytes - (data - begin);
}

bool gantry__pinned_has(const logical_t *device, const void *data, uint64_t bytes) {
    gantry__device_table_t *table = device->table;
    gantry__mutex_lock(&table->lock);
    const gantry__pinned_piece_t *at = table->pinned;
    while (at && !(gantry__logical_device_is_sibling(at->device, device) &&
                   piece_has(at, (uintptr_t)data, bytes)))
        at = at->next;
    gantry__mutex_unlock(&table->lock);
    return at;
}

/* Takes a piece out of the list; NULL: no such piece. */
static gantry__pinned_piece_t *unlist(gantry__device_table_t *table, const void *data) {
    gantry__mutex_lock(&table->lock);
    gantry__pinned_piece_t **at = &table->pinned;
    while (*at && (*at)->data != data) at = &(*at)->next;
    gantry__pinned_piece_t *piece = *at;
    if (piece) *at = piece->next;
    gantry__mutex_unlock(&table->lock);
    return piece;
}

static void pinned_end(gantry__device_table_t *table, gantry__pinned_piece_t *piece) {
    gantry__pinned_give(piece->device, piece->data, piece->bytes);
    gantry__heap_free(table->heap, piece, sizeof *piece);
}

gantry_status_t gantry__pinned_free(gantry__device_table_t *table, void *data, const char *call) {
    gantry__pinned_piece_t *piece = unlist(table, data);
    if (!piece) {
        return gantry__refuse("%s: %p is no pinned memory of this runtime, or was freed before",
                              call, data);
    }
    pinned_end(table, piece);
    return GANTRY_OK;
}

void gantry__pinned_forget(gantry__device_table_t *table) {
    while (table->pinned) {
        gantry__pinned_piece_t *piece = table->pinned;
        table->pinned = piece->next;
        pinned_end(table, piece);
    }
}
