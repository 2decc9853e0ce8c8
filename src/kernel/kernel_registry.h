/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a physical device: its backend's own, those of every pack whose program kind fits,
 * and the core's.
 *
 * The placer and the dispatcher use the same lists, so "supported" and "runs" cannot disagree.
 * Keyed by op name; each op's kernels are in order of priority. Owner: the runtime. Init-only;
 * reading is thread-safe. */
#ifndef GANTRY_KERNEL_KERNEL_REGISTRY_H
#define GANTRY_KERNEL_KERNEL_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include <gantry/backend_abi.h>
#include <gantry/types.h>

#include "backend/backend_set.h"
#include "base/heap.h"

typedef struct gantry__kernel_entry_t {
    const gantry_kernel_def_t *def;
    const char *source; /* backend or pack: "cpu", "portable/elementwise", "core" */
    /* the types it may compute with: the device's; all for the core's kernels, which run on the
     * host */
    uint64_t dtype_mask;
} gantry__kernel_entry_t;

typedef struct gantry__kernel_registry_t {
    const gantry__heap_t *heap;
    /* sorted by op, then priority (highest first), then source order */
    gantry__kernel_entry_t *entries;
    size_t count, capacity;
} gantry__kernel_registry_t;

/* info describes the device. Entries with a malformed table are left out with a warning. */
gantry_status_t gantry__kernel_registry_init(gantry__kernel_registry_t *registry,
                                             const gantry__heap_t *heap, const gantry__log_t *log,
                                             const gantry__backend_t *backend,
                                             uint32_t device_index,
                                             const gantry_device_info_t *info);
void gantry__kernel_registry_deinit(gantry__kernel_registry_t *registry);

/* The kernels of op; *out_count may be 0. */
const gantry__kernel_entry_t *gantry__kernel_registry_find(
    const gantry__kernel_registry_t *registry, const char *op, size_t *out_count);

/* Whether the kernel's type constraints, and its device, allow these type attributes (attrs of kind
 * TYPE; others are ignored). If only the device does not, *out_lacking (may be NULL) is the type
 * that it does not compute with, else GANTRY_DTYPE_NONE. */
bool gantry__kernel_takes_types(const gantry__kernel_entry_t *entry, const gantry_attr_t *attrs,
                                size_t attr_count, gantry_dtype_t *out_lacking);

/* Whether the kernel takes this input or output in host memory. */
bool gantry__kernel_has_host_arg(const gantry_kernel_def_t *def, const char *name);

#endif
