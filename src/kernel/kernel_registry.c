/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of one device: collects kernels from backend, packs and core, leaves out
 * malformed ones, and sorts them by op and priority. A look-up is a binary search for the op's
 * name. At the end, the check of type constraints. */
#include "kernel/kernel_registry.h"

#include <stdlib.h>
#include <string.h>

#include "backend/builtin.h"
#include "kernel/core_kernels.h"

typedef struct source_t {
    gantry__kernel_registry_t *registry;
    const gantry__log_t *log;
    const char *name;
    uint64_t dtype_mask;
} source_t;

static bool is_well_formed(const gantry_kernel_def_t *def) {
    return def && GANTRY_ABI_HAS(def, compute) && def->compute && def->op &&
           (def->type_count == 0 || def->types) && (def->host_arg_count == 0 || def->host_args);
}

static gantry_status_t add_all(const source_t *source, const gantry_kernel_def_t *const *kernels,
                               uint32_t count) {
    gantry__kernel_registry_t *registry = source->registry;
    if (!kernels && count > 0)
        gantry__log(source->log, GANTRY_LEVEL_WARNING, "The list of %u kernels of %s is NULL",
                    count, source->name);
    for (uint32_t i = 0; kernels && i < count; ++i) {
        if (!is_well_formed(kernels[i])) {
            gantry__log(source->log, GANTRY_LEVEL_WARNING,
                        "Kernel %u of %s is malformed and left out", i, source->name);
            continue;
        }
        if (!gantry__heap_grow(registry->heap, &registry->entries, registry->count,
                               &registry->capacity, sizeof *registry->entries)) {
            return GANTRY_RESOURCE_EXHAUSTED;
        }
        registry->entries[registry->count++] =
            (gantry__kernel_entry_t){kernels[i], source->name, source->dtype_mask};
    }
    return GANTRY_OK;
}

static gantry_status_t add_backend(source_t source, const gantry__backend_t *backend,
                                   uint32_t device_index) {
    const gantry_backend_t *table = backend->table;
    if (!GANTRY_ABI_HAS(table, kernels) || !table->kernels) return GANTRY_OK;
    const gantry_kernel_def_t *const *kernels = NULL;
    source.name = table->name;
    uint32_t count = table->kernels(backend->instance, device_index, &kernels);
    return add_all(&source, kernels, count);
}

static gantry_status_t add_packs(source_t source, const gantry_backend_t *table,
                                 const gantry_device_info_t *info) {
    if (!GANTRY_ABI_HAS(table, program) || !table->program) return GANTRY_OK;
    for (size_t i = 0; i < gantry__builtin_pack_count; ++i) {
        const gantry_kernel_pack_t *pack = NULL;
        if (gantry__builtin_packs[i](GANTRY_ABI_VERSION, &pack) != 0 ||
            !(pack->program_kinds & info->program_kinds))
            continue;
        source.name = pack->name;
        GANTRY__TRY(add_all(&source, pack->kernels, pack->kernel_count));
    }
    return GANTRY_OK;
}

/* Stable order: position breaks ties, because qsort is not stable. */
static int compare_entries(const void *left, const void *right) {
    const gantry__kernel_entry_t *a = left, *b = right;
    int by_op = strcmp(a->def->op, b->def->op);
    if (by_op != 0) return by_op;
    if (a->def->priority != b->def->priority) return a->def->priority > b->def->priority ? -1 : 1;
    int by_source = strcmp(a->source, b->source);
    if (by_source != 0) return by_source;
    return a->def < b->def ? -1 : a->def > b->def;
}

gantry_status_t gantry__kernel_registry_init(gantry__kernel_registry_t *registry,
                                             const gantry__heap_t *heap, const gantry__log_t *log,
                                             const gantry__backend_t *backend,
                                             uint32_t device_index,
                                             const gantry_device_info_t *info) {
    *registry = (gantry__kernel_registry_t){.heap = heap};
    source_t source = {registry, log, "core", UINT64_MAX};
    const gantry_kernel_def_t *const *core;
    uint32_t core_count = gantry__core_kernels(&core);
    gantry_status_t status = add_all(&source, core, core_count);
    source.dtype_mask = info->dtype_mask;
    if (status == GANTRY_OK) status = add_backend(source, backend, device_index);
    if (status == GANTRY_OK) status = add_packs(source, backend->table, info);
    if (status != GANTRY_OK) {
        gantry__kernel_registry_deinit(registry);
        return status;
    }
    if (registry->count > 1)
        qsort(registry->entries, registry->count, sizeof *registry->entries, compare_entries);
    return GANTRY_OK;
}

void gantry__kernel_registry_deinit(gantry__kernel_registry_t *registry) {
    gantry__heap_free(registry->heap, registry->entries,
                      registry->capacity * sizeof *registry->entries);
    *registry = (gantry__kernel_registry_t){.heap = registry->heap};
}

const gantry__kernel_entry_t *gantry__kernel_registry_find(
    const gantry__kernel_registry_t *registry, const char *op, size_t *out_count) {
    size_t low = 0, high = registry->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(registry->entries[middle].def->op, op) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < registry->count && strcmp(registry->entries[end].def->op, op) == 0) ++end;
    *out_count = end - low;
    return registry->entries + low;
}

static gantry_dtype_t first_type(uint64_t mask) {
    unsigned dtype = 0;
    while (!(mask >> dtype & 1)) ++dtype;
    return (gantry_dtype_t)dtype;
}

/* Finds a type attribute; NULL: the op has no such attribute. */
static const gantry_attr_t *kernel_registry_find_type(const gantry_attr_t *attrs, size_t attr_count,
                                                      const char *name) {
    for (size_t i = 0; i < attr_count; ++i) {
        if (attrs[i].kind == GANTRY_ATTR_TYPE && strcmp(attrs[i].name, name) == 0) return &attrs[i];
    }
    return NULL;
}

bool gantry__kernel_takes_types(const gantry__kernel_entry_t *entry, const gantry_attr_t *attrs,
                                size_t attr_count, gantry_dtype_t *out_lacking) {
    gantry_dtype_t unused;
    if (!out_lacking) out_lacking = &unused;
    *out_lacking = GANTRY_DTYPE_NONE;
    uint64_t lacking = 0;
    for (uint32_t i = 0; i < entry->def->type_count; ++i) {
        const gantry_type_constraint_t *constraint = &entry->def->types[i];
        /* a kernel that takes every type moves elements as bits: the device need not compute with
         * them */
        bool moves_bits = (~constraint->dtype_mask & GANTRY_DTYPES_ANY) == 0;
        uint64_t used = constraint->dtype_mask;
        if (constraint->attr) {
            const gantry_attr_t *attr =
                kernel_registry_find_type(attrs, attr_count, constraint->attr);
            if (!attr) continue;
            if (!(used >> attr->i & 1)) return false;
            used = UINT64_C(1) << attr->i;
        }
        if (!moves_bits) lacking |= used & ~entry->dtype_mask;
    }
    if (lacking) *out_lacking = first_type(lacking);
    return lacking == 0;
}

bool gantry__kernel_has_host_arg(const gantry_kernel_def_t *def, const char *name) {
    for (uint32_t i = 0; i < def->host_arg_count; ++i) {
        if (strcmp(def->host_args[i], name) == 0) return true;
    }
    return false;
}
