/* SPDX-License-Identifier: Apache-2.0 */
/* Finding physical devices and giving them one namespace.
 *
 * Every device of every usable backend is a view. Views of one card are joined: the backend of
 * highest rank serves the card (with equal ranks the maker's driver, then the view found first),
 * and the others stay reachable by alias. Two views of different drivers are one card if
 *
 *   both have a PCI address   it is the same, function included, and on each side only one device
 *                             has it; where several do (partitions of a card), the UUID must be the
 *                             same, too
 *   one has none              the UUID is the same ("GPU-" and case do not matter), and on each
 *                             side only one device has it
 *
 * So a value that two devices of one driver share identifies neither, and a card never has two
 * views of one driver, not even through a third view. A backend may have several drivers (OpenCL's
 * platforms). A UUID of zeros is no UUID. If drivers disagree about a card's memory, its note says
 * so. Cost: n^4 at worst for n devices, of which there are few, once. An OpenCL device of type CPU
 * is listed only if the user requested it, as a GPU. Listed devices are numbered per type: discrete
 * before integrated before CPU-type, then by PCI address, then in the backends' order. A device
 * without UUID gets a synthetic one from platform, name and position, stable from run to run. */
#include "device/device_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "device/card.h"
#include "device/fail_over.h"
#include "device/physical_device.h"
#include "device/vendor_visible.h"

typedef struct gantry_physical_device_t physical_t;

static const char *type_name(int32_t type) {
    switch (type) {
        case GANTRY_DEVICE_TYPE_CPU: return "CPU";
        case GANTRY_DEVICE_TYPE_GPU: return "GPU";
        default: return "ACCELERATOR";
    }
}

static bool is_home_cpu(const physical_t *device) {
    return strcmp(device->backend->name, "cpu") == 0;
}

/* Fills fields that the backend left unset, so that no reader meets NULL. */
static void complete_info(gantry_device_info_t *info) {
    const char **texts[] = {&info->hardware_name,
                            &info->vendor,
                            &info->driver_version,
                            &info->platform_name,
                            &info->platform_version,
                            &info->pci_address,
                            &info->uuid,
                            &info->compute_capability,
                            &info->build_hash,
                            &info->no_programs};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        if (!*texts[i]) *texts[i] = "";
    }
    if (info->base_alignment_bytes == 0) info->base_alignment_bytes = 1;
    if (info->compute_units == 0) info->compute_units = 1;
    if (info->native_vector_width == 0) info->native_vector_width = 1;
}

