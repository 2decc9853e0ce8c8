/* SPDX-License-Identifier: Apache-2.0 */
/* Finds logical devices by a user's device text. */
#include "device/device_table.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "device/fail_over.h"
#include "device/logical_device.h"

typedef struct gantry_logical_device_t logical_t;
typedef struct gantry_physical_device_t physical_t;

gantry_status_t gantry__device_reference_from_user(const gantry__device_table_t *table,
                                                   const char *text,
                                                   gantry__device_reference_t *out_reference) {
    return gantry__device_reference_parse(text, table->backend_names, table->backend_name_count,
                                          out_reference);
}

/* Gantry runs everything in job localhost, replica 0, task 0. */
static bool is_here(const gantry__device_name_t *name) {
    if (name->has_job && strcmp(name->job, "localhost") != 0) return false;
    return (!name->has_replica || name->replica == 0) && (!name->has_task || name->task == 0);
}

/* Whether one of the card's logical devices has that number of its type. */
static bool has_number(const struct gantry_physical_device_t *physical, int32_t index) {
    const gantry__device_table_t *table = physical->table;
    for (size_t i = 0; i < table->listed_count; ++i) {
        if (table->logical[i]->physical == physical && table->logical[i]->index == index)
            return true;
    }
    return false;
}

/* A view's own device loses its names to the card's numbered devices when the view takes over. */
static bool is_superseded(const logical_t *device) {
    return atomic_load_explicit(&device->physical->card->stands_in_for, memory_order_acquire) !=
           NULL;
}

static bool matches_logical(const gantry__device_name_t *name, const logical_t *device) {
    if (name->has_type && strcmp(name->type, device->physical->type) != 0) return false;
    if (name->has_backend) {
        if (strcmp(name->backend, gantry__logical_view(device)->backend->name) != 0) return false;
        /* GPU:0@opencl: the OpenCL view of the card that serves GPU:0 */
        if (name->has_index && device->index < 0) {
            const struct gantry_physical_device_t *served = device->physical->served_by;
            return served && has_number(served, name->index) &&
                   gantry__view_is_first_of_backend(device->physical);
        }
    } else if (device->index < 0) {
        return false;
    }
    return !name->has_index || name->index == device->index;
}

bool gantry__device_reference_matches(const gantry__device_reference_t *reference,
                                      const gantry_logical_device_t *device) {
    const gantry__device_name_t *name = &reference->name;
    const struct gantry_physical_device_t *physical = device->physical;
    if (!is_here(name) || is_superseded(device)) return false;
    const struct gantry_physical_device_t *view = gantry__logical_view(device);
    switch (reference->kind) {
        case GANTRY__DEVICE_LOGICAL: return matches_logical(name, device);
        case GANTRY__DEVICE_PHYSICAL:
            return physical->number >= 0 && strcmp(name->type, physical->type) == 0 &&
                   name->index == physical->number;
        case GANTRY__DEVICE_BACKEND_ALIAS:
            return strcmp(name->backend, view->backend->name) == 0 &&
                   (!name->has_index || name->index == (int32_t)view->backend_index);
        case GANTRY__DEVICE_UUID_PREFIX:
            return !physical->served_by && gantry__uuid_has_prefix(physical->uuid, reference->text);
        case GANTRY__DEVICE_PCI_ADDRESS:
            return !physical->served_by && *physical->pci &&
                   strcmp(physical->pci, reference->text) == 0;
        default: return false;
    }
}

/* ---- cards ---- */

/* GPU:0 and /physical_device:GPU:0 name the same card here. */
static bool names_numbered(const gantry__device_name_t *name, const physical_t *device) {
    if (!name->has_type || strcmp(name->type, device->type) != 0) return false;
    const physical_t *card = device->served_by ? device->served_by : device;
    if (name->has_backend) {
        if (strcmp(name->backend, device->backend->name) != 0 ||
            !gantry__view_is_first_of_backend(device))
            return false;
    } else if (!device->listed) {
        return false;
    }
    return !name->has_index || name->index == card->number;
}

bool gantry__device_reference_names(const gantry__device_reference_t *reference,
                                    const gantry_physical_device_t *device) {
    const gantry__device_name_t *name = &reference->name;
    if (!is_here(name)) return false;
    switch (reference->kind) {
        case GANTRY__DEVICE_LOGICAL:
        case GANTRY__DEVICE_PHYSICAL: return names_numbered(name, device);
        case GANTRY__DEVICE_BACKEND_ALIAS:
            return strcmp(name->backend, device->backend->name) == 0 &&
                   (!name->has_index || name->index == (int32_t)device->backend_index);
        case GANTRY__DEVICE_UUID_PREFIX:
            return !device->served_by && gantry__uuid_has_prefix(device->uuid, reference->text);
        case GANTRY__DEVICE_PCI_ADDRESS:
            return !device->served_by && *device->pci && strcmp(device->pci, reference->text) == 0;
        default: return false;
    }
}

/* The number of the card of GPU:index: among the visible ones, or, once there are logical devices,
 * among these. -1: there is none. */
