/* SPDX-License-Identifier: Apache-2.0 */
/* gantry devices: a table for people, JSON for programs. Both say the same. Lists without opening a device, but for cards that several backends
 * see: which of them serves such a card shows only when it is opened. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gantry_tool.h"

static const char *state_name(gantry_backend_state_t state) {
    static const char *const names[] = {"usable", "unavailable", "refused"};
    return (size_t)state < 3 ? names[state] : "invalid";
}

/* All views, or NULL; the caller frees. */
static const gantry_physical_device_t **list_views(gantry_runtime_t *runtime, size_t *out_count) {
    *out_count = 0;
    if (gantry_list_device_views(runtime, 0, NULL, out_count) != GANTRY_OK) return NULL;
    const gantry_physical_device_t **views = calloc(*out_count + 1, sizeof *views);
    if (views && gantry_list_device_views(runtime, *out_count, views, out_count) == GANTRY_OK) return views;
    free(views);
    return NULL;
}

static gantry_device_details_t details_of(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    (void)gantry_get_device_details(runtime, device, &details);
    return details;
}

/* Has the runtime decide who serves a card of several views. Writes why the card cannot be opened, "" when it can or need not. */
static void decide_who_serves(gantry_runtime_t *runtime, const gantry_physical_device_t *device, char *out_error,
                              size_t out_bytes) {
    gantry_device_details_t details = details_of(runtime, device);
    const gantry_logical_device_t *logical[64];
    size_t count = 0;
    out_error[0] = '\0';
    if (!details.listed || !details.visible || !*details.other_view) return;
    if (gantry_list_logical_devices(runtime, details.type, 64, logical, &count) != GANTRY_OK) return;
    for (size_t i = 0; i < count && i < 64; ++i) {
        gantry_memory_info_t info = {.struct_size = sizeof info};
        if (gantry_logical_device_physical(logical[i]) != device) continue;
        if (gantry_get_memory_info(runtime, gantry_logical_device_full_name(logical[i]), &info) != GANTRY_OK)
            (void)snprintf(out_error, out_bytes, "%s", gantry_last_message());
        return;
    }
}

/* Place in the visible list of its type, as /GPU:N counts; -1 when hidden or unlisted. */
static int logical_index(gantry_runtime_t *runtime, const gantry_physical_device_t *device, const char *type) {
    const gantry_physical_device_t *visible[64];
    size_t count;
    if (gantry_get_visible_devices(runtime, type, 64, visible, &count) != GANTRY_OK) return -1;
    for (size_t i = 0; i < count && i < 64; ++i) {
        if (visible[i] == device) return (int)i;
    }
    return -1;
}

/* ---- text ---- */

static void print_backend(const gantry_backend_status_t *status) {
    (void)printf("  %-10s %-11s %u device%s  %s\n", status->name, state_name(status->state), status->device_count,
                 status->device_count == 1 ? " " : "s", status->path);
    if (*status->description) (void)printf("             %s\n", status->description);
    if (*status->libraries) (void)printf("             libraries: %s\n", status->libraries);
    if (*status->reason) (void)printf("             reason: %s\n", status->reason);
}

static void print_device(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
    char error[512];
    decide_who_serves(runtime, device, error, sizeof error);
    gantry_device_details_t details = details_of(runtime, device);
    int index = logical_index(runtime, device, details.type);
    char name[64] = "-";
    if (index >= 0) (void)snprintf(name, sizeof name, "/%.20s:%d", details.type, index);
    (void)printf("  %-10s %s\n", name, details.hardware_name);
    (void)printf("             names: %s%s%s, %s%s%s\n", details.listed ? details.name : "", details.listed ? ", " : "",
                 details.alias, details.uuid, *details.pci_address ? ", " : "", details.pci_address);
    (void)printf("             memory: %.1f GiB, largest allocation %.1f GiB; %u compute units; %s float64\n",
                 (double)details.total_bytes / 1073741824.0,
                 (double)(details.largest_allocation_bytes ? details.largest_allocation_bytes : details.total_bytes) /
                     1073741824.0,
                 details.compute_units, details.float64 ? "with" : "without");
    (void)printf("             driver: %s%s%s (%s)\n", details.driver_version, *details.driver_version ? ", " : "",
                 details.platform, details.vendor);
    if (details.listed && index < 0)
        (void)printf("             hidden by GANTRY_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES\n");
    if (*details.other_view) (void)printf("             other view: %s\n", details.other_view);
    if (*details.note) (void)printf("             note: %s\n", details.note);
    if (*error) (void)printf("             error: %s\n", error);
}

