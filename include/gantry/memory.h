/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices: growth and limits, the numbers, giving memory back, and reports.
 *
 * Every logical device of every backend has an allocator of its own (best fit with coalescing).
 * Growth and limits are settings of the physical device, frozen by initialisation: the setters
 * check at once; afterwards an equal value is fine, a different one is FailedPrecondition. A device
 * text is "GPU:0" or any spelling that names exactly one logical device; calls that take one
 * initialise the runtime. Thread-safe. */
#ifndef GANTRY_MEMORY_H
#define GANTRY_MEMORY_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

/* Growth (the default) takes memory from the driver as it is needed; without it the first
 * allocation takes the whole limit. */
GANTRY_API gantry_status_t gantry_set_memory_growth(gantry_runtime_t *runtime,
                                                    const gantry_physical_device_t *device,
                                                    bool enabled);
GANTRY_API gantry_status_t gantry_get_memory_growth(gantry_runtime_t *runtime,
                                                    const gantry_physical_device_t *device,
                                                    bool *out_enabled);

/* Bound of everything taken on the device: pool, workspaces of libraries, staging; what the driver
 * takes for its context comes beside it, where the card has the room. At most what the device has;
 * 0 takes the call's limit back, so that option, environment or the device decide. InvalidArgument
 * on a device that a call split: its parts have limits of their own. A split from option or
 * environment that needs more gives way, with a warning. */
GANTRY_API gantry_status_t gantry_set_memory_limit(gantry_runtime_t *runtime,
                                                   const gantry_physical_device_t *device,
                                                   uint64_t limit_bytes);

/* The same bound as a part of the device's total, over 0 up to 1, the driver's context included as
 * far as it can be measured; 0 takes the setting back. Of a limit and a fraction by calls the
 * smaller holds. InvalidArgument on a device that a call split; a split from option or
 * environment gives way, with a warning. */
GANTRY_API gantry_status_t gantry_set_memory_fraction(gantry_runtime_t *runtime,
                                                      const gantry_physical_device_t *device,
                                                      double fraction);

/* ---- numbers ---- */

typedef struct gantry_memory_info_t {
    uint32_t struct_size;
    uint64_t current_bytes; /* in use, rounded to chunks */
    uint64_t peak_bytes;
    uint64_t pool_bytes; /* held from the driver */
    uint64_t peak_pool_bytes;
    uint64_t limit_bytes;
    uint64_t largest_free_bytes; /* largest free chunk of the pool */
    uint64_t largest_allocation_bytes;
    uint64_t allocation_count; /* since start or reset */
    /* 0 when the driver cannot tell; where device memory is the machine's, the machine's */
    uint64_t driver_free_bytes;
    uint64_t driver_total_bytes;
    uint64_t requested_bytes; /* in use, as asked for */
    /* host memory of transfers, counted against the limit beside the pool */
    uint64_t staging_bytes;
    uint64_t region_count; /* pieces of the pool */
    /* How often a rung of the ladder served an allocation that found no free chunk, since start: */
    uint64_t extended_count; /* a region was taken from the driver */
    uint64_t waited_count;   /* another thread's memory came free */
    /* empty regions and idle staging were given back, then a region was taken */
    uint64_t collected_count;
    uint64_t out_of_memory_count; /* none did */
    /* What the driver took of the card for its context when the card was opened, shared by all its
     * logical devices; 0 where that cannot be measured. And of it, what is counted against this
     * limit: all with a fraction, a percentage or no limit; with a limit in bytes what has no
     * room beside it. */
    uint64_t context_bytes;
    uint64_t context_charged_bytes;
} gantry_memory_info_t;

/* out_info->struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_memory_info(gantry_runtime_t *runtime, const char *device,
                                                  gantry_memory_info_t *out_info);
/* Peaks become current, allocation count and largest allocation 0. */
GANTRY_API gantry_status_t gantry_reset_memory_stats(gantry_runtime_t *runtime, const char *device);

/* Waits for pending work, then gives wholly free regions back to the driver until the pool is at
 * most target_bytes, the largest first. *out_pool_bytes (may be NULL) is what is held
 * afterwards; more than the target when what is in use pins it. */
GANTRY_API gantry_status_t gantry_trim_memory(gantry_runtime_t *runtime, const char *device,
                                              uint64_t target_bytes, uint64_t *out_pool_bytes);

/* ---- host memory ---- */

/* Host memory that the device's transfers reach without a further copy (pinned, page-locked):
 * tensors are made from it and read into it at the full speed of the way to the card. Where a
 * backend has no such memory it is ordinary memory. Aligned to 16 bytes or more, usable with every
 * device. All of it counts against pinned_limit of the runtime's options (1 GiB unless set), not
 * against a device's limit. ResourceExhausted: beyond that, or there is none to be had. What is
 * not given back ends with the runtime. */
GANTRY_API gantry_status_t gantry_pinned_alloc(gantry_runtime_t *runtime, const char *device,
                                               size_t bytes, void **out_data);
/* NULL is fine. InvalidArgument for memory that this runtime did not give. No call that uses it
 * may be under way. */
GANTRY_API gantry_status_t gantry_pinned_free(gantry_runtime_t *runtime, void *data);

/* ---- reports ---- */

typedef enum gantry_report_format_t {
    GANTRY_REPORT_TEXT = 0,
    GANTRY_REPORT_JSON = 1
} gantry_report_format_t;

/* Who holds what now: numbers, bins, biggest owners by op and tag, regions, chunks, a map. Writes
 * up to out_bytes with a terminator; *out_needed (may be NULL) is the length without one. */
GANTRY_API gantry_status_t gantry_get_memory_report(gantry_runtime_t *runtime, const char *device,
                                                    gantry_report_format_t format, char *out,
                                                    size_t out_bytes, size_t *out_needed);
/* The same of the moment memory last ran out on that device, with what was asked and the rungs
 * that were tried. NotFound: it never did. */
GANTRY_API gantry_status_t gantry_get_oom_report(gantry_runtime_t *runtime, const char *device,
                                                 gantry_report_format_t format, char *out,
                                                 size_t out_bytes, size_t *out_needed);

#ifdef __cplusplus
}
#endif
#endif
