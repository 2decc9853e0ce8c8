/* SPDX-License-Identifier: Apache-2.0 */
/* gantry devices: the devices of this machine. Initializes the runtime, because only that numbers
 * the parts of split devices and lists the libraries of the CPU backend. Opens no other device,
 * with one exception: if several backends see a card, opening it decides which of them serves
 * it. */
#include "command/command.h"
#include "devices/devices.h"

#include <stdlib.h>
#include <string.h>

const char *devices_state_name(gantry_backend_state_t state) {
    static const char *const names[] = {"usable", "unavailable", "refused"};
    return (size_t)state < 3 ? names[state] : "invalid";
}

const gantry_physical_device_t **devices_list_views(gantry_runtime_t *runtime, size_t *out_count) {
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
                      devices_shown_t *out) {
    gantry_logical_device_config_t configs[DEVICES_MOST_PARTS] = {
        {.struct_size = sizeof configs[0]}};
    const gantry_logical_device_t *logical[256];
    size_t config_count = 0, count = 0, found = 0;
    if (gantry_get_logical_device_configuration(runtime, device, DEVICES_MOST_PARTS, configs,
                                                &config_count) != GANTRY_OK ||
        gantry_list_logical_devices(runtime, out->details.type, 256, logical, &count) != GANTRY_OK)
        return;
    sort_by_ordinal(configs, config_count);
    for (size_t i = 0; i < count && i < 256; ++i) {
        if (gantry_logical_device_physical(logical[i]) != device) continue;
        const char *name = gantry_logical_device_name(logical[i]) + strlen("/device:");
        if (found == 0) (void)snprintf(out->name, sizeof out->name, "/%.60s", name);
        if (found < config_count && found < DEVICES_MOST_PARTS) {
            devices_part_t *part = &out->parts[out->part_count++];
            part->config = configs[found];
            (void)snprintf(part->name, sizeof part->name, "/%.60s", name);
            if (part->config.memory_limit_bytes == 0)
                part->config.memory_limit_bytes = limit_of(runtime, logical[i]);
        }
        ++found;
    }
}

void devices_look_at(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                     devices_shown_t *out) {
    *out = (devices_shown_t){.part_count = 0};
    decide_who_serves(runtime, device, out->error, sizeof out->error);
    out->details = details_of(runtime, device);
    out->largest_allocation_bytes = out->details.largest_allocation_bytes
                                        ? out->details.largest_allocation_bytes
                                        : out->details.total_bytes;
    add_parts(runtime, device, out);
    out->telemetry.struct_size = sizeof out->telemetry;
    (void)gantry_get_device_telemetry(runtime, device, &out->telemetry);
    gantry_tool_claim_read(runtime, device, &out->claim);
}

/* ---- the command ---- */

static int print_names(gantry_runtime_t *runtime) {
    const gantry_logical_device_t *devices[256];
    size_t count;
    if (gantry_list_logical_devices(runtime, NULL, 256, devices, &count) != GANTRY_OK)
        return gantry_tool_fail_last();
    for (size_t i = 0; i < count && i < 256; ++i)
        (void)printf("/%s\n", gantry_logical_device_name(devices[i]) + strlen("/device:"));
    return GANTRY_TOOL_OK;
}

static int devices_run(const gantry_command_values_t *values) {
    const bool is_json = gantry_command_has(values, "json");
    const bool is_verbose = gantry_command_has(values, "verbose");
    const bool is_list = gantry_command_has(values, "list");
    if (is_json + is_verbose + is_list > 1)
        return gantry_command_refuse(values->command,
                                     "--json, --verbose and --list exclude each other");
    gantry_runtime_options_t options = {.struct_size = sizeof options};
    if (gantry_command_has(values, "opencl-cpu-as-gpu")) options.opencl_cpu_as_gpu = GANTRY_ON;
    gantry_runtime_t *runtime = gantry_tool_create_runtime(&options, false);
    if (!runtime) return GANTRY_TOOL_FAILED;
    if (gantry_runtime_initialize(runtime) != GANTRY_OK) (void)gantry_tool_fail_last();
    const int code = is_list      ? print_names(runtime)
                     : is_json    ? devices_print_json(runtime)
                     : is_verbose ? devices_print_details(runtime)
                                  : devices_print_short(runtime);
    gantry_runtime_release(runtime);
    return code;
}

const gantry_command_t gantry_command_devices = {
    .name = "devices",
    .summary = "lists the devices of this machine, and the backends that are missing",
    .description =
        "A device has its name for programs first, then its hardware and its memory. Temperature, power "
        "and load follow where the driver reports them. The second line has other names, which every "
        "command and call takes: the alias of its backend, the UUID, the PCI address. A name of \"-\" "
        "is a device that programs do not see; a line says why. So does a line for a device that "
        "somebody has claimed, or whose claim is unknown; --verbose and --json also say that it is "
        "not claimed.",
    .options = {{"list", NULL, "prints the names of the devices, one a line"},
                {"verbose", NULL, "prints every backend, and every detail of each device"},
                GANTRY_OPTION_JSON,
                GANTRY_OPTION_CPU_AS_GPU},
    .examples = {{"gantry devices", NULL},
                 {"for device in $(gantry devices --list); do ./program --device $device; done",
                  "runs a program on each device"}},
    .run = devices_run};