static void make_uuid(physical_t *device) {
    if (*device->info.uuid) {
        (void)snprintf(device->uuid, sizeof device->uuid, "%s", device->info.uuid);
        return;
    }
    gantry__hasher_t hasher;
    gantry__hasher_init(&hasher);
    gantry__hasher_add_text(&hasher, device->info.platform_name);
    gantry__hasher_add_text(&hasher, device->info.hardware_name);
    gantry__hasher_add(&hasher, &device->backend_index, sizeof device->backend_index);
    uint64_t a = hasher.state.low, b = hasher.state.high;
    (void)snprintf(device->uuid, sizeof device->uuid, "%s-%08x-%04x-%04x-%04x-%012llx",
                   is_home_cpu(device) ? "CPU" : "GPU", (unsigned)(a >> 32),
                   (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
                   (unsigned long long)(b & 0xffffffffffffULL));
}

/* Notes why another backend serves a card whose vendor's driver, which would serve it, is present
 * but unusable. */
static void note_without_vendors_driver(physical_t *device) {
    const gantry__backend_set_t *backends = device->table->backends;
    const gantry__vendor_t *vendor = device->vendor;
    if (device->info.type != GANTRY_DEVICE_TYPE_GPU || !vendor) return;
    for (size_t i = 0; i < backends->count; ++i) {
        const gantry__backend_t *backend = &backends->items[i];
        if (strcmp(backend->name, vendor->backend) == 0 &&
            backend->state == GANTRY_BACKEND_UNAVAILABLE)
            (void)snprintf(device->note, sizeof device->note, "served without %s: %s",
                           vendor->driver, backend->reason);
    }
}

/* Decides how the user sees it: its type, and whether it is in that type's namespace. */
static void physical_classify(physical_t *device, bool opencl_cpu_as_gpu) {
    const char *type = type_name(device->info.type);
    device->listed = true;
    if (device->info.type == GANTRY_DEVICE_TYPE_CPU && !is_home_cpu(device)) {
        device->listed = opencl_cpu_as_gpu;
        if (opencl_cpu_as_gpu) type = "GPU";
        (void)snprintf(
            device->note, sizeof device->note, "%s",
            opencl_cpu_as_gpu
                ? "a CPU presented as a GPU, as GANTRY_OPENCL_CPU=gpu requests"
                : "a CPU: the CPU backend serves the same cores; GANTRY_OPENCL_CPU=gpu presents it as a GPU");
    }
    (void)snprintf(device->type, sizeof device->type, "%s", type);
}

static void note_emulated_fma(physical_t *device) {
    const size_t length = strlen(device->note);
    if (device->info.flags & GANTRY_DEVICE_EMULATES_FMA)
        (void)snprintf(
            device->note + length, sizeof device->note - length,
            "%sits driver names no fma of float32 in hardware: exp, log and tanh may take longer",
            length > 0 ? "; " : "");
}

void gantry__physical_device_release(gantry_physical_device_t *device) {
    const gantry__heap_t *heap = device->table->heap;
    gantry__device_settings_deinit(&device->card->settings, heap);
    gantry__mutex_deinit(&device->card->open_lock);
    gantry__heap_free(heap, device->card, sizeof *device->card);
    gantry__heap_free(heap, device, sizeof *device);
}

/* An empty record with its card; NULL after a ResourceExhausted. */
static physical_t *make_record(gantry__device_table_t *table) {
    physical_t *device = gantry__heap_zalloc(table->heap, sizeof *device);
    gantry__card_t *card = gantry__heap_zalloc(table->heap, sizeof *card);
    if (!device || !card) goto fail;
    if (gantry__mutex_init(&card->open_lock) != 0) {
        (void)gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
        goto fail;
    }
    device->table = table;
    device->card = card;
    return device;
fail:
    gantry__heap_free(table->heap, device, sizeof *device);
    gantry__heap_free(table->heap, card, sizeof *card);
    return NULL;
}

static gantry_status_t add_view(gantry__device_table_t *table, const gantry__backend_t *backend,
                                uint32_t index) {
    if (!gantry__heap_grow(table->heap, &table->physical, table->physical_count,
                           &table->physical_capacity, sizeof *table->physical)) {
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    physical_t *device = make_record(table);
    if (!device) return GANTRY_RESOURCE_EXHAUSTED;
    device->backend = backend;
    device->backend_index = index;
    device->number = -1;
    device->info.struct_size = sizeof device->info;
    int32_t code = backend->table->device_info(backend->instance, index, &device->info);
    if (code != 0) {
        gantry__log(table->log, GANTRY_LEVEL_WARNING, "Device %s:%u is left out: %s", backend->name,
                    index, gantry__message());
        gantry__physical_device_release(device);
        return code == GANTRY_RESOURCE_EXHAUSTED ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK;
    }
    complete_info(&device->info);
    (void)snprintf(device->alias, sizeof device->alias, "%s:%u", backend->name, index);
    (void)snprintf(device->platform, sizeof device->platform, "%s%s%s", device->info.platform_name,
                   *device->info.platform_version ? " " : "", device->info.platform_version);
    if (!gantry__pci_normalise(device->info.pci_address, device->pci)) device->pci[0] = '\0';
    make_uuid(device);
    physical_classify(device, table->opencl_cpu_as_gpu);
    device->vendor = gantry__vendor_find(backend->name, device->info.vendor);
    note_without_vendors_driver(device);
    note_emulated_fma(device);
    device->position = (uint32_t)table->physical_count;
    table->physical[table->physical_count++] = device;
    return GANTRY_OK;
}

/* ---- views of one card ---- */

/* Some boards report zeros, all of them the same. */
static bool physical_has_uuid(const physical_t *device) {
    const char *uuid = device->info.uuid;
    if (gantry__uuid_has_prefix(uuid, "GPU-0") || gantry__uuid_has_prefix(uuid, "0"))
        return strspn(uuid, "GPUgpu-0") < strlen(uuid);
    return *uuid != '\0';
}

static bool has_same_uuid(const physical_t *a, const physical_t *b) {
    return physical_has_uuid(a) && physical_has_uuid(b) &&
           gantry__uuid_has_prefix(a->info.uuid, b->info.uuid) &&
           gantry__uuid_has_prefix(b->info.uuid, a->info.uuid);
}

static bool has_same_pci(const physical_t *a, const physical_t *b) {
    return *a->pci && strcmp(a->pci, b->pci) == 0;
}

static bool has_same_both(const physical_t *a, const physical_t *b) {
    return has_same_pci(a, b) && has_same_uuid(a, b);
}

typedef bool (*is_same_t)(const physical_t *a, const physical_t *b);

static bool have_one_driver(const physical_t *a, const physical_t *b) {
    return a->backend == b->backend && a->info.driver == b->info.driver;
}

/* Whether no other listed device of the same driver reports the same values. */
static bool is_only_one(const gantry__device_table_t *table, const physical_t *device,
                        is_same_t is_same) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *twin = table->physical[i];
        if (twin != device && twin->listed && have_one_driver(twin, device) &&
            is_same(twin, device))
            return false;
    }
    return true;
}

