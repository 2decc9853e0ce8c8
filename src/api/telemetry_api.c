/* SPDX-License-Identifier: Apache-2.0 */
/* What devices do now: telemetry.h over the backends' slots. Every view of a card is queried, the
 * preferred one first, because NVML has figures of a card that OpenCL serves, too. A device that
 * computes on the host's processor has the figures of the machine. */
#include <gantry/gantry.h>

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/fp_mode.h"
#include "device/device_table.h"
#include "device/driver_memory.h"
#include "device/fail_over.h"
#include "device/physical_device.h"

typedef struct gantry_physical_device_t physical_t;

static const gantry_telemetry_ops_t *ops_of(const physical_t *view) {
    const gantry_backend_t *backend = view->backend->table;
    return GANTRY_ABI_HAS(backend, telemetry) ? backend->telemetry : NULL;
}

static const physical_t *card_of(const physical_t *device) {
    return device->served_by ? device->served_by : device;
}

/* ---- figures ---- */

/* Keeps the reason of the first view that does not answer. */
static bool ask_view(const physical_t *view, gantry_device_telemetry_t *out) {
    const gantry_telemetry_ops_t *ops = ops_of(view);
    if (!ops || !GANTRY_ABI_HAS(ops, read) || !ops->read) return false;
    gantry_device_telemetry_t figures = {.struct_size = sizeof figures};
    if (ops->read(view->backend->instance, view->backend_index, &figures) != GANTRY_OK) {
        if (!*out->reason) (void)snprintf(out->reason, sizeof out->reason, "%s", gantry__message());
        return false;
    }
    *out = figures;
    return true;
}

static bool ask_card(const physical_t *card, gantry_device_telemetry_t *out) {
    const physical_t *view = NULL;
    while ((view = gantry__card_next_view(card, view)) != NULL) {
        if (ask_view(view, out)) return true;
    }
    return false;
}

/* Queries, for a device in host memory, the view whose memory the host addresses, because it has
 * the figures of the machine. */
static bool telemetry_ask_machine(const physical_t *device, gantry_device_telemetry_t *out) {
    const gantry__device_table_t *table = device->table;
    if (!(device->info.flags & GANTRY_DEVICE_HOST_BACKED)) return false;
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *host = table->physical[i];
        if (!(host->info.flags & GANTRY_DEVICE_HOST_ADDRESSABLE) || !ask_view(host, out)) continue;
        const char *unknown =
            strchr(out->reason, ';'); /* what the machine does not report, either */
        char more[sizeof out->reason];
        (void)snprintf(more, sizeof more, "%s", unknown ? unknown : "");
        (void)snprintf(
            out->reason, sizeof out->reason,
            "the backend %s reports nothing of the device; these are the machine's figures%s",
            device->backend->table->name, more);
        return true;
    }
    return false;
}

static void add_memory(const physical_t *card, gantry_device_telemetry_t *out) {
    if ((out->known & GANTRY_TELEMETRY_MEMORY) ||
        !gantry__card_memory(card, NULL, &out->free_bytes, &out->total_bytes))
        return;
    out->used_bytes = out->total_bytes - out->free_bytes;
    out->known |= GANTRY_TELEMETRY_MEMORY;
}

gantry_status_t gantry_get_device_telemetry(gantry_runtime_t *runtime,
                                            const gantry_physical_device_t *device,
                                            gantry_device_telemetry_t *out_telemetry) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    const physical_t *card = card_of(device);
    gantry_device_telemetry_t all = {.struct_size = sizeof all};
    const uint32_t before = gantry__failures();
    if (!ask_card(card, &all) && !telemetry_ask_machine(card, &all)) {
        add_memory(card, &all);
        if (!*all.reason)
            (void)snprintf(all.reason, sizeof all.reason,
                           "the backend %s reports nothing of the device",
                           card->backend->table->name);
    }
    gantry__forget_since(before);
    return gantry__struct_fill(out_telemetry, &all, sizeof all,
                               "gantry_get_device_telemetry: out_telemetry");
}

/* ---- processes ---- */

typedef struct process_list_t {
    gantry_device_process_t *out;
    size_t capacity, count;
    uint32_t struct_size;
} process_list_t;

static void list_process(void *user, const gantry_device_process_t *process) {
    process_list_t *list = user;
    gantry_device_process_t all = {.pid = 0};
    const size_t size = process->struct_size < sizeof all ? process->struct_size : sizeof all;
    memcpy(&all, process, size);
    if (list->count < list->capacity)
        gantry__struct_fill_at(list->out, list->count, list->struct_size, &all);
    ++list->count;
}

gantry_status_t gantry_list_device_processes(gantry_runtime_t *runtime,
                                             const gantry_physical_device_t *device,
                                             size_t capacity,
                                             gantry_device_process_t *out_processes,
                                             size_t *out_count) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    process_list_t list = {.out = out_processes, .capacity = capacity};
    GANTRY__TRY(gantry__list_check(capacity, out_processes, out_count, sizeof *out_processes,
                                   "gantry_list_device_processes: out_processes",
                                   &list.struct_size));
    *out_count = 0;
    const uint32_t before = gantry__failures();
    const physical_t *card = card_of(device), *view = NULL;
    gantry_status_t status = gantry__fail(
        GANTRY_UNIMPLEMENTED, "no backend of %s lists the processes that use it", card->alias);
    while (status != GANTRY_OK && (view = gantry__card_next_view(card, view)) != NULL) {
        const gantry_telemetry_ops_t *ops = ops_of(view);
        if (!ops || !GANTRY_ABI_HAS(ops, processes) || !ops->processes) continue;
        list.count = 0;
        status = (gantry_status_t)ops->processes(view->backend->instance, view->backend_index,
                                                 list_process, &list);
    }
    if (status != GANTRY_OK) return status;
    gantry__forget_since(before);
    *out_count = list.count;
    return GANTRY_OK;
}
