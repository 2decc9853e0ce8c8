/* SPDX-License-Identifier: Apache-2.0 */
/* StreamExecutor's functions for this platform; stream.h says why streams and events order
 * nothing. */
#define _POSIX_C_SOURCE 200809L
#include "stream.h"

#include <stdlib.h>
#include <time.h>

#include "copy_count.h"
#include "device.h"
#include "log.h"
#include "status.h"

struct SP_Stream_st {
    uint32_t device;
};

/* Events have no state, but TensorFlow wants an address. */
struct SP_Event_st {
    char unused;
};

struct SP_Timer_st {
    struct timespec start, stop;
};

uint32_t stream_device(SP_Stream stream) { return stream->device; }

/* ---- memory ---- */

static void stream_allocate(const SP_Device *device, uint64_t bytes, int64_t space,
                            SP_DeviceMemoryBase *out) {
    (void)space;
    out->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
    out->opaque = NULL;
    out->size = 0;
    if (device_is_forked()) { /* the copy or kernel that follows fails with the reason */
        out->opaque = memory_nowhere(device_memory());
        out->size = bytes;
        return;
    }
    out->opaque = memory_allocate(device_memory(), (uint32_t)device->ordinal, bytes);
    if (out->opaque) {
        out->size = bytes;
    } else if (bytes) {
        log_line(GANTRY_LEVEL_ERROR, "no address is left for %llu bytes of %s",
                 (unsigned long long)bytes, device_at((uint32_t)device->ordinal)->name);
    }
}

static void deallocate(const SP_Device *device, SP_DeviceMemoryBase *memory) {
    (void)device;
    if (!device_is_forked()) memory_free(device_memory(), memory->opaque);
    memory->opaque = NULL;
    memory->size = 0;
}

static void *allocate_host(const SP_Device *device, uint64_t bytes) {
    (void)device;
    return aligned_alloc(64, (bytes + 63) & ~UINT64_C(63));
}

static void deallocate_host(const SP_Device *device, void *memory) {
    (void)device;
    free(memory);
}

/* Reads free and total memory. In a child of fork it reports all memory of the card, because its
 * TensorFlow has to start for its CPU. */
static bool read_info(const SP_Device *device, gantry_memory_info_t *info) {
    *info = (gantry_memory_info_t){.struct_size = sizeof *info};
    info->limit_bytes = device_at((uint32_t)device->ordinal)->total_bytes;
    if (device_is_forked()) return true;
    return !gantry_get_memory_info(device_runtime(), device_at((uint32_t)device->ordinal)->name,
                                   info);
}

static TF_Bool get_allocator_stats(const SP_Device *device, SP_AllocatorStats *stats) {
    gantry_memory_info_t info;
    if (!read_info(device, &info)) return 0;
    *stats = (SP_AllocatorStats){.struct_size = SP_ALLOCATORSTATS_STRUCT_SIZE,
                                 .num_allocs = (int64_t)info.allocation_count,
                                 .bytes_in_use = (int64_t)info.current_bytes,
                                 .peak_bytes_in_use = (int64_t)info.peak_bytes,
                                 .largest_alloc_size = (int64_t)info.largest_allocation_bytes,
                                 .has_bytes_limit = 1,
                                 .bytes_limit = (int64_t)info.limit_bytes,
                                 .bytes_reserved = (int64_t)info.pool_bytes,
                                 .peak_bytes_reserved = (int64_t)info.peak_pool_bytes,
                                 .largest_free_block_bytes = (int64_t)info.largest_free_bytes};
    return 1;
}

static TF_Bool get_usage(const SP_Device *device, int64_t *free_bytes, int64_t *total_bytes) {
    gantry_memory_info_t info;
    if (!read_info(device, &info)) return 0;
    const uint64_t limit = info.limit_bytes ? info.limit_bytes : info.driver_total_bytes;
    *total_bytes = (int64_t)limit;
    *free_bytes = (int64_t)(limit > info.current_bytes ? limit - info.current_bytes : 0);
    return 1;
}

/* ---- streams and events ---- */

static void create_stream(const SP_Device *device, SP_Stream *out, TF_Status *status) {
    *out = malloc(sizeof **out);
    if (!*out) {
        status_set_memory(status);
        return;
    }
    (*out)->device = (uint32_t)device->ordinal;
    status_set(status, GANTRY_OK, NULL);
}

static void destroy_stream(const SP_Device *device, SP_Stream stream) {
    (void)device;
    free(stream);
}

static void depend_on_stream(const SP_Device *device, SP_Stream dependent, SP_Stream other,
                             TF_Status *status) {
    (void)device;
    (void)dependent;
    (void)other;
    status_set(status, GANTRY_OK, NULL);
}

static void get_stream_status(const SP_Device *device, SP_Stream stream, TF_Status *status) {
    (void)device;
    (void)stream;
    status_set(status, GANTRY_OK, NULL);
}

