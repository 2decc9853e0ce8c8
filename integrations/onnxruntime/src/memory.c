/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses for tensors of devices. ONNX Runtime wants an address for each tensor, adds offsets to
 * it, and frees it; Gantry's tensors are immutable, and OpenCL's memory has no address. So an
 * allocation is a range of addresses that nobody can read, with the tensors that were put there:
 *
 *     1 << 54                                        slots of 4 GiB
 *     | slot 0 | slot 1 | slot 2      slot 3 | ...   a larger allocation has several slots
 *     |[x ]    |[y][z]  |[w                 ]|       tensors are at their offsets
 *
 * No system has these addresses: a program that takes one for memory ends, and reads nobody else's.
 * They cost neither memory nor address space. The memory of a tensor is Gantry's, and counts
 * against its limits from the moment that the tensor is put there.
 *
 * Slots are the process's, as addresses are, because a value may go to a session of another
 * registration. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define FIRST_ADDRESS (UINT64_C(1) << 54)
#define SLOT_BITS 32
#define MOST_SLOTS (UINT32_C(1) << 22)

typedef struct device_allocator_t {
    ort_allocator_t base; /* must be first */
    ort_provider_t *provider;
    const gantry_logical_device_t *device;
    ort_memory_info_t *info;
} device_allocator_t;

/* A tensor in an allocation. */
typedef struct put_t {
    uint64_t begin, end;
    ort_provider_t *provider;
    gantry_tensor_t *tensor;
} put_t;

typedef struct allocation_t {
    uint64_t size;
    uint32_t first_slot, slot_count;
    const device_allocator_t *allocator;
    put_t *puts; /* in the order of their addresses; none overlaps another */
    size_t put_count, put_room;
} allocation_t;

typedef struct slot_t {
    allocation_t *allocation; /* NULL: the slot is free */
    uint32_t next_free;       /* then the number of the next free one, and 1 */
} slot_t;

/* The slots; the mutex guards them, and what allocations hold. */
static struct {
    pthread_mutex_t mutex;
    slot_t *list;
    uint32_t used, room, first_free;
} slots = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- slots; the mutex is held ---- */

static bool make_slot_room(uint32_t count) {
    if (count > MOST_SLOTS - slots.used) return false;
    if (slots.used + count <= slots.room) return true;
    const uint32_t room = 2 * (slots.used + count);
    slot_t *list = realloc(slots.list, room * sizeof *list);
    if (!list) return false;
    slots.list = list;
    slots.room = room;
    return true;
}

/* Finds slots for an allocation: a free one, or new ones. */
static bool take_slots(allocation_t *allocation) {
    if (allocation->slot_count == 1 && slots.first_free) {
        allocation->first_slot = slots.first_free - 1;
        slots.first_free = slots.list[allocation->first_slot].next_free;
    } else {
        if (!make_slot_room(allocation->slot_count)) return false;
        allocation->first_slot = slots.used;
        slots.used += allocation->slot_count;
    }
    for (uint32_t i = 0; i < allocation->slot_count; ++i)
        slots.list[allocation->first_slot + i].allocation = allocation;
    return true;
}

static void give_slots(const allocation_t *allocation) {
    for (uint32_t i = 0; i < allocation->slot_count; ++i) {
        const uint32_t slot = allocation->first_slot + i;
        slots.list[slot] = (slot_t){NULL, slots.first_free};
        slots.first_free = slot + 1;
    }
}

bool ort_is_held(const void *address) {
    const uint64_t distance = (uint64_t)(uintptr_t)address - FIRST_ADDRESS;
    return distance >> SLOT_BITS < MOST_SLOTS;
}

/* The allocation that has so many bytes from an address on. */
static ort_status_t *find_allocation(const ort_provider_t *provider, ort_what_t what,
                                     const void *address, uint64_t bytes,
                                     allocation_t **out_allocation, uint64_t *out_offset) {
    const uint64_t distance = (uint64_t)(uintptr_t)address - FIRST_ADDRESS;
    const uint64_t slot = distance >> SLOT_BITS;
    allocation_t *allocation = slot < slots.used ? slots.list[slot].allocation : NULL;
    if (!allocation)
        return ort_fail(provider, ORT_INVALID_ARGUMENT,
                        "Gantry: InvalidArgument: %s %zu is at %p, where no memory is allocated",
                        what.kind, what.number, address);
    *out_allocation = allocation;
    *out_offset = distance - ((uint64_t)allocation->first_slot << SLOT_BITS);
    if (*out_offset <= allocation->size && bytes <= allocation->size - *out_offset) return NULL;
    return ort_fail(
        provider, ORT_INVALID_ARGUMENT,
        "Gantry: InvalidArgument: %s %zu has %llu bytes at byte %llu of an allocation of "
        "%llu bytes",
        what.kind, what.number, (unsigned long long)bytes, (unsigned long long)*out_offset,
        (unsigned long long)allocation->size);
}

