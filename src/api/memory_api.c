/* SPDX-License-Identifier: Apache-2.0 */
/* Public memory settings and figures: memory.h over the device table and its allocators. */
#include <gantry/gantry.h>

#include <string.h>

#include "base/fp_mode.h"
#include "device/device_config.h"
#include "device/buffer.h"
#include "device/device_open.h"
#include "device/driver_memory.h"
#include "device/physical_device.h"
#include "device/pinned.h"
#include "api/api.h"
#include "memory/allocator.h"

/* ---- settings ---- */

gantry_status_t gantry_set_memory_growth(gantry_runtime_t *runtime,
                                         const gantry_physical_device_t *device, bool enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_growth(&runtime->devices, device, enabled);
}

gantry_status_t gantry_get_memory_growth(gantry_runtime_t *runtime,
                                         const gantry_physical_device_t *device,
                                         bool *out_enabled) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_enabled) return gantry__refuse("gantry_get_memory_growth: out_enabled is NULL");
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    *out_enabled = gantry__device_get_growth(&runtime->devices, device);
    return GANTRY_OK;
}

gantry_status_t gantry_set_memory_limit(gantry_runtime_t *runtime,
                                        const gantry_physical_device_t *device,
                                        uint64_t limit_bytes) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_limit(&runtime->devices, device, limit_bytes);
}

gantry_status_t gantry_set_memory_fraction(gantry_runtime_t *runtime,
                                           const gantry_physical_device_t *device,
                                           double fraction) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_fraction(&runtime->devices, device, fraction);
}

gantry_status_t gantry_set_wait_policy(gantry_runtime_t *runtime,
                                       const gantry_physical_device_t *device,
                                       gantry_wait_policy_t policy) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    return gantry__device_set_wait(&runtime->devices, device, policy);
}

/* ---- numbers ---- */

gantry_status_t gantry_get_memory_info(gantry_runtime_t *runtime, const char *device_name,
                                       gantry_memory_info_t *out_info) {
    GANTRY__OWN_FP_MODE(fp);
    if (!out_info) return gantry__refuse("gantry_get_memory_info: out_info is NULL");
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_get_memory_info", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__bfc_stats_t stats;
    gantry__ladder_counts_t counts;
    gantry__allocator_stats(&device->allocator, &stats);
    gantry__allocator_counts(&device->allocator, &counts);
    gantry_memory_info_t all = {.current_bytes = stats.bytes_in_use,
                                .peak_bytes = stats.peak_bytes_in_use,
                                .pool_bytes = stats.pool_bytes,
                                .peak_pool_bytes = stats.peak_pool_bytes,
                                .limit_bytes = stats.bytes_limit,
                                .largest_free_bytes = stats.largest_free_block_bytes,
                                .largest_allocation_bytes = stats.largest_alloc_bytes,
                                .allocation_count = stats.num_allocs,
                                .requested_bytes = stats.requested_bytes_in_use,
                                .staging_bytes = stats.charged_bytes,
                                .region_count = stats.region_count,
                                .extended_count = counts.extended,
                                .waited_count = counts.waited,
                                .collected_count = counts.collected,
                                .out_of_memory_count = counts.out_of_memory,
                                .context_bytes = device->card->context_bytes,
                                .context_charged_bytes = stats.reserved_bytes,
                                .foreign_bytes = atomic_load(&device->allocator.foreign_bytes)};
    (void)gantry__driver_memory(device, &all.driver_free_bytes, &all.driver_total_bytes);
    return gantry__struct_fill(out_info, &all, sizeof all, "gantry_get_memory_info: out_info");
}

gantry_status_t gantry_reset_memory_stats(gantry_runtime_t *runtime, const char *device_name) {
    GANTRY__OWN_FP_MODE(fp);
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_reset_memory_stats", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__allocator_clear_stats(&device->allocator);
    return GANTRY_OK;
}

gantry_status_t gantry_trim_memory(gantry_runtime_t *runtime, const char *device_name,
                                   uint64_t target_bytes, uint64_t *out_pool_bytes) {
    GANTRY__OWN_FP_MODE(fp);
    if (out_pool_bytes) *out_pool_bytes = 0;
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_trim_memory", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry__buffers_collect(device);
    gantry__allocator_trim(&device->allocator, target_bytes, out_pool_bytes);
    return GANTRY_OK;
}