static bool are_only_ones(const gantry__device_table_t *table, const physical_t *a,
                          const physical_t *b, is_same_t is_same) {
    return is_same(a, b) && is_only_one(table, a, is_same) && is_only_one(table, b, is_same);
}

static bool is_same_card(const gantry__device_table_t *table, const physical_t *a,
                         const physical_t *b) {
    if (have_one_driver(a, b) || is_home_cpu(a) || is_home_cpu(b)) return false;
    if (*a->pci && *b->pci)
        return are_only_ones(table, a, b, has_same_pci) ||
               are_only_ones(table, a, b, has_same_both);
    return are_only_ones(table, a, b, has_same_uuid);
}

static physical_t *root_of(physical_t *device, physical_t *const *leaders) {
    while (leaders[device->position] != device) device = leaders[device->position];
    return device;
}

static bool have_driver_in_common(const gantry__device_table_t *table, physical_t *const *leaders,
                                  physical_t *a, physical_t *b) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        for (size_t j = 0; j < table->physical_count; ++j) {
            physical_t *x = table->physical[i], *y = table->physical[j];
            if (have_one_driver(x, y) && root_of(x, leaders) == a && root_of(y, leaders) == b)
                return true;
        }
    }
    return false;
}

static void join(const gantry__device_table_t *table, physical_t **leaders) {
    for (size_t i = 0; i < table->physical_count; ++i) leaders[i] = table->physical[i];
    for (size_t i = 0; i < table->physical_count; ++i) {
        for (size_t j = 0; j < i; ++j) {
            physical_t *a = table->physical[i], *b = table->physical[j];
            if (!a->listed || !b->listed || !is_same_card(table, a, b)) continue;
            a = root_of(a, leaders);
            b = root_of(b, leaders);
            if (a == b || have_driver_in_common(table, leaders, a, b)) continue;
            bool is_a = gantry__view_is_better(a, b);
            leaders[is_a ? b->position : a->position] = is_a ? a : b;
        }
    }
}

/* Whether two figures differ by more than a driver keeps for itself. */
static bool physical_disagrees(uint64_t a, uint64_t b) {
    uint64_t more = a > b ? a : b, less = a > b ? b : a;
    return less > 0 && more - less > more / 4;
}

static void note_memory(physical_t *card, const physical_t *view) {
    uint64_t own = card->info.total_bytes, other = view->info.total_bytes;
    size_t used = strlen(card->note);
    if (!physical_disagrees(own, other)) return;
    (void)snprintf(card->note + used, sizeof card->note - used,
                   "%sits drivers disagree about its memory: %s says %" PRIu64
                   " MiB, which counts, and %s %" PRIu64 " MiB",
                   used > 0 ? "; " : "", card->alias, own >> 20, view->alias, other >> 20);
    gantry__log(card->table->log, GANTRY_LEVEL_WARNING, "Card %s: %s", card->alias,
                card->note + (used > 0 ? used + 2 : 0));
}

static gantry_status_t join_views(gantry__device_table_t *table) {
    size_t bytes = table->physical_count * sizeof(physical_t *);
    if (bytes == 0) return GANTRY_OK;
    physical_t **leaders = gantry__heap_alloc(table->heap, bytes);
    if (!leaders) return GANTRY_RESOURCE_EXHAUSTED;
    join(table, leaders);
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *view = table->physical[i], *card = root_of(view, leaders);
        if (card == view) continue;
        view->listed = false;
        view->served_by = card;
        (void)snprintf(view->note, sizeof view->note, "another view of the card that %s serves",
                       card->alias);
        note_memory(card, view);
    }
    gantry__heap_free(table->heap, leaders, bytes);
    return GANTRY_OK;
}