/* ---- what an allocation holds; the mutex is held ---- */

static void drop_put(const put_t *put) {
    gantry_tensor_release(put->tensor);
    ort_provider_release(put->provider);
}

/* The first tensor that ends after an offset. */
static size_t first_after(const allocation_t *allocation, uint64_t offset) {
    size_t first = 0, last = allocation->put_count;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (allocation->puts[middle].end <= offset)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

/* Makes room for one more tensor from begin to end, where others are overwritten. */
static put_t *make_put(allocation_t *allocation, uint64_t begin, uint64_t end) {
    const size_t first = first_after(allocation, begin);
    size_t last = first;
    while (last < allocation->put_count && allocation->puts[last].begin < end) ++last;
    if (first == last && allocation->put_count == allocation->put_room) {
        const size_t room = 2 * allocation->put_room + 1;
        put_t *puts = realloc(allocation->puts, room * sizeof *puts);
        if (!puts) return NULL;
        allocation->puts = puts;
        allocation->put_room = room;
    }
    put_t *puts = allocation->puts;
    for (size_t i = first; i < last; ++i) drop_put(&puts[i]);
    memmove(puts + first + 1, puts + last, (allocation->put_count - last) * sizeof *puts);
    allocation->put_count += 1 - (last - first);
    return &puts[first];
}

static ort_status_t *put_at(ort_provider_t *provider, ort_what_t what, const void *address,
                            const gantry_tensor_t *tensor) {
    const uint64_t bytes = gantry_tensor_bytes(tensor);
    allocation_t *allocation = NULL;
    uint64_t offset = 0;
    ORT_TRY(find_allocation(provider, what, address, bytes, &allocation, &offset));
    put_t *put = make_put(allocation, offset, offset + bytes);
    if (!put) return ort_out_of_memory(provider);
    *put = (put_t){offset, offset + bytes, ort_provider_retain(provider),
                   gantry_tensor_retain(tensor)};
    return NULL;
}

ort_status_t *ort_put_tensor(ort_provider_t *provider, ort_what_t what, const void *address,
                             const gantry_tensor_t *tensor) {
    (void)pthread_mutex_lock(&slots.mutex);
    ort_status_t *failed = put_at(provider, what, address, tensor);
    (void)pthread_mutex_unlock(&slots.mutex);
    return failed;
}

static ort_status_t *take_at(const ort_provider_t *provider, ort_what_t what, const void *address,
                             uint64_t bytes, ort_held_t *out) {
    allocation_t *allocation = NULL;
    uint64_t offset = 0;
    ORT_TRY(find_allocation(provider, what, address, bytes, &allocation, &offset));
    const size_t i = first_after(allocation, offset);
    const put_t *put = &allocation->puts[i];
    const bool is_empty = i == allocation->put_count || put->begin >= offset + bytes;
    if (is_empty || put->begin > offset || put->end < offset + bytes)
        return ort_fail(provider, ORT_INVALID_ARGUMENT,
                        "Gantry: InvalidArgument: %s %zu has %llu bytes of memory of %s, which %s",
                        what.kind, what.number, (unsigned long long)bytes,
                        gantry_logical_device_name(allocation->allocator->device),
                        is_empty ? "nobody has written" : "were not written as one tensor");
    *out = (ort_held_t){ort_provider_retain(put->provider), gantry_tensor_retain(put->tensor),
                        offset - put->begin};
    return NULL;
}

ort_status_t *ort_take_tensor(const ort_provider_t *provider, ort_what_t what, const void *address,
                              uint64_t bytes, ort_held_t *out) {
    *out = (ort_held_t){0};
    (void)pthread_mutex_lock(&slots.mutex);
    ort_status_t *failed = take_at(provider, what, address, bytes, out);
    (void)pthread_mutex_unlock(&slots.mutex);
    return failed;
}

void ort_held_release(ort_held_t *held) {
    gantry_tensor_release(held->tensor);
    if (held->provider) ort_provider_release(held->provider);
}

ort_status_t *ort_find_memory(const ort_provider_t *provider, ort_what_t what, const void *address,
                              ort_provider_t **out_provider,
                              const gantry_logical_device_t **out_device) {
    allocation_t *allocation = NULL;
    uint64_t offset;
    (void)pthread_mutex_lock(&slots.mutex);
    ort_status_t *failed = find_allocation(provider, what, address, 0, &allocation, &offset);
    if (!failed) {
        *out_provider = ort_provider_retain(allocation->allocator->provider);
        *out_device = allocation->allocator->device;
    }
    (void)pthread_mutex_unlock(&slots.mutex);
    return failed;
}

/* ---- an allocator ---- */

static void *allocate_addresses(ort_allocator_t *self, size_t size) {
    const uint64_t slot_count = (size >> SLOT_BITS) + 1;
    if (size == 0 || slot_count > MOST_SLOTS) return NULL;
    allocation_t *allocation = calloc(1, sizeof *allocation);
    if (!allocation) return NULL;
    allocation->size = size;
    allocation->slot_count = (uint32_t)slot_count;
    allocation->allocator = (const device_allocator_t *)self;
    (void)pthread_mutex_lock(&slots.mutex);
    const bool has_slots = take_slots(allocation);
    (void)pthread_mutex_unlock(&slots.mutex);
    if (has_slots)
        return (void *)(uintptr_t)(FIRST_ADDRESS + ((uint64_t)allocation->first_slot << SLOT_BITS));
    free(allocation);
    return NULL;
}

static void free_addresses(ort_allocator_t *self, void *address) {
    const ort_provider_t *provider = ((device_allocator_t *)self)->provider;
    allocation_t *allocation = NULL;
    uint64_t offset;
    if (!address) return;
    (void)pthread_mutex_lock(&slots.mutex);
    ort_status_t *failed =
        find_allocation(provider, (ort_what_t){"memory", 0}, address, 0, &allocation, &offset);
    if (!failed) give_slots(allocation);
    (void)pthread_mutex_unlock(&slots.mutex);
    if (failed) {
        provider->api->ReleaseStatus(failed);
        return;
    }
    for (size_t i = 0; i < allocation->put_count; ++i) drop_put(&allocation->puts[i]);
    free(allocation->puts);
    free(allocation);
}

static const ort_memory_info_t *memory_info(const ort_allocator_t *self) {
    return ((const device_allocator_t *)self)->info;
}

static void add_stat(const ort_provider_t *provider, ort_pairs_t *stats, const char *name,
                     uint64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    provider->api->AddKeyValuePair(stats, name, text);
}

static ort_status_t *allocator_stats(const ort_allocator_t *self, ort_pairs_t **out_stats) {
    const device_allocator_t *allocator = (const device_allocator_t *)self;
    const ort_provider_t *provider = allocator->provider;
    gantry_memory_info_t info = {.struct_size = sizeof info};
    const gantry_status_t status = gantry_get_memory_info(
        provider->runtime, gantry_logical_device_name(allocator->device), &info);
    if (status != GANTRY_OK) return ort_fail_as(provider, status, gantry_last_message());
    provider->api->CreateKeyValuePairs(out_stats);
    add_stat(provider, *out_stats, "Limit", info.limit_bytes);
    add_stat(provider, *out_stats, "InUse", info.current_bytes);
    add_stat(provider, *out_stats, "MaxInUse", info.peak_bytes);
    add_stat(provider, *out_stats, "TotalAllocated", info.pool_bytes);
    add_stat(provider, *out_stats, "NumAllocs", info.allocation_count);
    add_stat(provider, *out_stats, "MaxAllocSize", info.largest_allocation_bytes);
    add_stat(provider, *out_stats, "BytesToDevice", atomic_load(&provider->bytes_to_device));
    add_stat(provider, *out_stats, "BytesToHost", atomic_load(&provider->bytes_to_host));
    return NULL;
}

ort_status_t *ort_memory_info_create(const ort_provider_t *provider, uint32_t number,
                                     ort_memory_info_t **out_info) {
    return provider->api->CreateMemoryInfo_V2("Gantry", ORT_DEVICE_GPU, ORT_VENDOR_ID,
                                              (int32_t)number, ORT_MEMORY_DEFAULT, 0,
                                              ORT_DEVICE_ALLOCATOR, out_info);
}

ort_status_t *ort_allocator_create(ort_provider_t *provider, const char *device,
                                   const ort_memory_info_t *memory,
                                   ort_allocator_t **out_allocator) {
    const ort_ep_api_t *api = provider->ep_api;
    const ort_memory_device_t *place = api->MemoryInfo_GetMemoryDevice(memory);
    *out_allocator = NULL;
    device_allocator_t *allocator = calloc(1, sizeof *allocator);
    if (!allocator) return ort_out_of_memory(provider);
    allocator->base = (ort_allocator_t){.version = ORT_VERSION,
                                        .Alloc = allocate_addresses,
                                        .Free = free_addresses,
                                        .Info = memory_info,
                                        .Reserve = allocate_addresses,
                                        .GetStats = allocator_stats};
    allocator->provider = ort_provider_retain(provider);
    *out_allocator = &allocator->base;
    ort_status_t *failed =
        ort_memory_info_create(provider, api->MemoryDevice_GetDeviceId(place), &allocator->info);
    if (!failed)
        failed = device ? ort_find_device(provider, device, &allocator->device)
                        : ort_find_gpu(provider, place, &allocator->device);
    if (!failed) return NULL;
    ort_allocator_release(*out_allocator);
    *out_allocator = NULL;
    return failed;
}

void ort_allocator_release(ort_allocator_t *base) {
    device_allocator_t *allocator = (device_allocator_t *)base;
    if (!allocator) return;
    if (allocator->info) allocator->provider->api->ReleaseMemoryInfo(allocator->info);
    ort_provider_release(allocator->provider);
    free(allocator);
}
