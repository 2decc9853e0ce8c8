/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the fake backend, its instances and devices.
 *
 * The build compiles this file several times: GANTRY_FAKE_NAME and GANTRY_FAKE_RANK make a second
 * backend; GANTRY_FAKE_ABI one that needs a newer core, with GANTRY_FAKE_RUDE this backend returns
 * its table anyway; GANTRY_FAKE_WITHOUT_COPY one that lacks a required slot; GANTRY_FAKE_OLD_LAYOUT
 * one whose tables end before their last optional slot; GANTRY_FAKE_CRASHES one that ends the
 * process while it is opened, by abort, exit or a signal, or waits, hangs or prints, as
 * FAKE_CRASH says. */
#define _XOPEN_SOURCE 700

#include "fake_internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef GANTRY_FAKE_NAME
#define GANTRY_FAKE_NAME fake
#endif
#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)

/* ---- drivers that crash ---- */

#ifdef GANTRY_FAKE_CRASHES
static void crash(const gantry_host_t *host) {
    const char *how = getenv("FAKE_CRASH");
    const struct timespec pause = {0, 400000000}, hang = {60, 0};
    if (how) host->driver_enter(host->self, "/opt/a/longer/name");
    if (how) host->driver_enter(host->self, "libcrash\t.so");
    if (how && strcmp(how, "abort") == 0) abort();
    if (how && strncmp(how, "exit:", 5) == 0) exit(atoi(how + 5));
    if (how && strncmp(how, "signal:", 7) == 0) (void)raise(atoi(how + 7));
    if (how && strcmp(how, "print") == 0) (void)(printf("spoken") > 0 && fflush(stdout));
    if (how && strcmp(how, "print-late") == 0) (void)printf("spoken");
    if (how && strcmp(how, "wait") == 0) (void)nanosleep(&pause, NULL);
    if (how && strcmp(how, "hang") == 0) (void)nanosleep(&hang, NULL);
}

static uint64_t driver_files(const gantry_host_t *host, char *text, uint64_t capacity) {
    const char *files = getenv("FAKE_FILES");
    (void)host;
    return (uint64_t)snprintf(text, (size_t)capacity, "%s", files ? files : "");
}
#endif

/* ---- instances ---- */

static int32_t open_instance(const gantry_host_t *host, gantry_backend_instance_t **out_instance) {
    fake_call_t call;
#ifdef GANTRY_FAKE_CRASHES
    crash(host);
#endif
    gantry__fake_begin(&call, FAKE_SLOT_open);
    call.host = host;
    *out_instance = NULL;
    const fake_state_t *fake = &gantry__fake;
    if (fake->open_status != GANTRY_OK && call.error.code == GANTRY_OK) {
        if (!*fake->open_text) call.host = NULL; /* not a word */
        gantry__fake_refuse(&call, fake->open_status, "%s", fake->open_text);
    }
    fake_instance_t *instance =
        call.error.code == GANTRY_OK
            ? gantry__fake_create(&call, NULL, GANTRY_FAKE_INSTANCE, 0, sizeof *instance)
            : NULL;
    if (instance) {
        instance->object.instance = instance;
        instance->host = host;
        instance->device_count = fake->device_count;
        instance->with_kernels = fake->with_kernels;
        for (uint32_t i = 0; i < GANTRY_FAKE_DEVICES; ++i)
            instance->devices[i] = fake->cards[i].settings;
        *out_instance = (gantry_backend_instance_t *)(uintptr_t)instance->object.number;
    }
    return gantry__fake_end(&call);
}

static fake_instance_t *find_instance(fake_call_t *call, const gantry_backend_instance_t *handle) {
    return gantry__fake_find(call, GANTRY_FAKE_INSTANCE, gantry__fake_number(handle));
}

static void close_instance(gantry_backend_instance_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_close);
    fake_instance_t *instance = find_instance(&call, handle);
    if (instance) {
        uint64_t children = gantry__fake_children(instance);
        if (children > 0)
            gantry__fake_violate(&call, "the instance is closed with %llu objects alive",
                                 (unsigned long long)children);
        gantry__fake_forget(&instance->object);
        /* live objects would point to the instance */
        if (children == 0) gantry__fake_release(&instance->object);
    }
    (void)gantry__fake_end(&call);
}