/* ---- order ---- */

static int type_order(const physical_t *device) {
    if (!device->listed) return 3;
    if (strcmp(device->type, "CPU") == 0) return 0;
    return strcmp(device->type, "GPU") == 0 ? 1 : 2;
}

static int class_order(const physical_t *device) {
    if (device->info.type == GANTRY_DEVICE_TYPE_CPU) return 2;
    return device->info.flags & GANTRY_DEVICE_INTEGRATED ? 1 : 0;
}

static int compare_devices(const void *left, const void *right) {
    const physical_t *a = *(physical_t *const *)left, *b = *(physical_t *const *)right;
    if (type_order(a) != type_order(b)) return type_order(a) - type_order(b);
    if (a->listed && class_order(a) != class_order(b)) return class_order(a) - class_order(b);
    if (a->listed && *a->pci && *b->pci && strcmp(a->pci, b->pci) != 0)
        return strcmp(a->pci, b->pci);
    if (a->listed && !*a->pci != !*b->pci) return *a->pci ? -1 : 1;
    return a->position < b->position ? -1 : 1;
}

static void number_devices(gantry__device_table_t *table) {
    if (table->physical_count > 1)
        qsort(table->physical, table->physical_count, sizeof *table->physical, compare_devices);
    for (size_t i = 0; i < table->physical_count; ++i) {
        physical_t *device = table->physical[i];
        device->position = (uint32_t)i;
        const physical_t *before = i > 0 ? table->physical[i - 1] : NULL;
        if (!device->listed) {
            (void)snprintf(device->name, sizeof device->name, "%s", device->alias);
            continue;
        }
        device->number = before && strcmp(before->type, device->type) == 0 ? before->number + 1 : 0;
        (void)snprintf(device->name, sizeof device->name, "/physical_device:%s:%d", device->type,
                       device->number);
    }
}

gantry_status_t gantry__physical_devices_find(gantry__device_table_t *table) {
    for (size_t i = 0; i < table->backends->count; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        if (backend->state != GANTRY_BACKEND_USABLE) continue;
        for (uint32_t index = 0; index < backend->device_count; ++index)
            GANTRY__TRY(add_view(table, backend, index));
    }
    GANTRY__TRY(join_views(table));
    number_devices(table);
    return GANTRY_OK;
}

static const char *hidden_by(const gantry__device_table_t *table, const physical_t *device) {
    if (!device->listed || gantry__device_is_visible(table, device)) return "";
    if (table->visible_by) return table->visible_by;
    const char *variable =
        device->hidden_by_vendor ? device->vendor->visible : "GANTRY_VISIBLE_DEVICES";
    const gantry__setting_t *setting = gantry__settings_find(table->settings, variable);
    return setting ? gantry__setting_by(setting) : variable;
}

void gantry__device_details(const gantry__device_table_t *table,
                            const gantry_physical_device_t *device, gantry_device_details_t *out) {
    const physical_t *shown = gantry__device_shown(device),
                     *card = device->served_by ? device->served_by : device;
    const physical_t *other = device == card ? gantry__card_next_view(card, card) : card;
    *out = (gantry_device_details_t){
        .struct_size = sizeof *out,
        .name = device->name,
        .type = device->type,
        .alias = shown->alias,
        .backend = shown->backend->name,
        .hardware_name = shown->info.hardware_name,
        .vendor = shown->info.vendor,
        .driver_version = shown->info.driver_version,
        .platform = shown->platform,
        .pci_address = device->pci,
        .uuid = device->uuid,
        .compute_capability = shown->info.compute_capability,
        .note = gantry__device_note(device),
        .total_bytes = shown->info.total_bytes,
        .largest_allocation_bytes = shown->info.largest_allocation_bytes,
        .alignment_bytes = shown->info.base_alignment_bytes,
        .local_memory_bytes = shown->info.local_memory_bytes,
        .compute_units = shown->info.compute_units,
        .max_work_group_size = shown->info.max_work_group_size,
        .native_vector_width = shown->info.native_vector_width,
        .float64 = (shown->info.dtype_mask >> GANTRY_FLOAT64 & 1) != 0,
        .visible = gantry__device_is_visible(table, device),
        .listed = device->listed,
        .other_view = other ? gantry__device_shown(other)->alias : "",
        .hidden_by = hidden_by(table, device),
    };
}