static int print_all(gantry_runtime_t *runtime) {
    (void)printf("Backends\n");
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(runtime, i, &status) == GANTRY_OK) print_backend(&status);
    }
    size_t count;
    const gantry_physical_device_t **views = list_views(runtime, &count);
    if (!views) return 1;
    (void)printf("Devices\n");
    for (size_t i = 0; i < count; ++i) print_device(runtime, views[i]);
    free(views);
    return 0;
}

/* ---- JSON ---- */

static cJSON *backend_json(const gantry_backend_status_t *status) {
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(object, "name", status->name);
    (void)cJSON_AddStringToObject(object, "state", state_name(status->state));
    (void)cJSON_AddStringToObject(object, "reason", status->reason);
    (void)cJSON_AddStringToObject(object, "description", status->description);
    (void)cJSON_AddStringToObject(object, "libraries", status->libraries);
    (void)cJSON_AddStringToObject(object, "path", status->path);
    (void)cJSON_AddNumberToObject(object, "devices", status->device_count);
    return object;
}

static cJSON *device_json(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
    char error[512];
    decide_who_serves(runtime, device, error, sizeof error);
    gantry_device_details_t details = details_of(runtime, device);
    int index = logical_index(runtime, device, details.type);
    char name[64] = "";
    if (index >= 0) (void)snprintf(name, sizeof name, "/%.20s:%d", details.type, index);
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(object, "logical", name);
    (void)cJSON_AddStringToObject(object, "physical", details.listed ? details.name : "");
    (void)cJSON_AddStringToObject(object, "alias", details.alias);
    (void)cJSON_AddStringToObject(object, "type", details.type);
    (void)cJSON_AddStringToObject(object, "backend", details.backend);
    (void)cJSON_AddStringToObject(object, "hardware", details.hardware_name);
    (void)cJSON_AddStringToObject(object, "vendor", details.vendor);
    (void)cJSON_AddStringToObject(object, "driver", details.driver_version);
    (void)cJSON_AddStringToObject(object, "platform", details.platform);
    (void)cJSON_AddStringToObject(object, "uuid", details.uuid);
    (void)cJSON_AddStringToObject(object, "pci", details.pci_address);
    (void)cJSON_AddStringToObject(object, "compute_capability", details.compute_capability);
    (void)cJSON_AddStringToObject(object, "note", details.note);
    (void)cJSON_AddStringToObject(object, "other_view", details.other_view);
    (void)cJSON_AddStringToObject(object, "error", error);
    (void)cJSON_AddNumberToObject(object, "total_bytes", (double)details.total_bytes);
    (void)cJSON_AddNumberToObject(object, "largest_allocation_bytes", (double)details.largest_allocation_bytes);
    (void)cJSON_AddNumberToObject(object, "local_memory_bytes", (double)details.local_memory_bytes);
    (void)cJSON_AddNumberToObject(object, "alignment_bytes", (double)details.alignment_bytes);
    (void)cJSON_AddNumberToObject(object, "compute_units", details.compute_units);
    (void)cJSON_AddNumberToObject(object, "max_work_group_size", details.max_work_group_size);
    (void)cJSON_AddBoolToObject(object, "float64", details.float64);
    (void)cJSON_AddBoolToObject(object, "visible", details.visible);
    (void)cJSON_AddBoolToObject(object, "listed", details.listed);
    return object;
}

static int print_json(gantry_runtime_t *runtime) {
    size_t count;
    const gantry_physical_device_t **views = list_views(runtime, &count);
    cJSON *root = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(root, "gantry", gantry_version());
    cJSON *backends = cJSON_AddArrayToObject(root, "backends");
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(runtime, i, &status) == GANTRY_OK)
            (void)cJSON_AddItemToArray(backends, backend_json(&status));
    }
    cJSON *devices = cJSON_AddArrayToObject(root, "devices");
    for (size_t i = 0; views && i < count; ++i) (void)cJSON_AddItemToArray(devices, device_json(runtime, views[i]));
    char *text = cJSON_Print(root);
    if (text) (void)printf("%s\n", text);
    bool good = text && views;
    cJSON_free(text);
    cJSON_Delete(root);
    free(views);
    return good ? 0 : 1;
}

int gantry_tool_devices(gantry_runtime_t *runtime, bool json) {
    return json ? print_json(runtime) : print_all(runtime);
}
