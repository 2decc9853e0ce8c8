/* SPDX-License-Identifier: Apache-2.0 */
/* An error of a driver travels with an event to the streams that waited for it, and from there to
 * those that waited for these. So if one stream met it, the device's other streams, and those of
 * the devices from which it may have come, keep and forget it, too (device/stream.c says why). */
#include "device/stream_owner.h"

#include "device/device_table.h"
#include "device/loss.h"

typedef struct gantry_logical_device_t logical_t;

static gantry_status_t stream_owner_note(void *device, gantry_status_t status) {
    return gantry__loss_note(device, status);
}

static void stream_owner_print_uses(void *device, char *out, size_t out_bytes) {
    gantry__loss_print_uses(device, out, out_bytes);
}

static void clear_device(logical_t *device, const gantry__stream_t *but) {
    for (uint32_t i = 0; i < GANTRY__STREAMS && !gantry__device_is_lost(device); ++i) {
        gantry__stream_t *stream = &device->streams[i];
        if (stream != but && stream->backend) gantry__stream_clear(stream);
    }
}

static uint64_t bit_of(const logical_t *device) { return UINT64_C(1) << (device->position % 64); }

/* The bits of the devices whose events its streams have waited for. */
static uint64_t sources_of(const logical_t *device) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i)
        bits |= atomic_load(&device->streams[i].waited_for);
    return bits;
}

/* Clears the devices from which the error may have come, and those from which they had it. */
static void clear_sources(const logical_t *device) {
    const gantry__device_table_t *table = device->table;
    uint64_t done = bit_of(device), next = sources_of(device) & ~done;
    while (next) {
        uint64_t now = next;
        next = 0;
        for (size_t i = 0; i < table->logical_count; ++i) {
            logical_t *source = table->logical[i];
            if (!(now & bit_of(source)) || source == device || !atomic_load(&source->is_open))
                continue;
            clear_device(source, NULL);
            next |= sources_of(source);
        }
        done |= now;
        next &= ~done;
    }
}

static void stream_owner_clear(void *device, const gantry__stream_t *but) {
    clear_device(device, but);
    clear_sources(device);
}

gantry__stream_owner_t gantry__stream_owner(logical_t *device) {
    return (gantry__stream_owner_t){.device = device,
                                    .position = device->position,
                                    .card = device->card,
                                    .note = stream_owner_note,
                                    .print_uses = stream_owner_print_uses,
                                    .clear = stream_owner_clear};
}
