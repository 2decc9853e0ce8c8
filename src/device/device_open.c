/* SPDX-License-Identifier: Apache-2.0 */
/* An open logical device: driver context (shared by all logical devices of a card), limit,
 * allocator, streams.
 *
 * The first part of a card to be used opens the card, the last one to be closed closes it. */
#include "device/device_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/slot_failure.h"
#include "base/fp_mode.h"
#include "device/buffer.h"
#include "device/card_limit.h"
#include "device/device_table.h"
#include "device/device_times.h"
#include "device/driver_memory.h"
#include "device/fail_over.h"
#include "device/fault.h"
#include "device/loss.h"
#include "device/staging.h"
#include "device/status_file.h"
#include "device/stream_owner.h"

typedef struct gantry_logical_device_t logical_t;

/* ---- regions from the driver ---- */

/* Checks that the host has the memory, if device memory is host memory: the kernel would kill a
 * process rather than refuse it memory. */
static gantry_status_t check_host_memory(const logical_t *device, uint64_t size_bytes) {
    uint64_t free_bytes, total_bytes;
    if (!gantry__logical_is_host_backed(device) ||
        !gantry__driver_memory(device, &free_bytes, &total_bytes))
        return GANTRY_OK;
    uint64_t reserve = total_bytes / 64; /* for the rest of the process and the system */
    if (size_bytes <= free_bytes && reserve <= free_bytes - size_bytes) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "%s: a region of %" PRIu64
                        " bytes does not fit into the free memory of %" PRIu64
                        " bytes that machine, cgroup and ulimit leave",
                        device->name, size_bytes, free_bytes);
}

/* Touches every page, so that the memory is really there. */
static gantry_status_t commit(logical_t *device, uint64_t region, uint64_t size_bytes) {
    if (!(device->info.flags & GANTRY_DEVICE_LAZY_COMMIT)) return GANTRY_OK;
    gantry__stream_t *stream = &device->streams[GANTRY_STREAM_TO_DEVICE];
    const uint32_t zero = 0;
    gantry_span_t span = {region, 0, size_bytes};
    gantry__stream_begin(stream);
    gantry_status_t status =
        (gantry_status_t)device->backend->transfer->fill(stream->handle, &span, &zero, sizeof zero);
    uint64_t count = gantry__stream_end(stream);
    if (status != GANTRY_OK) return status;
    return gantry__point_wait((gantry__point_t){stream, count});
}

/* The driver's refusal, with the card's free memory, because other processes use the card too. */
static gantry_status_t tell_free_memory(const logical_t *device, gantry_status_t status) {
    uint64_t free_bytes, total_bytes;
    char why[GANTRY__MESSAGE_BYTES]; /* the query may change the message */
    if (status != GANTRY_RESOURCE_EXHAUSTED) return status;
    (void)snprintf(why, sizeof why, "%s", gantry__message());
    if (!gantry__driver_memory(device, &free_bytes, &total_bytes))
        return gantry__fail(status, "%s", why);
    return gantry__fail(status, "%" PRIu64 " of %" PRIu64 " bytes are free: %s", free_bytes,
                        total_bytes, why);
}

static void free_region(logical_t *device, uint64_t handle, uint64_t size_bytes) {
    atomic_fetch_add(&device->freed_regions, 1);
    device->backend->memory->region_free(device->handle, handle, size_bytes);
}

static gantry_status_t logical_take_region(void *user, uint64_t size_bytes, uint64_t *out_handle) {
    logical_t *device = user;
    GANTRY__TRY(check_host_memory(device, size_bytes));
    gantry_status_t status;
    GANTRY__CALL_SLOT(
        status, device->backend->memory->region_alloc(device->handle, size_bytes, out_handle));
    if (status != GANTRY_OK) return tell_free_memory(device, status);
    gantry__profile_frame_t *frame = gantry__device_frame(device->table);
    if (frame) ++frame->numbers.driver_allocations;
    status = commit(device, *out_handle, size_bytes);
    if (status != GANTRY_OK) {
        /* the fill may have been submitted before a step failed: the region outlives it */
        char why[256];
        (void)snprintf(why, sizeof why, "%s", gantry__message());
        (void)gantry__stream_synchronize(&device->streams[GANTRY_STREAM_TO_DEVICE]);
        (void)gantry__fail(status, "%s", why);
        free_region(device, *out_handle, size_bytes);
        if (gantry__device_is_lost(device)) return status;
        /* drivers report a failed commit in many ways; here it can only mean that memory is
         * short */
        return gantry__fail_prefix(GANTRY_RESOURCE_EXHAUSTED,
                                   "%s: committing %" PRIu64 " bytes: ", device->name, size_bytes);
    }
    return GANTRY_OK;
}

