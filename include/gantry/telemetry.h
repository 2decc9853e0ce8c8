/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * What devices do now: memory, utilisation, temperature, power, clocks, ECC errors, processes.
 *
 * The figures come from the driver's monitor (NVML) or from the operating system. No call opens a
 * device or initialises the runtime, and an idle card stays asleep. `gantry top` shows the same.
 * gantry/memory.h reports Gantry's own memory. Thread-safe. */
#ifndef GANTRY_TELEMETRY_H
#define GANTRY_TELEMETRY_H

#include <gantry/abi_telemetry.h>
#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reads a device's figures. out_telemetry->struct_size must be set. What is not known is no
 * failure: the bit in `known` is missing, and `reason` says why. All views of a card give the same
 * figures. A device that computes on the host's processor, such as PoCL's, has the machine's. */
GANTRY_API gantry_status_t gantry_get_device_telemetry(gantry_runtime_t *runtime,
                                                       const gantry_physical_device_t *device,
                                                       gantry_device_telemetry_t *out_telemetry);

/** Lists the processes that use a card, of all users. Writes up to capacity structs, and the full
 * count. out_processes[0].struct_size must be set. Unimplemented when no driver lists them;
 * Unavailable when it does not answer. */
GANTRY_API gantry_status_t gantry_list_device_processes(gantry_runtime_t *runtime,
                                                        const gantry_physical_device_t *device,
                                                        size_t capacity,
                                                        gantry_device_process_t *out_processes,
                                                        size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