static int32_t card_behind(gantry__device_table_t *table, const gantry__device_name_t *name) {
    int32_t number = -1, index = 0;
    gantry__mutex_lock(&table->lock);
    for (size_t i = 0; i < table->listed_count; ++i) {
        const logical_t *device = table->logical[i];
        if (device->index == name->index && strcmp(device->physical->type, name->type) == 0)
            number = device->physical->number;
    }
    for (size_t i = 0; table->logical_count == 0 && i < table->visible_count && number < 0; ++i) {
        const physical_t *card = table->visible[i];
        if (strcmp(card->type, name->type) == 0 && index++ == name->index) number = card->number;
    }
    gantry__mutex_unlock(&table->lock);
    return number;
}

const char *gantry__device_tell_unused(const gantry__device_table_t *table,
                                       const gantry__device_reference_t *reference,
                                       char out[GANTRY__DEVICE_UNUSED_BYTES]) {
    const char *reason = NULL;
    out[0] = '\0';
    for (size_t i = 0; i < table->backends->count && reference->name.has_backend; ++i) {
        const gantry__backend_t *backend = &table->backends->items[i];
        if (strcmp(backend->name, reference->name.backend) != 0) continue;
        if (backend->state == GANTRY_BACKEND_USABLE) return out;
        if (!reason || *reason == '\0') reason = backend->reason;
    }
    if (reason && *reason) {
        (void)snprintf(out, GANTRY__DEVICE_UNUSED_BYTES, "Backend %s is not used: %s",
                       reference->name.backend, reason);
    }
    return out;
}

/* Fails; why: that the device's view gave a card up; or "". */
static gantry_status_t fail_unknown(const gantry__device_table_t *table,
                                    const gantry__device_reference_t *reference, const char *text,
                                    const char *names, const char *why) {
    char unused[GANTRY__DEVICE_UNUSED_BYTES];
    if (*gantry__device_tell_unused(table, reference, unused)) why = unused;
    return gantry__fail(GANTRY_NOT_FOUND, "%s unknown device. All available devices [%s].%s%s",
                        text, names, *why ? " " : "", why);
}

gantry_status_t gantry__physical_device_find(gantry__device_table_t *table, const char *text,
                                             const gantry_physical_device_t **out_device) {
    gantry__device_reference_t reference;
    gantry__device_name_t *name = &reference.name;
    *out_device = NULL;
    GANTRY__TRY(gantry__device_reference_from_user(table, text, &reference));
    if (reference.kind == GANTRY__DEVICE_LOGICAL && name->has_index)
        name->index = card_behind(table, name);
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *device = table->physical[i];
        if (!gantry__device_reference_names(&reference, device)) continue;
        if (*out_device) {
            return gantry__refuse("Multiple devices match the provided string '%s': '%s' and '%s'.",
                                  text, (*out_device)->name, device->name);
        }
        *out_device = device;
    }
    if (*out_device) return GANTRY_OK;
    char names[512];
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < table->physical_count && used < sizeof names; ++i) {
        const physical_t *device = table->physical[i];
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s%s%s", i ? ", " : "",
                                 device->listed ? device->name : "", device->listed ? " = " : "",
                                 device->alias);
    }
    return fail_unknown(table, &reference, text, names, "");
}

/* ---- logical devices ---- */

/* The reason why an alias names nothing: its view gave a card up; "" otherwise. */
static const char *why_gone(const gantry__device_table_t *table,
                            const gantry__device_reference_t *reference) {
    const gantry__device_name_t *name = &reference->name;
    if (!is_here(name) || !name->has_backend) return "";
    for (size_t i = 0; i < table->physical_count; ++i) {
        const struct gantry_physical_device_t *card = table->physical[i];
        if (gantry__device_view(card) == card) continue;
        if (strcmp(name->backend, card->backend->name) != 0) continue;
        bool is_alias = reference->kind == GANTRY__DEVICE_BACKEND_ALIAS;
        if (!name->has_index || !is_alias || name->index == (int32_t)card->backend_index)
            return gantry__device_note(card);
    }
    return "";
}

gantry_status_t gantry__device_reference_find(gantry__device_table_t *table,
                                              const gantry__device_reference_t *reference,
                                              const char *text,
                                              gantry_logical_device_t **out_device) {
    *out_device = NULL;
    for (size_t i = 0; i < table->logical_count; ++i) {
        if (!gantry__device_reference_matches(reference, table->logical[i])) continue;
        if (*out_device) {
            return gantry__refuse("Multiple devices match the provided string '%s': '%s' and '%s'.",
                                  text, (*out_device)->name, table->logical[i]->name);
        }
        *out_device = table->logical[i];
    }
    if (*out_device) return GANTRY_OK;
    char names[512];
    gantry__device_table_format_names(table, names, sizeof names);
    return fail_unknown(table, reference, text, names, why_gone(table, reference));
}

void gantry__device_table_format_names(const gantry__device_table_t *table, char *out,
                                       size_t out_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < table->listed_count && used < out_bytes; ++i) {
        int length = snprintf(out + used, out_bytes - used, "%s%s", i ? ", " : "",
                              table->logical[i]->full_name);
        if (length < 0) return;
        used += (size_t)length;
    }
}
