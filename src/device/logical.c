/* A logical device at work: driver context (shared by all logical devices of a card), limit, allocator, streams.
 *
 * The first part of a card that is needed opens the card, the last one that is closed closes it. */
#include "device/driver_memory.h"
#include "device/fail_over.h"
#include "device/loss.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct gantry_logical_device_t logical_t;

/* ---- regions from the driver ---- */

static bool is_host_backed(const logical_t *device) { return (device->info.flags & GANTRY_DEVICE_HOST_BACKED) != 0; }

/* Where device memory is host memory, the kernel would rather kill a process than refuse it memory: ask first. */
static gantry_status_t check_host_memory(const logical_t *device, uint64_t size_bytes) {
    uint64_t free_bytes, total_bytes;
    if (!is_host_backed(device) || !gantry__driver_memory(device, &free_bytes, &total_bytes)) return GANTRY_OK;
    uint64_t reserve = total_bytes / 64; /* for the rest of the process and the system */
    if (size_bytes <= free_bytes && reserve <= free_bytes - size_bytes) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "%s: a region of %" PRIu64 " bytes does not fit into the machine's free memory of %" PRIu64
                        " bytes",
                        device->name, size_bytes, free_bytes);
}

/* Touches every page, so that the memory is there. */
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

static gantry_status_t take_region(void *user, uint64_t size_bytes, uint64_t *out_handle) {
    logical_t *device = user;
    GANTRY__TRY(check_host_memory(device, size_bytes));
    GANTRY__TRY((gantry_status_t)device->backend->memory->region_alloc(device->handle, size_bytes, out_handle));
    gantry_status_t status = commit(device, *out_handle, size_bytes);
    if (status != GANTRY_OK) {
        char why[256]; /* the fill may have been submitted before something failed: the region outlives it */
        (void)snprintf(why, sizeof why, "%s", gantry__message());
        (void)gantry__stream_synchronize(&device->streams[GANTRY_STREAM_TO_DEVICE]);
        (void)gantry__fail(status, "%s", why);
        device->backend->memory->region_free(device->handle, *out_handle, size_bytes);
        if (gantry__device_is_lost(device)) return status;
        /* drivers report a failed commit in many ways; here it can only mean that memory is short */
        return gantry__fail_prefix(GANTRY_RESOURCE_EXHAUSTED, "%s: committing %" PRIu64 " bytes: ", device->name,
                                   size_bytes);
    }
    return GANTRY_OK;
}

static void give_region_back(void *user, uint64_t handle, uint64_t size_bytes) {
    logical_t *device = user;
    device->backend->memory->region_free(device->handle, handle, size_bytes);
}

static uint64_t release_staging(void *user) { return gantry__staging_release_idle(user); }

static void wait_for_work(void *user) { (void)gantry__logical_device_synchronize(user); }

/* ---- the limit ---- */

#define MIB (UINT64_C(1) << 20)

/* What is left to others when a device's whole free memory is taken: by compute capability, as in TensorFlow. */
static uint64_t reserve_of(const gantry_device_info_t *info, uint64_t free_bytes) {
    if (free_bytes < 2048 * MIB) return 225 * MIB;
    long major = strtol(info->compute_capability, NULL, 10); /* 0 where the notion does not exist */
    if (major <= 6) return 500 * MIB;
    return major == 7 ? 1050 * MIB : major == 8 ? 1536 * MIB : 1800 * MIB;
}

/* The bound of a card for which no setting gives one. With growth it is all that the card has: memory is taken as it is needed, and the
 * driver has the last word. Without growth the bound is taken at once, so it is what the driver says is free less a reserve; the reserve
 * counts only when it is smaller than that. Where device memory is the machine's, it is a sixteenth of the machine at least, which
 * leaves the system and the process room. A driver that does not tell leaves the total. */
static uint64_t default_limit(const logical_t *device, uint64_t total) {
    uint64_t free_bytes, driver_total;
    if (gantry__device_growth(device->table, device->physical)) return total;
    if (!gantry__driver_memory(device, &free_bytes, &driver_total)) return total;
    uint64_t reserve = reserve_of(&device->info, free_bytes);
    if (is_host_backed(device) && reserve < driver_total / 16) reserve = driver_total / 16;
    uint64_t limit = reserve < free_bytes ? free_bytes - reserve : free_bytes;
    return limit < total ? limit : total;
}

static uint64_t whole_limit(const logical_t *device) {
    const struct gantry_physical_device_t *physical = device->physical;
    uint64_t total = device->info.total_bytes ? device->info.total_bytes : UINT64_MAX;
    uint64_t wanted = gantry__device_limit(device->table, physical);
    if (wanted) return wanted < total ? wanted : total;
    return default_limit(device, total);
}

/* A part's own limit; parts without one share equally what the others leave of the whole. */
static uint64_t part_limit(const logical_t *device) {
    const struct gantry_physical_device_t *physical = device->physical;
    uint64_t left = physical->whole_limit_bytes, sharers = 0;
    if (!device->part) return left;
    if (device->part->memory_limit_bytes)
        return device->part->memory_limit_bytes < left ? device->part->memory_limit_bytes : left;
    for (size_t i = 0; i < physical->part_count; ++i) {
        uint64_t taken = physical->parts[i].memory_limit_bytes;
        left = taken < left ? left - taken : 0;
        sharers += taken == 0;
    }
    return left / sharers;
}

/* ---- open and close: the card's open_lock is held ---- */

