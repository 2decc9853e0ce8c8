/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Memory of devices: growth and limits, figures, trimming, and reports.
 *
 * Every logical device of every backend has its own allocator (best fit with coalescing).
 * Growth and limits are settings of the physical device, frozen by initialisation. A setter
 * checks its arguments at once; after initialisation it accepts an equal value and refuses a
 * different one with FailedPrecondition. A device text is "GPU:0" or any spelling that names
 * exactly one logical device; calls that take one initialise the runtime. Thread-safe. */
#ifndef GANTRY_MEMORY_H
#define GANTRY_MEMORY_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ---- */

/** Chooses how the device's pool grows. With growth (the default) it takes memory from the
 * driver as needed; without, the first allocation takes the whole limit. */
GANTRY_API gantry_status_t gantry_set_memory_growth(gantry_runtime_t *runtime,
                                                    const gantry_physical_device_t *device,
                                                    bool enabled);
/** Says whether the device's pool grows as needed. */
GANTRY_API gantry_status_t gantry_get_memory_growth(gantry_runtime_t *runtime,
                                                    const gantry_physical_device_t *device,
                                                    bool *out_enabled);

/** Limits the device memory that Gantry uses, in bytes: pool, library workspaces and staging. The
 * driver's context is not counted as long as the card has room for it. The limit must not exceed
 * the device's memory. 0 removes this limit; the option, the environment variable or the device
 * then decides.
 *
 * InvalidArgument on a device that a call split, because its parts have their own limits. A
 * split from an option or the environment that needs more is dropped, with a warning. */
GANTRY_API gantry_status_t gantry_set_memory_limit(gantry_runtime_t *runtime,
                                                   const gantry_physical_device_t *device,
                                                   uint64_t limit_bytes);

/** Limits the device memory that Gantry uses to a fraction of the device's total, above 0 up to 1.
 * The driver's context is counted as far as it can be measured. 0 removes this limit. If calls set
 * both a limit and a fraction, the smaller one holds.
 *
 * InvalidArgument on a device that a call split. A split from an option or the environment that
 * needs more is dropped, with a warning. */
GANTRY_API gantry_status_t gantry_set_memory_fraction(gantry_runtime_t *runtime,
                                                      const gantry_physical_device_t *device,
                                                      double fraction);

/* ---- numbers ---- */

/** Figures of one logical device's memory. The counts of an allocation's last steps are since
 * start; docs/memory.md explains those steps. */
typedef struct gantry_memory_info_t {
    uint32_t struct_size;              /**< Its sizeof. */
    uint64_t current_bytes;            /**< In use, rounded up to chunks. */
    uint64_t peak_bytes;               /**< The most that was in use since start or reset. */
    uint64_t pool_bytes;               /**< Held from the driver. */
    uint64_t peak_pool_bytes;          /**< The most that was held since start or reset. */
    uint64_t limit_bytes;              /**< The limit of the device. */
    uint64_t largest_free_bytes;       /**< The largest free chunk of the pool. */
    uint64_t largest_allocation_bytes; /**< The largest allocation since start or reset. */
    uint64_t allocation_count;         /**< Allocations since start or reset. */
    /** Free memory of the card, or of the machine if the device uses the host's; 0 if unknown. */
    uint64_t driver_free_bytes;
    uint64_t driver_total_bytes; /**< All memory, likewise. */
    uint64_t requested_bytes;    /**< In use, as requested. */
    /** Host memory of transfers, counted against the limit in addition to the pool. */
    uint64_t staging_bytes;
    uint64_t region_count; /**< Regions of the pool. */
    /** Allocations for which a region was taken from the driver. */
    uint64_t extended_count;
    /** Allocations that waited until another thread freed memory. */
    uint64_t waited_count;
    /** Allocations for which empty regions and idle staging were given back, then a region
     * taken, or idle blocks of functions were freed. */
    uint64_t collected_count;
    uint64_t out_of_memory_count; /**< Allocations that failed. */
    /** Taken by the driver for its context when the card was opened, shared by all logical
     * devices of the card; 0 if it cannot be measured. */
    uint64_t context_bytes;
    /** The part of context_bytes that counts against this limit: all of it with a fraction, a
     * percentage or no limit; with a limit in bytes, the part that the card has no room for
     * besides the limit. */
    uint64_t context_charged_bytes;
    /** Memory of the program that tensors of the device use (interop.h); it counts neither in
     * current_bytes nor against the limit. */
    uint64_t foreign_bytes;
} gantry_memory_info_t;

/** Reads the figures of a logical device. out_info->struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_memory_info(gantry_runtime_t *runtime, const char *device,
                                                  gantry_memory_info_t *out_info);
/** Sets the peaks to the current values, and allocation count and largest allocation to 0. */
GANTRY_API gantry_status_t gantry_reset_memory_stats(gantry_runtime_t *runtime, const char *device);

/** Waits for pending work, then gives free regions back to the driver, the largest first, until
 * the pool has at most target_bytes. *out_pool_bytes (may be NULL) is the size of the pool
 * afterwards. It exceeds the target if memory in use prevents more. */
GANTRY_API gantry_status_t gantry_trim_memory(gantry_runtime_t *runtime, const char *device,
                                              uint64_t target_bytes, uint64_t *out_pool_bytes);

/* ---- host memory ---- */

/** Allocates pinned (page-locked) host memory, which the device's transfers access without another
 * copy. Tensors are made from it and read into it at the full speed of the bus. A backend without
 * such memory gives ordinary memory. It is aligned to 16 bytes or more, and usable with every
 * device.
 *
 * It counts against pinned_limit_bytes of the runtime's options (1 GiB by default), not against
 * the device's limit. ResourceExhausted: the limit is reached, or the system has none left. The
 * caller frees it with gantry_pinned_free; the runtime frees the rest when it ends. */
GANTRY_API gantry_status_t gantry_pinned_alloc(gantry_runtime_t *runtime, const char *device,
                                               size_t bytes, void **out_data);
/** Frees pinned memory; NULL does no harm. No call that uses the memory may be in progress.
 * InvalidArgument for memory that this runtime did not allocate. */
GANTRY_API gantry_status_t gantry_pinned_free(gantry_runtime_t *runtime, void *data);

/* ---- reports ---- */

/** Formats of reports. */
typedef enum gantry_report_format_t {
    GANTRY_REPORT_TEXT = 0, /**< Text for people. */
    GANTRY_REPORT_JSON = 1  /**< JSON for programs. */
} gantry_report_format_t;

/** Reports who holds the device's memory now: figures, bins, biggest owners by op and tag,
 * regions, chunks, a map. Writes up to out_bytes including the terminator; *out_needed (may be
 * NULL) is the length without it. */
GANTRY_API gantry_status_t gantry_get_memory_report(gantry_runtime_t *runtime, const char *device,
                                                    gantry_report_format_t format, char *out,
                                                    size_t out_bytes, size_t *out_needed);
/** Reports the same of the moment when memory last ran out on the device, with the request and
 * the steps that were tried. NotFound: memory never ran out. */
GANTRY_API gantry_status_t gantry_get_oom_report(gantry_runtime_t *runtime, const char *device,
                                                 gantry_report_format_t format, char *out,
                                                 size_t out_bytes, size_t *out_needed);

#ifdef __cplusplus
}
#endif
#endif
