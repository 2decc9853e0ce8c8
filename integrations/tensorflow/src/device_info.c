/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from device.h and memory.h; each checks the ordinal. */
#include "device_info.h"

#include "device.h"

static bool is_device(uint32_t ordinal) { return ordinal < device_count() && !device_is_forked(); }

bool gantry_tensorflow_memory(uint32_t ordinal, uint64_t *current_bytes, uint64_t *peak_bytes) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (!is_device(ordinal)) return false;
    if (gantry_get_memory_info(device_runtime(), device_at(ordinal)->name, &info)) return false;
    *current_bytes = info.current_bytes;
    *peak_bytes = info.peak_bytes;
    return true;
}

bool gantry_tensorflow_limit(uint32_t ordinal, uint64_t *limit_bytes) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (!is_device(ordinal)) return false;
    if (gantry_get_memory_info(device_runtime(), device_at(ordinal)->name, &info)) return false;
    *limit_bytes = info.limit_bytes ? info.limit_bytes : info.driver_total_bytes;
    return true;
}

size_t gantry_tensorflow_oom_report(uint32_t ordinal, char *out, size_t out_bytes) {
    size_t needed = 0;
    if (!is_device(ordinal)) return 0;
    if (gantry_get_oom_report(device_runtime(), device_at(ordinal)->name, GANTRY_REPORT_TEXT, out,
                              out_bytes, &needed))
        return 0;
    return needed;
}

bool gantry_tensorflow_reset_memory(uint32_t ordinal) {
    return is_device(ordinal) &&
           !gantry_reset_memory_stats(device_runtime(), device_at(ordinal)->name);
}

const char *gantry_tensorflow_hardware(uint32_t ordinal) {
    return ordinal < device_count() ? device_at(ordinal)->hardware : "";
}

const char *gantry_tensorflow_card(uint32_t ordinal) {
    return ordinal < device_count() ? device_at(ordinal)->card : "";
}

const char *gantry_tensorflow_capability(uint32_t ordinal) {
    return ordinal < device_count() ? device_at(ordinal)->capability : "";
}
