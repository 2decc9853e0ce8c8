/* SPDX-License-Identifier: Apache-2.0 */
/* Regions: host memory under numbers. All instances share a card's bytes, as with a real card. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

/* New memory is filled with this value, so that a read of unwritten memory shows. */
#define FRESH_BYTE 0xcd
#define FRESH_BYTES (UINT64_C(16) << 20)

uint64_t gantry__fake_free_bytes(const fake_card_t *card, uint64_t total_bytes) {
    uint64_t capacity = card->capacity_bytes < total_bytes ? card->capacity_bytes : total_bytes;
    return card->used_bytes < capacity ? capacity - card->used_bytes : 0;
}

static uint64_t free_bytes(const fake_device_t *device) {
    return gantry__fake_free_bytes(gantry__fake_card(device), device->settings->total_bytes);
}

static bool check_size(fake_call_t *call, const fake_device_t *device, uint64_t size_bytes) {
    uint64_t largest = device->settings->largest_allocation_bytes;
    if (size_bytes == 0) {
        gantry__fake_violate(call, "a region of 0 bytes");
    } else if (largest > 0 && size_bytes > largest) {
        gantry__fake_violate(
            call, "a region of %llu bytes is larger than the device's largest allocation, %llu",
            (unsigned long long)size_bytes, (unsigned long long)largest);
    } else if (size_bytes > free_bytes(device)) {
        gantry__fake_refuse(call, GANTRY_RESOURCE_EXHAUSTED,
                            "device %u has %llu bytes left, %llu are requested", device->index,
                            (unsigned long long)free_bytes(device), (unsigned long long)size_bytes);
    }
    return call->error.code == GANTRY_OK;
}

static unsigned char *fresh_bytes(uint64_t size_bytes) {
    unsigned char *bytes = size_bytes <= SIZE_MAX ? malloc((size_t)size_bytes) : NULL;
    if (bytes)
        memset(bytes, FRESH_BYTE, (size_t)(size_bytes < FRESH_BYTES ? size_bytes : FRESH_BYTES));
    return bytes;
}

static void make_region(fake_call_t *call, fake_device_t *device, uint64_t size_bytes,
                        gantry_region_t *out_region) {
    unsigned char *bytes = fresh_bytes(size_bytes);
    if (!bytes) {
        gantry__fake_refuse(call, GANTRY_RESOURCE_EXHAUSTED,
                            "the host cannot stand in for %llu bytes",
                            (unsigned long long)size_bytes);
        return;
    }
    uint64_t number =
        device->settings->flags & GANTRY_DEVICE_HOST_ADDRESSABLE ? gantry__fake_number(bytes) : 0;
    fake_region_t *region = gantry__fake_create(call, device->object.instance, GANTRY_FAKE_REGION,
                                                number, sizeof *region);
    if (!region) {
        free(bytes);
        return;
    }
    region->device = device;
    region->device_index = device->index;
    region->size_bytes = size_bytes;
    region->bytes = bytes;
    ++device->live_objects;
    gantry__fake_card(device)->used_bytes += size_bytes;
    *out_region = region->object.number;
}

static int32_t region_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                            gantry_region_t *out_region) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_region_alloc);
    *out_region = 0;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    if (self && check_size(&call, self, size_bytes))
        make_region(&call, self, size_bytes, out_region);
    return gantry__fake_end(&call);
}

static void drop_region(fake_region_t *region) {
    free(region->accesses);
    free(region->bytes);
    gantry__fake_release(&region->object);
}

void gantry__fake_region_unuse(fake_region_t *region) {
    if (--region->pending == 0 && region->dead) drop_region(region);
}

