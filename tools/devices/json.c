/* SPDX-License-Identifier: Apache-2.0 */
/* gantry devices --json: the content of --verbose. A figure that is not known is null. */
#include <stdlib.h>

#include "devices/devices.h"

static void devices_json_add_backend(gantry_json_t *json, const gantry_backend_status_t *status) {
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", status->name);
    gantry_json_text(json, "state", devices_state_name(status->state));
    gantry_json_text(json, "reason", status->reason);
    gantry_json_text(json, "description", status->description);
    gantry_json_text(json, "libraries", status->libraries);
    gantry_json_text(json, "path", status->path);
    gantry_json_text(json, "untried", status->untried);
    gantry_json_unsigned(json, "devices", status->device_count);
    gantry_json_end(json);
}

static void add_part(gantry_json_t *json, const devices_part_t *part) {
    const gantry_logical_device_config_t *config = &part->config;
    gantry_json_object(json, NULL);
    gantry_json_text(json, "logical", part->name);
    gantry_json_unsigned(json, "memory_limit_bytes", config->memory_limit_bytes);
    if (config->has_priority) gantry_json_integer(json, "priority", config->priority);
    if (config->has_ordinal) gantry_json_integer(json, "ordinal", config->ordinal);
    gantry_json_unsigned(json, "max_work_group_size", config->max_work_group_size);
    gantry_json_unsigned(json, "local_memory_bytes", config->local_memory_bytes);
    gantry_json_unsigned(json, "largest_allocation_bytes", config->largest_allocation_bytes);
    gantry_json_end(json);
}

static void devices_json_add_names(gantry_json_t *json, const devices_shown_t *shown) {
    const gantry_device_details_t *details = &shown->details;
    gantry_json_text(json, "logical", shown->name);
    gantry_json_text(json, "physical", details->listed ? details->name : "");
    gantry_json_text(json, "alias", details->alias);
    gantry_json_text(json, "type", details->type);
    gantry_json_text(json, "backend", details->backend);
    gantry_json_text(json, "hardware", details->hardware_name);
    gantry_json_text(json, "vendor", details->vendor);
    gantry_json_text(json, "driver", details->driver_version);
    gantry_json_text(json, "platform", details->platform);
    gantry_json_text(json, "uuid", details->uuid);
    gantry_json_text(json, "pci", details->pci_address);
    gantry_json_text(json, "compute_capability", details->compute_capability);
    gantry_json_text(json, "note", details->note);
    gantry_json_text(json, "other_view", details->other_view);
    gantry_json_text(json, "error", shown->error);
}

static void add_limits(gantry_json_t *json, const devices_shown_t *shown) {
    const gantry_device_details_t *details = &shown->details;
    gantry_json_unsigned(json, "total_bytes", details->total_bytes);
    gantry_json_unsigned(json, "largest_allocation_bytes", shown->largest_allocation_bytes);
    gantry_json_unsigned(json, "local_memory_bytes", details->local_memory_bytes);
    gantry_json_unsigned(json, "alignment_bytes", details->alignment_bytes);
    gantry_json_unsigned(json, "compute_units", details->compute_units);
    gantry_json_unsigned(json, "max_work_group_size", details->max_work_group_size);
    gantry_json_bool(json, "float64", details->float64);
    gantry_json_bool(json, "visible", details->visible);
    gantry_json_bool(json, "listed", details->listed);
    gantry_json_text(json, "hidden_by", details->hidden_by);
}

static void devices_json_add_figure(gantry_json_t *json, const char *key, bool is_known,
                                    double value) {
    if (is_known) gantry_json_number(json, key, value);
    if (!is_known) gantry_json_null(json, key);
}

static void add_now(gantry_json_t *json, const gantry_device_telemetry_t *telemetry) {
    const uint32_t known = telemetry->known;
    const bool has_memory = known & GANTRY_TELEMETRY_MEMORY;
    devices_json_add_figure(json, "used_bytes", has_memory, (double)telemetry->used_bytes);
    devices_json_add_figure(json, "free_bytes", has_memory, (double)telemetry->free_bytes);
    devices_json_add_figure(json, "utilization_percent", known & GANTRY_TELEMETRY_UTILIZATION,
                            telemetry->utilization_percent);
    devices_json_add_figure(json, "temperature_celsius", known & GANTRY_TELEMETRY_TEMPERATURE,
                            telemetry->temperature_celsius);
    devices_json_add_figure(json, "power_watts", known & GANTRY_TELEMETRY_POWER,
                            telemetry->power_milliwatts / 1000.0);
}

static void devices_json_add_device(gantry_json_t *json, gantry_runtime_t *runtime,
                                    const gantry_physical_device_t *device) {
    devices_shown_t shown;
    devices_look_at(runtime, device, &shown);
    gantry_json_object(json, NULL);
    devices_json_add_names(json, &shown);
    add_limits(json, &shown);
    add_now(json, &shown.telemetry);
    gantry_tool_claim_json(json, "claim", &shown.claim);
    gantry_json_array(json, "parts");
    for (size_t i = 0; i < shown.part_count; ++i) add_part(json, &shown.parts[i]);
    gantry_json_end(json);
    gantry_json_end(json);
}

int devices_print_json(gantry_runtime_t *runtime) {
    size_t count;
    gantry_json_t json;
    const gantry_physical_device_t **views = devices_list_views(runtime, &count);
    if (!views) return gantry_tool_fail_last();
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "gantry", gantry_version());
    gantry_json_array(&json, "backends");
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(runtime, i, &status) == GANTRY_OK)
            devices_json_add_backend(&json, &status);
    }
    gantry_json_end(&json);
    gantry_json_array(&json, "devices");
    for (size_t i = 0; i < count; ++i) devices_json_add_device(&json, runtime, views[i]);
    gantry_json_end(&json);
    gantry_json_end(&json);
    free(views);
    return GANTRY_TOOL_OK;
}
