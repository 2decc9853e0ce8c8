/* SPDX-License-Identifier: Apache-2.0 */
/* What TensorFlow's C API has no way to say: TensorFlow answers tf.config's questions for memory
 * and hardware of a plug-in's devices with constants. python/gantry_tensorflow/device_info.py calls
 * these functions instead. ordinal counts all devices, as tf.config.list_physical_devices does.
 *
 * Owner: texts live as long as the process. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_DEVICE_INFO_H
#define GANTRY_TENSORFLOW_DEVICE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_INFO_EXPORT __attribute__((visibility("default")))

/* Writes the bytes in use, and the most since start or reset. Returns false if there is no such
 * device. */
DEVICE_INFO_EXPORT bool gantry_tensorflow_memory(uint32_t ordinal, uint64_t *current_bytes,
                                                 uint64_t *peak_bytes);
/* Writes the most bytes that the device may hold: its limit, or what the driver has. Returns false
 * as above. */
DEVICE_INFO_EXPORT bool gantry_tensorflow_limit(uint32_t ordinal, uint64_t *limit_bytes);
/* Writes the report of the device's last failure for lack of memory, as long as out_bytes allows.
 * Returns its length; 0: there was none, or there is no such device. */
DEVICE_INFO_EXPORT size_t gantry_tensorflow_oom_report(uint32_t ordinal, char *out,
                                                       size_t out_bytes);
/* Sets the most to what is in use now. */
DEVICE_INFO_EXPORT bool gantry_tensorflow_reset_memory(uint32_t ordinal);
/* The hardware, "NVIDIA H200 (cuda:0)", or "" if there is no such device. */
DEVICE_INFO_EXPORT const char *gantry_tensorflow_hardware(uint32_t ordinal);
/* The card, "/physical_device:GPU:0", which the parts of a split card share, or "" if there is no
 * such device. */
DEVICE_INFO_EXPORT const char *gantry_tensorflow_card(uint32_t ordinal);
/* The compute capability, "9.0", or "" for a card without one. */
DEVICE_INFO_EXPORT const char *gantry_tensorflow_capability(uint32_t ordinal);

#endif
