/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine does now, from /proc: memory as far as limits leave it, load, and clock. */
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_backend.h"

static int32_t cpu_telemetry_read(gantry_backend_instance_t *instance, uint32_t index,
                                  gantry_device_telemetry_t *out_telemetry) {
    gantry_device_telemetry_t figures = {.struct_size = out_telemetry->struct_size};
    gantry__cpu_identity_t identity;
    (void)instance, (void)index; /* there is one device */
    gantry__cpu_machine_memory("", &figures.free_bytes, &figures.total_bytes);
    if (figures.total_bytes > 0) {
        figures.used_bytes = figures.total_bytes - figures.free_bytes;
        figures.known |= GANTRY_TELEMETRY_MEMORY;
    }
    const double load = gantry__cpu_machine_load("");
    if (load >= 0.0) {
        figures.load_average = load;
        figures.known |= GANTRY_TELEMETRY_LOAD;
    }
    gantry__cpu_machine_identity("", &identity);
    if (identity.clock_mhz > 0) {
        figures.clock_mhz = identity.clock_mhz;
        figures.known |= GANTRY_TELEMETRY_CLOCK;
    }
    snprintf(figures.reason, sizeof figures.reason,
             "the backend cpu reports memory, load and clock of the machine");
    memcpy(out_telemetry, &figures,
           figures.struct_size < sizeof figures ? figures.struct_size : sizeof figures);
    return GANTRY_OK;
}

const gantry_telemetry_ops_t gantry__cpu_telemetry_ops = {
    .struct_size = sizeof gantry__cpu_telemetry_ops,
    .read = cpu_telemetry_read,
};
