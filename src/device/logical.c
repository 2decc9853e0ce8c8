/* A logical device at work: driver context (shared by all logical devices of a card), allocator, streams. */
#include "device/device_table.h"
#include "device/loss.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct gantry_logical_device_t logical_t;

/* ---- regions from the driver ---- */

/* Where device memory is host memory, the kernel would rather kill a process than refuse it memory: ask first. */
static gantry_status_t check_host_memory(const logical_t *device, uint64_t size_bytes) {
    const gantry_memory_ops_t *memory = device->backend->memory;
    if (!(device->physical->info.flags & GANTRY_DEVICE_HOST_BACKED)) return GANTRY_OK;
    if (!GANTRY_ABI_HAS(memory, memory_info) || !memory->memory_info) return GANTRY_OK;
    uint64_t free_bytes = 0, total_bytes = 0;
    if (memory->memory_info(device->handle, &free_bytes, &total_bytes) != 0) return GANTRY_OK;
    uint64_t reserve = total_bytes / 64; /* for the rest of the process and the system */
    if (size_bytes + reserve <= free_bytes) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "%s: a region of %" PRIu64 " bytes does not fit into the machine's free memory of %" PRIu64
                        " bytes",
                        device->name, size_bytes, free_bytes);
}

/* Touches every page, so that the memory is there. */
static gantry_status_t commit(logical_t *device, uint64_t region, uint64_t size_bytes) {
    if (!(device->physical->info.flags & GANTRY_DEVICE_LAZY_COMMIT)) return GANTRY_OK;
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

static void wait_for_work(void *user) { (void)gantry__logical_device_synchronize(user); }

/* ---- open and close ---- */

static gantry_status_t open_driver(logical_t *device) {
    struct gantry_physical_device_t *physical = device->physical;
    if (!physical->handle) {
        int32_t code =
            device->backend->device_open(physical->backend->instance, physical->backend_index, &physical->handle);
        if (code != 0)
            return gantry__fail_prefix((gantry_status_t)code, "%s (%s) cannot be opened: ", device->name,
                                       physical->alias);
    }
    atomic_fetch_add(&physical->open_count, 1);
    device->handle = physical->handle;
    return GANTRY_OK;
}

static void close_driver(logical_t *device) {
    struct gantry_physical_device_t *physical = device->physical;
    if (atomic_fetch_sub(&physical->open_count, 1) == 1) {
        device->backend->device_close(physical->handle);
        physical->handle = NULL;
    }
    device->handle = NULL;
}

static uint64_t memory_limit(const logical_t *device) {
    const struct gantry_physical_device_t *physical = device->physical;
    uint64_t total = physical->info.total_bytes ? physical->info.total_bytes : UINT64_MAX;
    uint64_t wanted = gantry__device_limit(device->table, physical);
    return wanted && wanted < total ? wanted : total;
}

static gantry_status_t open_allocator(logical_t *device) {
    const struct gantry_physical_device_t *physical = device->physical;
    uint64_t alignment = GANTRY__BFC_LEAST_ALIGNMENT;
    if (physical->info.base_alignment_bytes > alignment) alignment = physical->info.base_alignment_bytes;
    gantry__bfc_options_t options = {
        .limit_bytes = memory_limit(device),
        .alignment = alignment,
        .max_region_bytes = physical->info.largest_allocation_bytes,
        .growth = gantry__device_growth(device->table, physical),
    };
    gantry__region_source_t source = {device, take_region, give_region_back, wait_for_work};
    char name[64];
    if (device->index >= 0) {
        (void)snprintf(name, sizeof name, "%s_%d_bfc", physical->type, device->index);
    } else {
        (void)snprintf(name, sizeof name, "%s_bfc", physical->alias);
    }
    return gantry__allocator_init(&device->allocator, device->table->heap, &options, &source, name);
}

static void close_streams(logical_t *device) {
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) gantry__stream_deinit(&device->streams[i]);
}

static gantry_status_t open_streams(logical_t *device) {
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) {
        gantry_status_t status = gantry__stream_init(&device->streams[i], device->table->heap, device->backend,
                                                     device->handle, device, i, device->synchronous);
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
    status = gantry__staging_init(&device->staging);
    if (status != GANTRY_OK) goto fail_faults;
    status = open_allocator(device);
    if (status == GANTRY_OK) return GANTRY_OK;
    gantry__staging_deinit(device);
fail_faults:
    gantry__mutex_deinit(&device->faults.lock);
fail_streams:
    close_streams(device);
fail_driver:
    close_driver(device);
    return status;
}

gantry_status_t gantry__logical_device_open_slowly(gantry_logical_device_t *device) {
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&device->table->lock);
    if (!atomic_load(&device->is_open)) {
        status = open_all(device);
        if (status == GANTRY_OK) {
            atomic_store_explicit(&device->is_open, true, memory_order_release);
            gantry__log(device->table->log, GANTRY_LEVEL_INFO,
                        "Created device %s with %" PRIu64 " MB memory:  -> device: %s, name: %s, pci bus id: %s",
                        device->full_name, memory_limit(device) >> 20, device->physical->alias,
                        device->physical->info.hardware_name, *device->physical->pci ? device->physical->pci : "none");
        }
    }
    gantry__mutex_unlock(&device->table->lock);
    return status;
}

void gantry__logical_device_close(gantry_logical_device_t *device) {
    if (!atomic_load(&device->is_open)) return;
    (void)gantry__logical_device_synchronize(device);
    gantry__fault_table_deinit(device);
    gantry__staging_deinit(device);
    gantry__allocator_deinit(&device->allocator);
    close_streams(device);
    close_driver(device);
    atomic_store(&device->is_open, false);
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
    if (device->synchronous || !atomic_load_explicit(&device->is_open, memory_order_acquire)) return;
    for (uint32_t i = 0; i < GANTRY__STREAMS; ++i) gantry__stream_flush(&device->streams[i]);
}
