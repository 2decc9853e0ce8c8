/* SPDX-License-Identifier: Apache-2.0 */
/* gantry devices --verbose: every backend, and every detail of each device. JSON has the same
 * content. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "devices/devices.h"

static void print_backend(const gantry_backend_status_t *status) {
    (void)printf("  %-10s %-11s %u device%s  %s\n", status->name, devices_state_name(status->state),
                 status->device_count, status->device_count == 1 ? " " : "s", status->path);
    if (*status->description) (void)printf("             %s\n", status->description);
    if (*status->libraries) (void)printf("             libraries: %s\n", status->libraries);
    if (*status->reason) (void)printf("             reason: %s\n", status->reason);
    if (*status->untried)
        (void)printf("             drivers without a trial: %s\n", status->untried);
}

/* "1.5 GiB (1610612736 bytes)": JSON has the bytes. */
static void print_bytes(const char *before, uint64_t bytes) {
    char text[2 * GANTRY_TOOL_TEXT_BYTES];
    (void)printf("%s%s", before, gantry_tool_exact_size_text(bytes, text));
}

static void print_part(const devices_part_t *part) {
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

/* A line with the figures that change; none if none is known. */
static void print_now(const gantry_device_telemetry_t *telemetry) {
    char text[256];
    devices_now_text(telemetry, text, sizeof text);
    if (*text) (void)printf("             now: %s\n", text);
}

static void devices_details_print_claim(const gantry_tool_claim_t *claim) {
    char text[768];
    gantry_tool_claim_text(claim, text, sizeof text);
    (void)printf("             %s\n", text);
}

static void print_hardware(const devices_shown_t *shown) {
    const gantry_device_details_t *details = &shown->details;
    print_bytes("             memory: ", details->total_bytes);
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

static void devices_details_print_device(gantry_runtime_t *runtime,
                                         const gantry_physical_device_t *device) {
    devices_shown_t shown;
    devices_look_at(runtime, device, &shown);
    const gantry_device_details_t *details = &shown.details;
    (void)printf("  %-10s %s\n", *shown.name ? shown.name : "-", details->hardware_name);
    (void)printf("             names: %s%s%s, %s%s%s\n", details->listed ? details->name : "",
                 details->listed ? ", " : "", details->alias, details->uuid,
                 *details->pci_address ? ", " : "", details->pci_address);
    print_hardware(&shown);
    print_now(&shown.telemetry);
    devices_details_print_claim(&shown.claim);
    for (size_t i = 0; i < shown.part_count; ++i) print_part(&shown.parts[i]);
    if (*details->hidden_by) (void)printf("             hidden by %s\n", details->hidden_by);
    if (*details->other_view) (void)printf("             other view: %s\n", details->other_view);
    if (*details->note) (void)printf("             note: %s\n", details->note);
    if (*shown.error) (void)printf("             error: %s\n", shown.error);
}

int devices_print_details(gantry_runtime_t *runtime) {
    (void)printf("Backends\n");
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(runtime, i, &status) == GANTRY_OK) print_backend(&status);
    }
    size_t count;
    const gantry_physical_device_t **views = devices_list_views(runtime, &count);
    if (!views) return 1;
    (void)printf("Devices\n");
    for (size_t i = 0; i < count; ++i) devices_details_print_device(runtime, views[i]);
    free(views);
    return 0;
}
