/* SPDX-License-Identifier: Apache-2.0 */
/* gantry devices: a table for people, or JSON for programs, with the same content. Initializes the
 * runtime, because only that numbers the parts of split devices and lists the libraries of the CPU
 * backend. Opens no other device, with one exception: if several backends see a card, opening it
 * decides which of them serves it. */
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

/* All views, or NULL. The caller frees the array. */
static const gantry_physical_device_t **list_views(gantry_runtime_t *runtime, size_t *out_count) {
    *out_count = 0;
    if (gantry_list_device_views(runtime, 0, NULL, out_count) != GANTRY_OK) return NULL;
    const gantry_physical_device_t **views = calloc(*out_count + 1, sizeof *views);
    if (views && gantry_list_device_views(runtime, *out_count, views, out_count) == GANTRY_OK)
        return views;
    free(views);
    return NULL;
}

static gantry_device_details_t details_of(gantry_runtime_t *runtime,
                                          const gantry_physical_device_t *device) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    (void)gantry_get_device_details(runtime, device, &details);
    return details;
}

/* Makes the runtime decide which backend serves a card with several views. Writes the reason if the
 * card cannot be opened, else "". */
static void decide_who_serves(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                              char *out_error, size_t out_bytes) {
    gantry_device_details_t details = details_of(runtime, device);
    const gantry_logical_device_t *logical[64];
    size_t count = 0;
    out_error[0] = '\0';
    if (!details.listed || !details.visible || !*details.other_view) return;
    if (gantry_list_logical_devices(runtime, details.type, 64, logical, &count) != GANTRY_OK)
        return;
    for (size_t i = 0; i < count && i < 64; ++i) {
        gantry_memory_info_t info = {.struct_size = sizeof info};
        if (gantry_logical_device_physical(logical[i]) != device) continue;
        if (gantry_get_memory_info(runtime, gantry_logical_device_full_name(logical[i]), &info) !=
            GANTRY_OK)
            (void)snprintf(out_error, out_bytes, "%s", gantry_last_message());
        return;
    }
}

/* ---- the content of both ---- */

#define MOST_PARTS 64

typedef struct part_t {
    char name[64]; /* "/GPU:0" */
    gantry_logical_device_config_t config;
} part_t;

typedef struct shown_t {
    gantry_device_details_t details;
    uint64_t largest_allocation_bytes; /* all of the memory if the device does not say */
    char name[64];                     /* of its first logical device; "": hidden or unlisted */
    char error[512];                   /* the reason why the card cannot be opened, or "" */
    part_t parts[MOST_PARTS];          /* of a split or configured device, as /GPU:N counts */
    size_t part_count;
} shown_t;

/* In the order of the runtime: the smallest ordinal first. */
static void sort_by_ordinal(gantry_logical_device_config_t *configs, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        for (size_t j = i; j > 0 && configs[j].ordinal < configs[j - 1].ordinal; --j) {
            gantry_logical_device_config_t config = configs[j];
            configs[j] = configs[j - 1];
            configs[j - 1] = config;
        }
    }
}

/* The memory that the parts of a CPU without a limit share; 0 for other devices. */
static uint64_t limit_of(gantry_runtime_t *runtime, const gantry_logical_device_t *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    /* this query would open a card */
    if (strcmp(gantry_logical_device_type(device), "CPU") != 0) return 0;
    if (gantry_get_memory_info(runtime, gantry_logical_device_full_name(device), &info) !=
        GANTRY_OK)
        return 0;
    return info.limit_bytes;
}