/* ---- devices ---- */

static uint32_t device_count(gantry_backend_instance_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_device_count);
    const fake_instance_t *instance = find_instance(&call, handle);
    uint32_t count = instance ? instance->device_count : 0;
    (void)gantry__fake_end(&call);
    return count;
}

static void describe(const gantry_fake_device_t *device, gantry_device_info_t *out_info) {
    gantry_device_info_t info = {
        .struct_size = out_info->struct_size,
        .type = device->type,
        .flags = device->flags,
        .compute_units = device->compute_units,
        .driver = device->driver,
        .hardware_name = device->hardware_name,
        .vendor = device->vendor,
        .driver_version = "1.0",
        .platform_name = device->platform_name,
        .platform_version = "",
        .pci_address = device->pci_address,
        .uuid = device->uuid,
        .compute_capability = "",
        .build_hash = TEXT(GANTRY_FAKE_NAME) "-1",
        .total_bytes = device->total_bytes,
        .largest_allocation_bytes = device->largest_allocation_bytes,
        .base_alignment_bytes = device->alignment_bytes,
        .local_memory_bytes = 32768,
        .dtype_mask = device->dtype_mask,
        .max_work_group_size = 256,
        .native_vector_width = 1,
        .program_kinds = device->program_kinds,
        .least_priority = device->least_priority,
        .greatest_priority = device->greatest_priority,
        .no_programs = device->no_programs,
    };
#ifdef GANTRY_FAKE_OLD_LAYOUT
    const size_t known = offsetof(gantry_device_info_t, least_priority);
#else
    const size_t known = sizeof info;
#endif
    memcpy(out_info, &info, out_info->struct_size < known ? out_info->struct_size : known);
}

static int32_t device_info(gantry_backend_instance_t *handle, uint32_t index,
                           gantry_device_info_t *out_info) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_device_info);
    const fake_instance_t *instance = find_instance(&call, handle);
    if (instance && index >= instance->device_count) {
        gantry__fake_violate(&call, "device %u of %u", index, instance->device_count);
    } else if (instance && instance->devices[index].info_status != GANTRY_OK) {
        gantry__fake_refuse(&call, instance->devices[index].info_status,
                            "device %u does not say what it is", index);
    } else if (instance && call.error.code == GANTRY_OK) {
        describe(&instance->devices[index], out_info);
    }
    return gantry__fake_end(&call);
}

static int32_t device_open(gantry_backend_instance_t *handle, uint32_t index,
                           gantry_backend_device_t **out_device) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_device_open);
    *out_device = NULL;
    fake_instance_t *instance = find_instance(&call, handle);
    if (instance && index >= instance->device_count) {
        gantry__fake_violate(&call, "device %u of %u", index, instance->device_count);
    } else if (instance && gantry__fake.cards[index].lost) {
        gantry__fake_refuse(&call, GANTRY_UNAVAILABLE, "device %u of the fake backend is lost",
                            index);
    } else if (instance && call.error.code == GANTRY_OK) {
        fake_device_t *device =
            gantry__fake_create(&call, instance, GANTRY_FAKE_DEVICE, 0, sizeof *device);
        if (device) {
            device->index = index;
            device->settings = &instance->devices[index];
            *out_device = (gantry_backend_device_t *)(uintptr_t)device->object.number;
        }
    }
    return gantry__fake_end(&call);
}

static void device_close(gantry_backend_device_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_device_close);
    fake_device_t *device =
        gantry__fake_find(&call, GANTRY_FAKE_DEVICE, gantry__fake_number(handle));
    if (device) {
        uint32_t alive = device->live_objects;
        if (alive > 0)
            gantry__fake_violate(&call, "device %u is closed with %u objects alive", device->index,
                                 alive);
        gantry__fake_forget(&device->object);
        if (alive == 0) gantry__fake_release(&device->object);
    }
    (void)gantry__fake_end(&call);
}

/* ---- the rest ---- */