/* ---- host memory ---- */

gantry_status_t gantry_pinned_alloc(gantry_runtime_t *runtime, const char *device_name,
                                    size_t bytes, void **out_data) {
    GANTRY__OWN_FP_MODE(fp);
    if (!out_data) return gantry__refuse("gantry_pinned_alloc: out_data is NULL");
    *out_data = NULL;
    gantry_logical_device_t *device = NULL;
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_pinned_alloc", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    return gantry__pinned_alloc(device, bytes, "gantry_pinned_alloc", out_data);
}

gantry_status_t gantry_pinned_free(gantry_runtime_t *runtime, void *data) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    return data ? gantry__pinned_free(&runtime->devices, data, "gantry_pinned_free") : GANTRY_OK;
}

/* ---- reports ---- */

typedef struct report_out_t {
    gantry_report_format_t format;
    char *text;
    size_t bytes;
    size_t *needed;
} report_out_t;

static gantry_status_t check_report_call(const report_out_t *out, const char *call) {
    if (out->text && out->bytes > 0) out->text[0] = '\0';
    if (out->needed) *out->needed = 0;
    if (out->format != GANTRY_REPORT_TEXT && out->format != GANTRY_REPORT_JSON) {
        return gantry__refuse(
            "%s: format is %d; GANTRY_REPORT_TEXT and GANTRY_REPORT_JSON are accepted", call,
            (int)out->format);
    }
    if (!out->text && out->bytes > 0)
        return gantry__refuse("%s: out is NULL, but out_bytes is %zu", call, out->bytes);
    return GANTRY_OK;
}

/* Writes and frees the snapshot. */
static gantry_status_t write_report(const gantry__heap_t *heap, gantry__memory_report_t *report,
                                    report_out_t *out) {
    gantry__text_t text;
    gantry__text_init(&text, heap);
    if (out->format == GANTRY_REPORT_JSON) {
        gantry__memory_report_write_json(report, &text);
    } else {
        gantry__memory_report_write_text(report, &text);
    }
    gantry__heap_free(heap, report, sizeof *report);
    gantry_status_t status = gantry__text_status(&text);
    if (status == GANTRY_OK && out->bytes > 0) {
        size_t copied = text.length < out->bytes - 1 ? text.length : out->bytes - 1;
        memcpy(out->text, gantry__text_get(&text), copied);
        out->text[copied] = '\0';
    }
    if (status == GANTRY_OK && out->needed) *out->needed = text.length;
    gantry__text_deinit(&text);
    return status;
}

gantry_status_t gantry_get_memory_report(gantry_runtime_t *runtime, const char *device_name,
                                         gantry_report_format_t format, char *out, size_t out_bytes,
                                         size_t *out_needed) {
    GANTRY__OWN_FP_MODE(fp);
    report_out_t target = {format, out, out_bytes, out_needed};
    gantry_logical_device_t *device = NULL;
    gantry__memory_report_t *report;
    GANTRY__TRY(check_report_call(&target, "gantry_get_memory_report"));
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_get_memory_report", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    GANTRY__TRY(gantry__allocator_report(&device->allocator, &report));
    return write_report(&runtime->heap, report, &target);
}

gantry_status_t gantry_get_oom_report(gantry_runtime_t *runtime, const char *device_name,
                                      gantry_report_format_t format, char *out, size_t out_bytes,
                                      size_t *out_needed) {
    GANTRY__OWN_FP_MODE(fp);
    report_out_t target = {format, out, out_bytes, out_needed};
    gantry_logical_device_t *device = NULL;
    gantry__memory_report_t *report;
    GANTRY__TRY(check_report_call(&target, "gantry_get_oom_report"));
    GANTRY__TRY(gantry__find_device(runtime, device_name, "gantry_get_oom_report", &device));
    GANTRY__TRY(gantry__logical_device_open(device));
    gantry_status_t status = gantry__allocator_oom_report(&device->allocator, &report);
    if (status != GANTRY_OK)
        return gantry__fail_prefix(status, "gantry_get_oom_report of %s: ", device->name);
    return write_report(&runtime->heap, report, &target);
}