static void add_parts(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                      shown_t *out) {
    gantry_logical_device_config_t configs[MOST_PARTS] = {{.struct_size = sizeof configs[0]}};
    const gantry_logical_device_t *logical[256];
    size_t config_count = 0, count = 0, found = 0;
    if (gantry_get_logical_device_configuration(runtime, device, MOST_PARTS, configs,
                                                &config_count) != GANTRY_OK ||
        gantry_list_logical_devices(runtime, out->details.type, 256, logical, &count) != GANTRY_OK)
        return;
    sort_by_ordinal(configs, config_count);
    for (size_t i = 0; i < count && i < 256; ++i) {
        if (gantry_logical_device_physical(logical[i]) != device) continue;
        const char *name = gantry_logical_device_name(logical[i]) + strlen("/device:");
        if (found == 0) (void)snprintf(out->name, sizeof out->name, "/%.60s", name);
        if (found < config_count && found < MOST_PARTS) {
            part_t *part = &out->parts[out->part_count++];
            part->config = configs[found];
            (void)snprintf(part->name, sizeof part->name, "/%.60s", name);
            if (part->config.memory_limit_bytes == 0)
                part->config.memory_limit_bytes = limit_of(runtime, logical[i]);
        }
        ++found;
    }
}

static void look_at(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                    shown_t *out) {
    *out = (shown_t){.part_count = 0};
    decide_who_serves(runtime, device, out->error, sizeof out->error);
    out->details = details_of(runtime, device);
    out->largest_allocation_bytes = out->details.largest_allocation_bytes
                                        ? out->details.largest_allocation_bytes
                                        : out->details.total_bytes;
    add_parts(runtime, device, out);
}

/* ---- text ---- */

static void print_backend(const gantry_backend_status_t *status) {
    (void)printf("  %-10s %-11s %u device%s  %s\n", status->name, state_name(status->state),
                 status->device_count, status->device_count == 1 ? " " : "s", status->path);
    if (*status->description) (void)printf("             %s\n", status->description);
    if (*status->libraries) (void)printf("             libraries: %s\n", status->libraries);
    if (*status->reason) (void)printf("             reason: %s\n", status->reason);
}

/* "1.5 GiB (1610612736 bytes)": JSON has the bytes. */
static void print_bytes(const char *what, uint64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    double number = (double)bytes;
    int unit = 0;
    for (; number >= 1024 && unit < 3; ++unit) number /= 1024;
    if (unit == 0) (void)printf("%s%" PRIu64 " bytes", what, bytes);
    if (unit > 0) (void)printf("%s%.1f %s (%" PRIu64 " bytes)", what, number, units[unit], bytes);
}

static void print_part(const part_t *part) {
    const gantry_logical_device_config_t *config = &part->config;
    (void)printf("             part %s: ", part->name);
    if (config->memory_limit_bytes) print_bytes("limit ", config->memory_limit_bytes);
    if (!config->memory_limit_bytes) (void)printf("the device's limit");
    if (config->has_priority) (void)printf(", priority %" PRId32, config->priority);
    if (config->has_ordinal) (void)printf(", ordinal %" PRId32, config->ordinal);
    if (config->max_work_group_size)
        (void)printf(", work-groups of %" PRIu32, config->max_work_group_size);
    if (config->local_memory_bytes) print_bytes(", local memory ", config->local_memory_bytes);
    if (config->largest_allocation_bytes)
        print_bytes(", largest allocation ", config->largest_allocation_bytes);
    (void)printf("\n");
}

static void print_hardware(const shown_t *shown) {
    const gantry_device_details_t *details = &shown->details;
    (void)printf("             memory: ");
    print_bytes("", details->total_bytes);
    print_bytes(", largest allocation ", shown->largest_allocation_bytes);
    print_bytes("; local memory ", details->local_memory_bytes);
    (void)printf("\n             %u compute units; work-groups of %u; alignment %" PRIu64
                 "; %s float64\n",
                 details->compute_units, details->max_work_group_size, details->alignment_bytes,
                 details->float64 ? "with" : "without");
    (void)printf("             driver: %s%s%s (%s)", details->driver_version,
                 *details->driver_version ? ", " : "", details->platform, details->vendor);
    if (*details->compute_capability)
        (void)printf("; compute capability %s", details->compute_capability);
    (void)printf("\n");
}