static void create_event(const SP_Device *device, SP_Event *out, TF_Status *status) {
    (void)device;
    *out = malloc(sizeof **out);
    if (!*out) {
        status_set_memory(status);
        return;
    }
    status_set(status, GANTRY_OK, NULL);
}

static void stream_destroy_event(const SP_Device *device, SP_Event event) {
    (void)device;
    free(event);
}

static SE_EventStatus get_event_status(const SP_Device *device, SP_Event event) {
    (void)device;
    (void)event;
    return SE_EVENT_COMPLETE;
}

static void pass_event(const SP_Device *device, SP_Stream stream, SP_Event event,
                       TF_Status *status) {
    (void)device;
    (void)stream;
    (void)event;
    status_set(status, GANTRY_OK, NULL);
}

static void block_for_event(const SP_Device *device, SP_Event event, TF_Status *status) {
    (void)device;
    (void)event;
    status_set(status, GANTRY_OK, NULL);
}

/* Whether this process may use devices; in a child of fork it sets an error. */
static bool stream_is_usable(TF_Status *status) {
    if (!device_is_forked()) return true;
    status_set(status, GANTRY_FAILED_PRECONDITION, device_fork_text());
    return false;
}

/* Waits for the device. TensorFlow synchronizes a device before it reads a tensor, and replaces any
 * error by "SyncAll failed". The copy that follows reports the error of its tensor with class and
 * text, so the error of a kernel is only logged here, for results that nobody reads. */
static void synchronize(const SP_Device *device, TF_Status *status) {
    (void)device;
    status_set(status, GANTRY_OK, NULL);
    if (device_is_forked()) return;
    if (gantry_runtime_synchronize(device_runtime())) {
        log_line(GANTRY_LEVEL_WARNING, "a kernel failed on its device: %s", gantry_last_message());
    }
}

static void block_until_done(const SP_Device *device, SP_Stream stream, TF_Status *status) {
    (void)device;
    (void)stream;
    if (!stream_is_usable(status)) return;
    status_set_last(status, gantry_runtime_synchronize(device_runtime()));
}

static TF_Bool run_host_callback(const SP_Device *device, SP_Stream stream,
                                 SE_StatusCallbackFn callback, void *argument) {
    (void)device;
    (void)stream;
    TF_Status *status = TF_NewStatus();
    callback(argument, status);
    const bool is_done = TF_GetCode(status) == TF_OK;
    TF_DeleteStatus(status);
    return is_done;
}

/* ---- timers ---- */

static void create_timer(const SP_Device *device, SP_Timer *out, TF_Status *status) {
    (void)device;
    *out = calloc(1, sizeof **out);
    if (!*out) {
        status_set_memory(status);
        return;
    }
    status_set(status, GANTRY_OK, NULL);
}

static void destroy_timer(const SP_Device *device, SP_Timer timer) {
    (void)device;
    free(timer);
}

static void start_timer(const SP_Device *device, SP_Stream stream, SP_Timer timer,
                        TF_Status *status) {
    synchronize(device, status);
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &timer->start);
}

static void stop_timer(const SP_Device *device, SP_Stream stream, SP_Timer timer,
                       TF_Status *status) {
    synchronize(device, status);
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &timer->stop);
}

static uint64_t timer_nanoseconds(SP_Timer timer) {
    const int64_t seconds = timer->stop.tv_sec - timer->start.tv_sec;
    return (uint64_t)(seconds * 1000000000 + timer->stop.tv_nsec - timer->start.tv_nsec);
}

void stream_fill_timer(SP_TimerFns *functions) {
    functions->struct_size = SP_TIMER_FNS_STRUCT_SIZE;
    functions->nanoseconds = timer_nanoseconds;
}

/* ---- copies ---- */

/* Copies between addresses. For copies between devices, too, TensorFlow gives only one device, that
 * of the source. The address of the target gives its device. */
static void copy_on_devices(const SP_Device *device, SP_DeviceMemoryBase *to,
                            const SP_DeviceMemoryBase *from, uint64_t bytes, TF_Status *status) {
    if (!stream_is_usable(status)) return;
    uint32_t source = (uint32_t)device->ordinal, target = source;
    (void)memory_device(device_memory(), from->opaque, &source);
    (void)memory_device(device_memory(), to->opaque, &target);
    if (source != target) copy_count_add(COPY_FROM_DEVICE, target, bytes);
    gantry_scope_t *scope = gantry_scope_begin_on(device_runtime(), device_logical(target));
    if (!scope) {
        status_set_last(status, GANTRY_FAILED_PRECONDITION);
        return;
    }
    status_set_last(status, memory_copy(device_memory(), scope, to->opaque, from->opaque, bytes));
    (void)gantry_scope_end(scope);
}

