/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine does now, from /proc and /sys: memory as far as limits leave it, load, use of
 * the processors, and clock. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "cpu/cpu_backend.h"

__attribute__((format(printf, 2, 3))) static void cpu_telemetry_add_reason(
    gantry_device_telemetry_t *out, const char *format, ...) {
    const size_t used = strlen(out->reason);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out->reason + used, sizeof out->reason - used, format, arguments);
    va_end(arguments);
}

static void fill_memory(const char *root, gantry_device_telemetry_t *out) {
    gantry__cpu_machine_memory(root, &out->free_bytes, &out->total_bytes);
    if (out->total_bytes > 0) {
        out->used_bytes = out->total_bytes - out->free_bytes;
        out->known |= GANTRY_TELEMETRY_MEMORY;
    } else {
        cpu_telemetry_add_reason(out, "; no memory: /proc/meminfo has none");
    }
}

static void fill_load(const char *root, gantry_device_telemetry_t *out) {
    const double load = gantry__cpu_machine_load(root);
    if (load >= 0.0) {
        out->load_average = load;
        out->known |= GANTRY_TELEMETRY_LOAD;
    } else {
        cpu_telemetry_add_reason(out, "; no load: /proc/loadavg cannot be read");
    }
}

static void fill_use(const char *root, int64_t now_ns, gantry__cpu_use_t *use,
                     gantry_device_telemetry_t *out) {
    if (!gantry__cpu_machine_use(root, now_ns, use)) {
        cpu_telemetry_add_reason(out, "; no use: /proc/stat has no counts");
    } else if (use->is_known) {
        out->processor_percent = use->percent;
        out->known |= GANTRY_TELEMETRY_PROCESSOR;
    } else {
        cpu_telemetry_add_reason(out, "; the use is known from a reading 0.25 s later on");
    }
}

static void fill_clocks(const char *root, gantry_device_telemetry_t *out) {
    gantry__cpu_machine_clocks(root, &out->clock_mhz, &out->most_clock_mhz);
    if (out->clock_mhz > 0) out->known |= GANTRY_TELEMETRY_CLOCK;
    if (out->most_clock_mhz > 0) out->known |= GANTRY_TELEMETRY_MOST_CLOCK;
    if (out->clock_mhz == 0)
        cpu_telemetry_add_reason(out, "; no clock: /proc/cpuinfo and cpufreq have none");
}

void gantry__cpu_telemetry_fill(const char *root, int64_t now_ns, gantry__cpu_use_t *use,
                                gantry_device_telemetry_t *out) {
    cpu_telemetry_add_reason(out,
                             "the backend cpu reports memory, load, use and clock of the machine");
    fill_memory(root, out);
    fill_load(root, out);
    fill_use(root, now_ns, use, out);
    fill_clocks(root, out);
}

static int32_t cpu_telemetry_read(gantry_backend_instance_t *instance, uint32_t index,
                                  gantry_device_telemetry_t *out_telemetry) {
    gantry_device_telemetry_t figures = {.struct_size = out_telemetry->struct_size};
    (void)index; /* there is one device */
    const int64_t now = (int64_t)gantry__now_ns();
    gantry__mutex_lock(&instance->lock);
    gantry__cpu_telemetry_fill("", now, &instance->use, &figures);
    gantry__mutex_unlock(&instance->lock);
    memcpy(out_telemetry, &figures,
           figures.struct_size < sizeof figures ? figures.struct_size : sizeof figures);
    return GANTRY_OK;
}

const gantry_telemetry_ops_t gantry__cpu_telemetry_ops = {
    .struct_size = sizeof gantry__cpu_telemetry_ops,
    .read = cpu_telemetry_read,
};