static gantry_status_t open_driver(logical_t *device) {
    struct gantry_physical_device_t *physical = device->physical;
    if (physical->open_count == 0) GANTRY__TRY(gantry__card_open(physical, device->name));
    /* nothing is written where nothing changes: other threads read what a device is while it is opened */
    if (device->backend != gantry__logical_view(device)->backend->table) gantry__logical_device_bind(device);
    device->handle = physical->handle;
    if (physical->open_count++ == 0) physical->whole_limit_bytes = whole_limit(device);
    device->limit_bytes = part_limit(device);
    return GANTRY_OK;
}

static void close_driver(logical_t *device) {
    struct gantry_physical_device_t *physical = device->physical;
    if (--physical->open_count == 0) {
        device->backend->device_close(physical->handle);
        physical->handle = NULL;
    }
    device->handle = NULL;
}

static gantry_status_t open_allocator(logical_t *device) {
    uint64_t alignment = GANTRY__BFC_LEAST_ALIGNMENT;
    if (device->info.base_alignment_bytes > alignment) alignment = device->info.base_alignment_bytes;
    const gantry__memory_policy_t *policy = &device->table->policy;
    gantry__allocator_options_t options = {
        .bfc = {.limit_bytes = device->limit_bytes,
                .alignment = alignment,
                .max_region_bytes = device->info.largest_allocation_bytes,
                .max_step_bytes = policy->step_bytes,
                .split_bytes = policy->split_bytes,
                .growth = gantry__device_growth(device->table, device->physical)},
        .garbage_collection = policy->collect,
        .explicit_retry = policy->explicit_retry,
        .retry_ms = policy->retry_ms,
    };
    gantry__region_source_t source = {.user = device,
                                      .take = take_region,
                                      .give_back = give_region_back,
                                      .wait = wait_for_work,
                                      .release_idle = release_staging};
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

/* A priority that was checked against the range of a view that serves no more. */
static int32_t nearest_priority(const gantry_device_info_t *info, int32_t priority) {
    if (priority > info->least_priority) return info->least_priority;
    return priority < info->greatest_priority ? info->greatest_priority : priority;
}

static gantry_status_t open_streams(logical_t *device) {
    const int32_t *priority = device->part && device->part->has_priority ? &device->part->priority : NULL;
    int32_t nearest;
    if (priority && gantry__logical_view(device) != device->physical) {
        nearest = nearest_priority(&device->info, *priority);
        priority = &nearest;
    }
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        gantry_status_t status = gantry__stream_init(&device->streams[i], device->table->heap, device->backend,
                                                     device->handle, device, i, priority, device->synchronous);
        if (status != GANTRY_OK) {
            close_streams(device);
            return status;
        }
        device->streams[i].logical = device;
    }
    return GANTRY_OK;
}

static gantry_status_t open_all(logical_t *device) {
    GANTRY__TRY(gantry__loss_check(device));
    GANTRY__TRY(open_driver(device));
    gantry_status_t status = open_streams(device);
    if (status != GANTRY_OK) goto fail_driver;
    status = gantry__fault_table_init(&device->faults);
    if (status != GANTRY_OK) goto fail_streams;
    status = open_allocator(device);
    if (status != GANTRY_OK) goto fail_faults;
    status = gantry__staging_init(device);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry__allocator_deinit(&device->allocator);
fail_faults:
    gantry__mutex_deinit(&device->faults.lock);
fail_streams:
    close_streams(device);
fail_driver:
    close_driver(device);
    return status;
}

static void announce(const logical_t *device) {
    gantry__log(device->table->log, GANTRY_LEVEL_INFO,
                "Created device %s with %" PRIu64 " MB memory:  -> device: %s, name: %s, pci bus id: %s",
                device->full_name, device->limit_bytes >> 20, gantry__logical_view(device)->alias,
                device->info.hardware_name, *device->physical->pci ? device->physical->pci : "none");
}

gantry_status_t gantry__logical_device_open_slowly(gantry_logical_device_t *device) {
    gantry_status_t status = GANTRY_OK;
    bool is_first = false;
    gantry__mutex_lock(&device->physical->open_lock);
    if (!atomic_load(&device->is_open)) {
        status = open_all(device);
        is_first = status == GANTRY_OK;
        if (is_first) atomic_store_explicit(&device->is_open, true, memory_order_release);
    }
    bool is_remarkable = is_first && device->physical->open_count == 1 && *device->physical->later_note;
    gantry__mutex_unlock(&device->physical->open_lock);
    if (is_remarkable) gantry__fail_over_tell(device->physical);
    if (is_first) announce(device);
    return status;
}

void gantry__logical_device_close(gantry_logical_device_t *device) {
    if (!atomic_load(&device->is_open)) return;
    (void)gantry__logical_device_synchronize(device);
    gantry__fault_table_deinit(device);
    gantry__staging_deinit(device);
    gantry__allocator_deinit(&device->allocator);
    gantry__mutex_lock(&device->physical->open_lock);
    close_streams(device);
    close_driver(device);
    atomic_store(&device->is_open, false);
    gantry__mutex_unlock(&device->physical->open_lock);
}

gantry_status_t gantry__logical_device_synchronize(gantry_logical_device_t *device) {
    gantry_status_t first = GANTRY_OK;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        gantry_status_t status = gantry__stream_synchronize(&device->streams[i]);
        if (first == GANTRY_OK) first = status;
    }
    return first;
}

void gantry__logical_device_flush(gantry_logical_device_t *device) {
    if (!atomic_load_explicit(&device->is_open, memory_order_acquire) || device->synchronous) return;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) gantry__stream_flush(&device->streams[i]);
}