static void give_region_back(void *user, uint64_t handle, uint64_t size_bytes) {
    free_region(user, handle, size_bytes);
}

/* The allocator may call this while it is opened, before there is staging. */
static uint64_t release_staging(void *user) {
    logical_t *device = user;
    return device->staging ? gantry__staging_release_idle(device) : 0;
}

/* Memory that is allocated while the device is opened is requested before the device has any. */
static uint64_t take_kept_memory(void *user) {
    const logical_t *device = user;
    return gantry__keepers_ask_all(&device->table->keepers, device);
}

static void show_memory(void *user) {
    const logical_t *device = user;
    gantry__status_file_t *file = device->table->status_file;
    if (file) gantry__status_file_note(device->table, file);
}

static void wait_for_work(void *user) { (void)gantry__logical_device_synchronize(user); }

/* ---- open and close: the caller must hold the card's open_lock ---- */

static gantry_status_t logical_open_driver(logical_t *device) {
    gantry__card_t *card = device->card;
    uint64_t free_before = card->open_count == 0 ? gantry__card_free_bytes(device) : 0;
    if (card->open_count == 0) GANTRY__TRY(gantry__card_open(device->physical, device->name));
    /* writes only a change: other threads read the fields of a device while it is opened */
    if (device->backend != gantry__logical_view(device)->backend->table)
        gantry__logical_device_bind(device);
    device->handle = card->handle;
    if (card->open_count++ == 0) gantry__card_limit_find(device, free_before);
    gantry__logical_limit_find(device);
    return GANTRY_OK;
}

static void close_driver(logical_t *device) {
    gantry__card_t *card = device->card;
    if (--card->open_count == 0) {
        device->backend->device_close(card->handle);
        card->handle = NULL;
    }
    device->handle = NULL;
}

static gantry_status_t open_allocator(logical_t *device) {
    uint64_t alignment = GANTRY__BFC_LEAST_ALIGNMENT;
    if (device->info.base_alignment_bytes > alignment)
        alignment = device->info.base_alignment_bytes;
    const gantry__memory_policy_t *policy = &device->table->policy;
    gantry__allocator_options_t options = {
        .bfc = {.limit_bytes = device->limit_bytes,
                .reserved_bytes = device->context_bytes,
                .alignment = alignment,
                .max_region_bytes = device->info.largest_allocation_bytes,
                .max_step_bytes = policy->step_bytes,
                .split_bytes = policy->split_bytes,
                .growth = device->card->settings.growth},
        .garbage_collection = policy->collect,
        .explicit_retry = policy->explicit_retry,
        .retry_ms = policy->retry_ms,
    };
    gantry__region_source_t source = {.user = device,
                                      .take = logical_take_region,
                                      .give_back = give_region_back,
                                      .wait = wait_for_work,
                                      .release_idle = release_staging,
                                      .take_kept = take_kept_memory,
                                      .changed = device->table->status_file ? show_memory : NULL};
    char name[64];
    if (device->index >= 0) {
        (void)snprintf(name, sizeof name, "%s_%d_bfc", device->physical->type, device->index);
    } else {
        (void)snprintf(name, sizeof name, "%s_bfc", device->physical->alias);
    }
    return gantry__allocator_init(&device->allocator, device->table->heap, &options, &source, name);
}

static void close_streams(logical_t *device) {
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) gantry__stream_deinit(&device->streams[i]);
}

/* The nearest priority to one that was checked against the range of a view that serves no
 * longer. */
static int32_t nearest_priority(const gantry_device_info_t *info, int32_t priority) {
    if (priority > info->least_priority) return info->least_priority;
    return priority < info->greatest_priority ? info->greatest_priority : priority;
}

/* The card's first logical device is the one of the lowest number. */
static bool is_first_of_card(const logical_t *device) {
    const gantry__device_table_t *table = device->table;
    for (size_t i = 0; i < device->position; ++i) {
        if (table->logical[i]->card == device->card) return false;
    }
    return true;
}