/* Whether memory of the host is an address of a device. An int32 input of TensorFlow's own kernels
 * may be on the device where the graph says host, as for ZerosLike(shape). Its address then comes
 * as that of the host's side. */
static bool lies_on_device(const void *host) {
    uint32_t device;
    return memory_device(device_memory(), host, &device);
}

static void copy_to_host(const SP_Device *device, void *to, const SP_DeviceMemoryBase *from,
                         uint64_t bytes, TF_Status *status) {
    if (!stream_is_usable(status)) return;
    if (lies_on_device(to)) {
        SP_DeviceMemoryBase target = {.opaque = to};
        copy_on_devices(device, &target, from, bytes, status);
        return;
    }
    copy_count_add(COPY_TO_HOST, (uint32_t)device->ordinal, bytes);
    status_set_last(status, memory_read(device_memory(), to, from->opaque, bytes));
}

static void copy_from_host(const SP_Device *device, SP_DeviceMemoryBase *to, const void *from,
                           uint64_t bytes, TF_Status *status) {
    if (!stream_is_usable(status)) return;
    if (lies_on_device(from)) {
        const SP_DeviceMemoryBase source = {.opaque = (void *)(uintptr_t)from};
        copy_on_devices(device, to, &source, bytes, status);
        return;
    }
    const gantry_logical_device_t *logical = device_logical((uint32_t)device->ordinal);
    copy_count_add(COPY_TO_DEVICE, (uint32_t)device->ordinal, bytes);
    status_set_last(status, memory_write(device_memory(), logical, to->opaque, from, bytes));
}

static void enqueue_to_host(const SP_Device *device, SP_Stream stream, void *to,
                            const SP_DeviceMemoryBase *from, uint64_t bytes, TF_Status *status) {
    (void)stream;
    copy_to_host(device, to, from, bytes, status);
}

static void enqueue_from_host(const SP_Device *device, SP_Stream stream, SP_DeviceMemoryBase *to,
                              const void *from, uint64_t bytes, TF_Status *status) {
    (void)stream;
    copy_from_host(device, to, from, bytes, status);
}

static void enqueue_on_devices(const SP_Device *device, SP_Stream stream, SP_DeviceMemoryBase *to,
                               const SP_DeviceMemoryBase *from, uint64_t bytes, TF_Status *status) {
    (void)stream;
    copy_on_devices(device, to, from, bytes, status);
}

static void stream_fill(const SP_Device *device, SP_Stream stream, SP_DeviceMemoryBase *to,
                        uint32_t pattern, uint64_t bytes, TF_Status *status) {
    (void)device;
    (void)stream;
    if (!stream_is_usable(status)) return;
    status_set_last(status, memory_fill(device_memory(), to->opaque, pattern, bytes));
}

static void fill_zeros(const SP_Device *device, SP_Stream stream, SP_DeviceMemoryBase *to,
                       uint64_t bytes, TF_Status *status) {
    stream_fill(device, stream, to, 0, bytes, status);
}

static void fill_bytes(const SP_Device *device, SP_Stream stream, SP_DeviceMemoryBase *to,
                       uint8_t pattern, uint64_t bytes, TF_Status *status) {
    stream_fill(device, stream, to, pattern * UINT32_C(0x01010101), bytes, status);
}

void stream_fill_executor(SP_StreamExecutor *executor) {
    *executor = (SP_StreamExecutor){.struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE,
                                    .allocate = stream_allocate,
                                    .deallocate = deallocate,
                                    .host_memory_allocate = allocate_host,
                                    .host_memory_deallocate = deallocate_host,
                                    .get_allocator_stats = get_allocator_stats,
                                    .device_memory_usage = get_usage,
                                    .create_stream = create_stream,
                                    .destroy_stream = destroy_stream,
                                    .create_stream_dependency = depend_on_stream,
                                    .get_stream_status = get_stream_status,
                                    .create_event = create_event,
                                    .destroy_event = stream_destroy_event,
                                    .get_event_status = get_event_status,
                                    .record_event = pass_event,
                                    .wait_for_event = pass_event,
                                    .create_timer = create_timer,
                                    .destroy_timer = destroy_timer,
                                    .start_timer = start_timer,
                                    .stop_timer = stop_timer,
                                    .memcpy_dtoh = enqueue_to_host,
                                    .memcpy_htod = enqueue_from_host,
                                    .memcpy_dtod = enqueue_on_devices,
                                    .sync_memcpy_dtoh = copy_to_host,
                                    .sync_memcpy_htod = copy_from_host,
                                    .sync_memcpy_dtod = copy_on_devices,
                                    .block_host_for_event = block_for_event,
                                    .block_host_until_done = block_until_done,
                                    .synchronize_all_activity = synchronize,
                                    .mem_zero = fill_zeros,
                                    .memset = fill_bytes,
                                    .memset32 = stream_fill,
                                    .host_callback = run_host_callback};
}