static uint32_t kernels(gantry_backend_instance_t *handle, uint32_t index,
                        const gantry_kernel_def_t *const **out_kernels) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_kernels);
    const fake_instance_t *instance = find_instance(&call, handle);
    if (instance && index >= instance->device_count)
        gantry__fake_violate(&call, "device %u of %u", index, instance->device_count);
    uint32_t count = instance && instance->with_kernels ? gantry__fake_kernel_count : 0;
    *out_kernels = gantry__fake_kernels;
    (void)gantry__fake_end(&call);
    return count;
}

static const char *libraries(gantry_backend_instance_t *handle) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_libraries);
    (void)find_instance(&call, handle);
    (void)gantry__fake_end(&call);
    return "no libraries";
}

static int32_t set_wait_policy(gantry_backend_instance_t *handle, uint32_t index, int32_t policy) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_set_wait_policy);
    gantry__fake_check_layout(&call);
    const fake_instance_t *instance = find_instance(&call, handle);
    if (instance && index >= instance->device_count) {
        gantry__fake_violate(&call, "device %u of %u", index, instance->device_count);
    } else if (instance) {
        gantry__fake.cards[index].settings.wait_policy = policy;
    }
    return gantry__fake_end(&call);
}

static int32_t card_memory(gantry_backend_instance_t *handle, uint32_t index,
                           uint64_t *out_free_bytes, uint64_t *out_total_bytes) {
    fake_call_t call;
    gantry__fake_begin(&call, FAKE_SLOT_card_memory);
    gantry__fake_check_layout(&call);
    const fake_instance_t *instance = find_instance(&call, handle);
    if (instance && index >= instance->device_count) {
        gantry__fake_violate(&call, "device %u of %u", index, instance->device_count);
    } else if (instance && call.error.code == GANTRY_OK) {
        *out_total_bytes = instance->devices[index].total_bytes;
        *out_free_bytes = gantry__fake_free_bytes(&gantry__fake.cards[index], *out_total_bytes);
    }
    return gantry__fake_end(&call);
}

/* Not constant, because a test may set rank and version. */
static gantry_backend_t table = {
#ifdef GANTRY_FAKE_OLD_LAYOUT
    .struct_size = offsetof(gantry_backend_t, interop),
#else
    .struct_size = sizeof table,
#endif
    .name = TEXT(GANTRY_FAKE_NAME),
    .description = "Stand-in for tests",
    .open = open_instance,
    .close = close_instance,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .kernels = kernels,
    .libraries = libraries,
    .memory = &gantry__fake_memory_ops,
    .stream = &gantry__fake_stream_ops,
    .event = &gantry__fake_event_ops,
    .transfer = &gantry__fake_transfer_ops,
    .program = &gantry__fake_program_ops,
    .card_memory = card_memory,
    .set_wait_policy = set_wait_policy,
    .graph = &gantry__fake_graph_ops,
#ifdef GANTRY_FAKE_CRASHES
    .driver_files = driver_files,
#endif
};

static int32_t query(uint32_t max_abi, const gantry_backend_t **out_backend) {
    *out_backend = NULL;
    gantry__fake_lock();
    uint32_t version = gantry__fake.abi_version;
#ifdef GANTRY_FAKE_ABI
    version = GANTRY_FAKE_ABI;
#endif
    if (table.abi_version != version) table.abi_version = version;
    if (table.rank != gantry__fake.rank) table.rank = gantry__fake.rank;
    gantry__fake_unlock();
#ifdef GANTRY_FAKE_RUDE
    (void)max_abi;
#else
    if (version > max_abi) return GANTRY_FAILED_PRECONDITION;
#endif
    *out_backend = &table;
    return GANTRY_OK;
}

#ifdef GANTRY_BACKEND_STATIC
int32_t gantry_backend_query_fake(uint32_t max_abi, const gantry_backend_t **out_backend) {
    return query(max_abi, out_backend);
}
#else
GANTRY_BACKEND_EXPORT int32_t gantry_backend_query(uint32_t max_abi,
                                                   const gantry_backend_t **out_backend);
GANTRY_BACKEND_EXPORT int32_t gantry_backend_query(uint32_t max_abi,
                                                   const gantry_backend_t **out_backend) {
    return query(max_abi, out_backend);
}
#endif