static void print_device(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
    shown_t shown;
    look_at(runtime, device, &shown);
    const gantry_device_details_t *details = &shown.details;
    (void)printf("  %-10s %s\n", *shown.name ? shown.name : "-", details->hardware_name);
    (void)printf("             names: %s%s%s, %s%s%s\n", details->listed ? details->name : "",
                 details->listed ? ", " : "", details->alias, details->uuid,
                 *details->pci_address ? ", " : "", details->pci_address);
    print_hardware(&shown);
    for (size_t i = 0; i < shown.part_count; ++i) print_part(&shown.parts[i]);
    if (*details->hidden_by) (void)printf("             hidden by %s\n", details->hidden_by);
    if (*details->other_view) (void)printf("             other view: %s\n", details->other_view);
    if (*details->note) (void)printf("             note: %s\n", details->note);
    if (*shown.error) (void)printf("             error: %s\n", shown.error);
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

static cJSON *part_json(const part_t *part) {
    const gantry_logical_device_config_t *config = &part->config;
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(object, "logical", part->name);
    (void)cJSON_AddNumberToObject(object, "memory_limit_bytes", (double)config->memory_limit_bytes);
    if (config->has_priority) (void)cJSON_AddNumberToObject(object, "priority", config->priority);
    if (config->has_ordinal) (void)cJSON_AddNumberToObject(object, "ordinal", config->ordinal);
    (void)cJSON_AddNumberToObject(object, "max_work_group_size", config->max_work_group_size);
    (void)cJSON_AddNumberToObject(object, "local_memory_bytes", (double)config->local_memory_bytes);
    (void)cJSON_AddNumberToObject(object, "largest_allocation_bytes",
                                  (double)config->largest_allocation_bytes);
    return object;
}

static cJSON *device_json(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
    shown_t shown;
    look_at(runtime, device, &shown);
    const gantry_device_details_t details = shown.details;
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(object, "logical", shown.name);
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
    (void)cJSON_AddStringToObject(object, "error", shown.error);
    (void)cJSON_AddNumberToObject(object, "total_bytes", (double)details.total_bytes);
    (void)cJSON_AddNumberToObject(object, "largest_allocation_bytes",
                                  (double)shown.largest_allocation_bytes);
    (void)cJSON_AddNumberToObject(object, "local_memory_bytes", (double)details.local_memory_bytes);
    (void)cJSON_AddNumberToObject(object, "alignment_bytes", (double)details.alignment_bytes);
    (void)cJSON_AddNumberToObject(object, "compute_units", details.compute_units);
    (void)cJSON_AddNumberToObject(object, "max_work_group_size", details.max_work_group_size);
    (void)cJSON_AddBoolToObject(object, "float64", details.float64);
    (void)cJSON_AddBoolToObject(object, "visible", details.visible);
    (void)cJSON_AddBoolToObject(object, "listed", details.listed);
    (void)cJSON_AddStringToObject(object, "hidden_by", details.hidden_by);
    cJSON *parts = cJSON_AddArrayToObject(object, "parts");
    for (size_t i = 0; i < shown.part_count; ++i)
        (void)cJSON_AddItemToArray(parts, part_json(&shown.parts[i]));
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
    for (size_t i = 0; views && i < count; ++i)
        (void)cJSON_AddItemToArray(devices, device_json(runtime, views[i]));
    char *text = cJSON_Print(root);
    if (text) (void)printf("%s\n", text);
    bool good = text && views;
    cJSON_free(text);
    cJSON_Delete(root);
    free(views);
    return good ? 0 : 1;
}

static int devices_run(const gantry_command_values_t *values) {
    gantry_runtime_t *runtime = gantry_tool_open_runtime(values, NULL);
    if (!runtime) return GANTRY_TOOL_FAILED;
    if (gantry_runtime_initialize(runtime) != GANTRY_OK) (void)gantry_tool_fail_last();
    const int code = gantry_command_has(values, "json") ? print_json(runtime) : print_all(runtime);
    gantry_runtime_release(runtime);
    return code;
}

const gantry_command_t gantry_command_devices = {
    .name = "devices",
    .summary = "lists every backend with its state and reason, and every device",
    .options = {GANTRY_OPTION_JSON, GANTRY_OPTION_CPU_AS_GPU, GANTRY_OPTION_VERBOSE},
    .examples = {{"gantry devices", NULL}},
    .run = devices_run};