static gantry_status_t open_stream(logical_t *device, uint32_t i, const int32_t *priority) {
    const gantry__stream_owner_t owner = gantry__stream_owner(device);
    void *queue = device->card->adopted_queue;
    if (i == GANTRY_STREAM_COMPUTE && queue && is_first_of_card(device))
        return gantry__stream_init_over(&device->streams[i], device->table->heap, device->backend,
                                        device->handle, &owner, i, queue);
    return gantry__stream_init(&device->streams[i], device->table->heap, device->backend,
                               device->handle, &owner, i, priority, device->synchronous);
}

static gantry_status_t open_streams(logical_t *device) {
    const int32_t *priority =
        device->part && device->part->has_priority ? &device->part->priority : NULL;
    int32_t nearest;
    if (priority && gantry__logical_view(device) != device->physical) {
        nearest = nearest_priority(&device->info, *priority);
        priority = &nearest;
    }
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        gantry_status_t status = open_stream(device, i, priority);
        if (status != GANTRY_OK) {
            close_streams(device);
            return status;
        }
    }
    return GANTRY_OK;
}

static gantry_status_t logical_open_all(logical_t *device) {
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(logical_open_driver(device));
    gantry_status_t status = gantry__logical_limit_check(device);
    if (status != GANTRY_OK) goto fail_driver;
    status = open_streams(device);
    if (status != GANTRY_OK) goto fail_driver;
    status = gantry__fault_table_init(device);
    if (status != GANTRY_OK) goto fail_streams;
    status = open_allocator(device);
    if (status != GANTRY_OK) goto fail_faults;
    status = gantry__staging_init(device);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry__allocator_deinit(&device->allocator);
fail_faults:
    gantry__fault_table_deinit(device);
fail_streams:
    close_streams(device);
fail_driver:
    close_driver(device);
    return status;
}

static void announce(const logical_t *device) {
    gantry__log(device->table->log, GANTRY_LEVEL_INFO,
                "Created device %s with %" PRIu64
                " MB memory:  -> device: %s, name: %s, pci bus id: %s",
                device->full_name, (device->limit_bytes - device->context_bytes) >> 20,
                gantry__logical_view(device)->alias, device->info.hardware_name,
                *device->physical->pci ? device->physical->pci : "none");
}

gantry_status_t gantry__logical_device_open_slowly(gantry_logical_device_t *device) {
    GANTRY__OWN_FP_MODE(fp);
    const uint32_t before = gantry__failures();
    gantry_status_t status = GANTRY_OK;
    bool is_first = false;
    gantry__mutex_lock(&device->card->open_lock);
    if (!atomic_load(&device->is_open)) {
        status = logical_open_all(device);
        is_first = status == GANTRY_OK;
        if (is_first) atomic_store_explicit(&device->is_open, true, memory_order_release);
    }
    bool is_refused = status == GANTRY_UNAVAILABLE && device->card->is_refused;
    bool is_remarkable = is_first && device->card->open_count == 1 &&
                         (*device->card->later_note || *device->card->numerics);
    gantry__mutex_unlock(&device->card->open_lock);
    if (is_refused) status = gantry__loss_note(device, status); /* placement skips it */
    if (is_remarkable) gantry__fail_over_tell(device->physical);
    if (is_first) announce(device);
    if (status == GANTRY_OK) gantry__forget_since(before);
    return status;
}

void gantry__logical_device_close(gantry_logical_device_t *device) {
    if (!atomic_load(&device->is_open)) return;
    (void)gantry__logical_device_synchronize(device);
    gantry__buffers_end(device);
    gantry__fault_table_deinit(device);
    gantry__staging_deinit(device);
    gantry__allocator_deinit(&device->allocator);
    gantry__device_times_release(device);
    gantry__mutex_lock(&device->card->open_lock);
    close_streams(device);
    close_driver(device);
    atomic_store(&device->is_open, false);
    gantry__mutex_unlock(&device->card->open_lock);
}

gantry_status_t gantry__logical_device_synchronize(gantry_logical_device_t *device) {
    gantry_status_t first = GANTRY_OK;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        /* a driver's wait may wake its threads, even if there is nothing to wait for */
        if (gantry__stream_is_idle(&device->streams[i])) continue;
        gantry_status_t status = gantry__stream_synchronize(&device->streams[i]);
        if (first == GANTRY_OK) first = status;
    }
    gantry__buffers_collect(device);
    return first;
}

void gantry__logical_device_flush(gantry_logical_device_t *device) {
    if (!atomic_load_explicit(&device->is_open, memory_order_acquire) || device->synchronous)
        return;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) gantry__stream_flush(&device->streams[i]);
}
