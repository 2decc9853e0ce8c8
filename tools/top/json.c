/* SPDX-License-Identifier: Apache-2.0 */
/* A frame of gantry top as JSON. An unknown figure is null. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "common/tool.h"
#include "top/top.h"

static void add_figure(gantry_json_t *json, const char *name, bool is_known, uint64_t value) {
    if (is_known) {
        gantry_json_unsigned(json, name, value);
    } else {
        gantry_json_null(json, name);
    }
}

static void add_slowed(gantry_json_t *json, bool is_known, uint32_t slowed_by) {
    static const char *const names[] = {"idle",     "setting", "power",   "temperature",
                                        "hardware", "sync",    "display", "other"};
    if (!is_known) {
        gantry_json_null(json, "slowed_by");
        return;
    }
    gantry_json_array(json, "slowed_by");
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (slowed_by & UINT32_C(1) << i) gantry_json_text(json, NULL, names[i]);
    gantry_json_end(json);
}

static void add_figures(gantry_json_t *json, const gantry_device_telemetry_t *t) {
    const uint32_t known = t->known;
    const bool has_memory = known & GANTRY_TELEMETRY_MEMORY,
               has_use = known & GANTRY_TELEMETRY_UTILIZATION,
               has_errors = known & GANTRY_TELEMETRY_ECC_ERRORS;
    add_figure(json, "used_bytes", has_memory, t->used_bytes);
    add_figure(json, "free_bytes", has_memory, t->free_bytes);
    add_figure(json, "utilization_percent", has_use, t->utilization_percent);
    add_figure(json, "memory_busy_percent", has_use, t->memory_busy_percent);
    if (known & GANTRY_TELEMETRY_TEMPERATURE) {
        gantry_json_integer(json, "temperature_celsius", t->temperature_celsius);
    } else {
        gantry_json_null(json, "temperature_celsius");
    }
    add_figure(json, "power_milliwatts", known & GANTRY_TELEMETRY_POWER, t->power_milliwatts);
    add_figure(json, "power_limit_milliwatts", known & GANTRY_TELEMETRY_POWER_LIMIT,
               t->power_limit_milliwatts);
    add_figure(json, "clock_mhz", known & GANTRY_TELEMETRY_CLOCK, t->clock_mhz);
    add_figure(json, "most_clock_mhz", known & GANTRY_TELEMETRY_MOST_CLOCK, t->most_clock_mhz);
    add_figure(json, "memory_clock_mhz", known & GANTRY_TELEMETRY_MEMORY_CLOCK,
               t->memory_clock_mhz);
    add_figure(json, "fan_percent", known & GANTRY_TELEMETRY_FAN, t->fan_percent);
    if (known & GANTRY_TELEMETRY_ECC_MODE) {
        gantry_json_bool(json, "ecc_enabled", t->ecc_enabled != 0);
    } else {
        gantry_json_null(json, "ecc_enabled");
    }
    add_figure(json, "ecc_corrected", has_errors, t->ecc_corrected);
    add_figure(json, "ecc_uncorrected", has_errors, t->ecc_uncorrected);
    add_slowed(json, known & GANTRY_TELEMETRY_SLOWED, t->slowed_by);
    if (known & GANTRY_TELEMETRY_LOAD) {
        gantry_json_number(json, "load_average", t->load_average);
    } else {
        gantry_json_null(json, "load_average");
    }
    add_figure(json, "processor_percent", known & GANTRY_TELEMETRY_PROCESSOR, t->processor_percent);
    gantry_json_text(json, "reason", t->reason);
}

static void add_processes(gantry_json_t *json, const gantry_top_device_t *device) {
    if (!device->has_processes) {
        gantry_json_null(json, "processes");
        return;
    }
    gantry_json_array(json, "processes");
    for (size_t i = 0; i < device->process_count; ++i) {
        const gantry_top_process_t *process = &device->processes[i];
        gantry_json_object(json, NULL);
        gantry_json_unsigned(json, "pid", process->pid);
        gantry_json_text(json, "name", process->name);
        gantry_json_text(json, "user", process->user);
        add_figure(json, "used_bytes", process->used_bytes != UINT64_MAX, process->used_bytes);
        gantry_json_text(json, "kind", process->is_graphics ? "graphics" : "compute");
        gantry_json_end(json);
    }
    gantry_json_end(json);
}

static void top_json_add_device(gantry_json_t *json, const gantry_top_device_t *device) {
    const gantry_device_details_t *details = &device->details;
    gantry_json_object(json, NULL);
    gantry_json_text(json, "device", device->name);
    gantry_json_text(json, "alias", details->alias);
    gantry_json_text(json, "type", details->type);
    gantry_json_text(json, "hardware", details->hardware_name);
    gantry_json_text(json, "uuid", details->uuid);
    gantry_json_text(json, "pci", details->pci_address);
    const bool has_memory = (device->figures.known & GANTRY_TELEMETRY_MEMORY) != 0;
    gantry_json_unsigned(json, "total_bytes",
                         has_memory ? device->figures.total_bytes : details->total_bytes);
    add_figures(json, &device->figures);
    gantry_tool_claim_json(json, "claim", &device->claim);
    add_processes(json, device);
    gantry_json_end(json);
}

static void add_program(gantry_json_t *json, const gantry_top_program_t *program) {
    gantry_json_object(json, NULL);
    gantry_json_unsigned(json, "pid", program->pid);
    gantry_json_text(json, "name", program->name);
    gantry_json_text(json, "user", program->user);
    gantry_json_number(json, "age_seconds", program->age_seconds);
    gantry_json_array(json, "devices");
    for (size_t i = 0; i < program->pool_count; ++i) {
        const gantry_top_pool_t *pool = &program->pools[i];
        gantry_json_object(json, NULL);
        gantry_json_text(json, "device", pool->device);
        gantry_json_text(json, "uuid", pool->uuid);
        gantry_json_unsigned(json, "in_use_bytes", pool->in_use_bytes);
        gantry_json_unsigned(json, "pool_bytes", pool->pool_bytes);
        gantry_json_unsigned(json, "peak_bytes", pool->peak_bytes);
        gantry_json_unsigned(json, "limit_bytes", pool->limit_bytes);
        gantry_json_unsigned(json, "foreign_bytes", pool->foreign_bytes);
        gantry_json_end(json);
    }
    gantry_json_end(json);
    gantry_json_end(json);
}

void gantry_top_print_json(const gantry_top_t *top) {
    char now[GANTRY__OS_DATE_BYTES];
    gantry_json_t json;
    gantry__os_utc_text(top->now, now);
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "gantry", gantry_version());
    gantry_json_text(&json, "time", now);
    gantry_json_array(&json, "devices");
    for (size_t i = 0; i < top->device_count; ++i) top_json_add_device(&json, &top->devices[i]);
    gantry_json_end(&json);
    gantry_json_array(&json, "programs");
    for (size_t i = 0; i < top->program_count; ++i) add_program(&json, &top->programs[i]);
    gantry_json_end(&json);
    gantry_json_end(&json);
}