static void region_free(gantry_backend_device_t *device, gantry_region_t number,
                        uint64_t size_bytes) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_region_free);
    fake_device_t *self = gantry__fake_find(&call, GANTRY_FAKE_DEVICE, gantry__fake_number(device));
    fake_region_t *region = gantry__fake_find(&call, GANTRY_FAKE_REGION, number);
    if (self && region) {
        if (region->device != self)
            gantry__fake_violate(&call, "region 0x%llx is another device's",
                                 (unsigned long long)number);
        if (region->size_bytes != size_bytes) {
            gantry__fake_violate(&call, "region 0x%llx has %llu bytes, not %llu",
                                 (unsigned long long)number, (unsigned long long)region->size_bytes,
                                 (unsigned long long)size_bytes);
        }
        if (region->pending > region->kept || !gantry__fake_order_is_known(region)) {
            gantry__fake_violate(
                &call, "region 0x%llx is freed before the host has waited for all that uses it",
                (unsigned long long)number);
        }
        --region->device->live_objects;
        gantry__fake.cards[region->device_index].used_bytes -= region->size_bytes;
        gantry__fake_forget(&region->object);
        region->device = NULL;
        region->dead = true;
        if (region->pending == 0) drop_region(region);
    }
    (void)gantry__fake_end(&call);
}

/* ---- host memory ---- */

typedef struct host_block_t {
    fake_object_t object;
    uint64_t size_bytes;
} host_block_t;

bool gantry__fake_is_pinned(const void *memory, uint64_t size_bytes) {
    uint64_t at = gantry__fake_number(memory);
    for (uint32_t i = 0; i < FAKE_BUCKETS; ++i) {
        for (const fake_object_t *object = gantry__fake.buckets[i]; object; object = object->next) {
            if (object->kind != GANTRY_FAKE_HOST_BLOCK || at < object->number) continue;
            uint64_t bytes = ((const host_block_t *)object)->size_bytes;
            if (at - object->number <= bytes && size_bytes <= bytes - (at - object->number))
                return true;
        }
    }
    return false;
}

static int32_t host_alloc(gantry_backend_device_t *device, uint64_t size_bytes, void **out_ptr) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_host_alloc);
    *out_ptr = NULL;
    fake_device_t *self = gantry__fake_find_device(&call, device);
    void *bytes = self ? fresh_bytes(size_bytes ? size_bytes : 1) : NULL;
    if (self && !bytes) gantry__fake_refuse(&call, GANTRY_RESOURCE_EXHAUSTED, "no pinned memory");
    if (bytes) {
        host_block_t *block =
            gantry__fake_create(&call, self->object.instance, GANTRY_FAKE_HOST_BLOCK,
                                gantry__fake_number(bytes), sizeof *block);
        if (block) {
            block->size_bytes = size_bytes;
            *out_ptr = bytes;
        } else {
            free(bytes);
        }
    }
    return gantry__fake_end(&call);
}

static void host_free(gantry_backend_device_t *device, void *ptr, uint64_t size_bytes) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_host_free);
    (void)gantry__fake_find(&call, GANTRY_FAKE_DEVICE, gantry__fake_number(device));
    host_block_t *block =
        gantry__fake_find(&call, GANTRY_FAKE_HOST_BLOCK, gantry__fake_number(ptr));
    if (block) {
        if (block->size_bytes != size_bytes)
            gantry__fake_violate(&call, "pinned memory is freed with another size");
        gantry__fake_forget(&block->object);
        gantry__fake_release(&block->object);
        free(ptr);
    }
    (void)gantry__fake_end(&call);
}

static int32_t memory_info(gantry_backend_device_t *device, uint64_t *out_free_bytes,
                           uint64_t *out_total_bytes) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_memory_info);
    const fake_device_t *self = gantry__fake_find_device(&call, device);
    gantry__fake_check_layout(&call);
    if (self) {
        *out_free_bytes = free_bytes(self);
        *out_total_bytes = self->settings->total_bytes;
    }
    return gantry__fake_end(&call);
}

const gantry_memory_ops_t gantry__fake_memory_ops = {
#ifdef GANTRY_FAKE_OLD_LAYOUT
    /* nothing may use the bytes after it */
    .struct_size = offsetof(gantry_memory_ops_t, memory_info),
#else
    .struct_size = sizeof gantry__fake_memory_ops,
#endif
    .memory_info = memory_info,
    .region_alloc = region_alloc,
    .region_free = region_free,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
