/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes of ranges of addresses, which cells.h and parts.h keep: memory.h has the
 * contract. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"

/* Up to so many bytes from the host wait for their type, because a constant of few elements takes a
 * cheaper way than an upload. */
#define MEMORY_FEW_BYTES 1024

gantry_status_t memory_create(gantry_runtime_t *runtime, memory_t **out) {
    return cells_create(runtime, out);
}

/* ---- allocations ---- */

static void empty_cell(memory_t *memory, cell_t *cell) {
    pthread_mutex_t *lock = cells_lock(memory, cell);
    pthread_mutex_lock(lock);
    parts_t former = cell->parts;
    cell->parts = (parts_t){.version = former.version + 1};
    pthread_mutex_unlock(lock);
    parts_clear(&former);
}

void memory_destroy(memory_t *memory) {
    if (!memory) return;
    cells_visit(memory, empty_cell);
    cells_destroy(memory);
}

void *memory_allocate(memory_t *memory, uint32_t device, uint64_t bytes) {
    if (!bytes) return NULL;
    cell_t *cell = cells_take(memory, device, bytes);
    return cell ? cell->address : NULL;
}

void memory_free(memory_t *memory, void *address) {
    uint64_t offset = 0;
    cell_t *cell = cells_find(memory, address, &offset);
    if (!cell || offset) return;
    empty_cell(memory, cell);
    cells_give(memory, cell);
}

bool memory_device(memory_t *memory, const void *address, uint32_t *out_device) {
    uint64_t offset = 0;
    const cell_t *cell = cells_find(memory, address, &offset);
    if (cell) *out_device = cell->device;
    return cell;
}

void *memory_nowhere(const memory_t *memory) { return cells_nowhere(memory); }

/* ---- ranges ---- */

/* The bytes begin to end of a cell. */
typedef struct range_t {
    cell_t *cell;
    uint64_t begin, end;
} range_t;

static gantry_status_t out_of_host_memory(void) {
    return gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
}

static gantry_status_t find_range(memory_t *memory, const void *address, uint64_t bytes,
                                  range_t *out) {
    out->cell = cells_find(memory, address, &out->begin);
    out->end = out->begin + bytes;
    if (out->cell && out->begin <= out->cell->bytes && bytes <= out->cell->bytes - out->begin) {
        return GANTRY_OK;
    }
    char text[160];
    snprintf(text, sizeof text, "%llu bytes at %p are no device memory of Gantry",
             (unsigned long long)bytes, address);
    return gantry_fail(GANTRY_INTERNAL, text);
}

static gantry_status_t hold_range(memory_t *memory, const range_t *range, parts_t *out) {
    pthread_mutex_t *lock = cells_lock(memory, range->cell);
    pthread_mutex_lock(lock);
    const bool is_held = parts_hold(&range->cell->parts, range->begin, range->end, out);
    pthread_mutex_unlock(lock);
    return is_held ? GANTRY_OK : out_of_host_memory();
}

/* Writes one part; the cell takes its reference over. */
static gantry_status_t write_range(memory_t *memory, const range_t *range, part_t part) {
    pthread_mutex_t *lock = cells_lock(memory, range->cell);
    part_t former;
    part.begin = range->begin;
    part.end = range->end;
    pthread_mutex_lock(lock);
    const bool is_written = parts_write(&range->cell->parts, part, &former);
    pthread_mutex_unlock(lock);
    part_release(is_written ? &former : &part);
    return is_written ? GANTRY_OK : out_of_host_memory();
}

/* Replaces what was read at this version by a tensor, unless someone has written since. A slice
 * must cut no part in two, because whoever reads the whole would have to join it again. */
static void improve_range(memory_t *memory, const range_t *range, uint32_t version,
                          const gantry_tensor_t *tensor) {
    pthread_mutex_t *lock = cells_lock(memory, range->cell);
    part_t former = {.tensor = NULL};
    part_t part = {.begin = range->begin, .end = range->end};
    pthread_mutex_lock(lock);
    const parts_t *parts = &range->cell->parts;
    if (parts->version == version && parts_are_whole(parts, range->begin, range->end)) {
        part.tensor = gantry_tensor_retain(tensor);
        if (!parts_write(&range->cell->parts, part, &former)) former = part;
    }
    pthread_mutex_unlock(lock);
    part_release(&former);
}

/* ---- to the host ---- */

/* Reads a view in a scope of its own; errors are texts of this thread. */
static gantry_status_t read_view(memory_t *memory, const part_t *part, char *to) {
    const uint64_t bytes = part->end - part->begin;
    if (!part->skip && bytes == gantry_tensor_bytes(part->tensor)) {
        return gantry_tensor_read(part->tensor, to, bytes);
    }
    gantry_scope_t *scope = gantry_scope_begin(cells_runtime(memory), NULL);
    if (!scope) return GANTRY_FAILED_PRECONDITION;
    const gantry_tensor_t *view = gantry_tensor_view(scope, part->tensor, part->skip, GANTRY_UINT8,
                                                     GANTRY_SHAPE((int64_t)bytes));
    gantry_status_t status =
        view ? gantry_tensor_read(view, to, bytes) : gantry_scope_status(scope);
    (void)gantry_scope_end(scope);
    return status;
}

static gantry_status_t read_parts(memory_t *memory, const parts_t *parts, const range_t *range,
                                  char *to) {
    uint64_t at = range->begin;
    for (uint32_t i = 0; i < parts->count; ++i) {
        const part_t *part = parts_at(parts, i);
        char *place = to + (part->begin - range->begin);
        memset(to + (at - range->begin), 0, part->begin - at);
        at = part->end;
        if (part->block) {
            memcpy(place, (const char *)part->block->data + part->skip, part->end - part->begin);
        } else {
            const gantry_status_t status = read_view(memory, part, place);
            if (status) return status;
        }
    }
    memset(to + (at - range->begin), 0, range->end - at);
    return GANTRY_OK;
}

gantry_status_t memory_read(memory_t *memory, void *to, const void *from, uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    range_t range;
    parts_t parts;
    gantry_status_t status = find_range(memory, from, bytes, &range);
    if (!status) status = hold_range(memory, &range, &parts);
    if (status) return status;
    status = read_parts(memory, &parts, &range, to);
    parts_clear(&parts);
    return status;
}

/* ---- from the host ---- */

static gantry_status_t memory_write_block(memory_t *memory, const range_t *range,
                                          host_block_t *block) {
    return write_range(memory, range, (part_t){.block = block});
}

/* Uploads bytes without a type to their device. NULL: there is no room; they wait on the host until
 * a kernel wants them, which fails with the report. */
static gantry_tensor_t *upload_bytes(memory_t *memory, const gantry_logical_device_t *device,
                                     const void *from, uint64_t bytes) {
    gantry_scope_t *scope = gantry_scope_begin_on(cells_runtime(memory), device);
    if (!scope) return NULL;
    const gantry_tensor_t *tensor =
        gantry_constant(scope, GANTRY_UINT8, GANTRY_SHAPE((int64_t)bytes), from, bytes);
    gantry_tensor_t *kept = tensor ? gantry_scope_keep(scope, tensor) : NULL;
    (void)gantry_scope_end(scope);
    return kept;
}

gantry_status_t memory_write(memory_t *memory, const gantry_logical_device_t *device, void *to,
                             const void *from, uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    range_t range;
    gantry_status_t status = find_range(memory, to, bytes, &range);
    if (status) return status;
    gantry_tensor_t *tensor =
        bytes > MEMORY_FEW_BYTES ? upload_bytes(memory, device, from, bytes) : NULL;
    if (tensor) return write_range(memory, &range, (part_t){.tensor = tensor});
    host_block_t *block = host_block_create(bytes);
    if (!block) return out_of_host_memory();
    memcpy(block->data, from, bytes);
    return memory_write_block(memory, &range, block);
}

gantry_status_t memory_fill(memory_t *memory, void *to, uint32_t pattern, uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    range_t range;
    gantry_status_t status = find_range(memory, to, bytes, &range);
    if (status) return status;
    host_block_t *block = host_block_create(bytes);
    if (!block) return out_of_host_memory();
    char *data = (char *)block->data;
    for (uint64_t i = 0; i < bytes; i += sizeof pattern) {
        memcpy(data + i, &pattern, bytes - i < sizeof pattern ? bytes - i : sizeof pattern);
    }
    return memory_write_block(memory, &range, block);
}

/* ---- tensors ---- */

gantry_status_t memory_bind(memory_t *memory, void *to, const gantry_tensor_t *tensor) {
    const uint64_t bytes = gantry_tensor_bytes(tensor);
    if (!bytes) return GANTRY_OK;
    range_t range;
    const gantry_status_t status = find_range(memory, to, bytes, &range);
    if (status) return status;
    return write_range(memory, &range, (part_t){.tensor = gantry_tensor_retain(tensor)});
}

/* The whole tensor of a part, or a view, under a type and shape. Bytes become bool only as numbers
 * do, because a view cannot promise that each is 0 or 1. */
static const gantry_tensor_t *view_part(gantry_scope_t *scope, const part_t *part,
                                        gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const gantry_tensor_t *tensor = part->tensor;
    const gantry_dtype_t from = gantry_tensor_dtype(tensor);
    const uint64_t bytes = (uint64_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype);
    if (!part->skip && from == dtype && bytes == gantry_tensor_bytes(tensor) &&
        gantry_shape_equal(gantry_tensor_shape(tensor), shape)) {
        return tensor;
    }
    if (dtype != GANTRY_BOOL || from == GANTRY_BOOL) {
        return gantry_tensor_view(scope, tensor, part->skip, dtype, *shape);
    }
    const gantry_tensor_t *view =
        gantry_tensor_view(scope, tensor, part->skip, GANTRY_UINT8, *shape);
    return view ? gantry_cast(scope, view, GANTRY_BOOL) : NULL;
}

/* One part as a tensor. */
static const gantry_tensor_t *type_part(gantry_scope_t *scope, const part_t *part,
                                        gantry_dtype_t dtype, const gantry_shape_t *shape) {
    if (part->tensor) return view_part(scope, part, dtype, shape);
    return gantry_constant(scope, dtype, *shape, (const char *)part->block->data + part->skip,
                           part->end - part->begin);
}

/* Whether the parts cover the range without holes, each by whole elements, and are few enough for
 * one op. */
static bool memory_can_join(const parts_t *parts, const range_t *range, uint64_t element) {
    uint64_t at = range->begin;
    if (parts->count >= GANTRY_MAX_OP_INPUTS) return false;
    for (uint32_t i = 0; i < parts->count; ++i) {
        const part_t *part = parts_at(parts, i);
        if (part->begin != at || part->skip % element || (part->end - at) % element) return false;
        at = part->end;
    }
    return at == range->end;
}

/* Joins chunks that a collective wrote, by one op of the device. */
static const gantry_tensor_t *join_on_device(gantry_scope_t *scope, const parts_t *parts,
                                             gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const gantry_tensor_t *list[GANTRY_MAX_OP_INPUTS];
    for (uint32_t i = 0; i < parts->count; ++i) {
        const part_t *part = parts_at(parts, i);
        const uint64_t elements = (part->end - part->begin) / gantry_dtype_size(dtype);
        list[i] = type_part(scope, part, dtype, &GANTRY_SHAPE((int64_t)elements));
    }
    const gantry_tensor_t *flat = gantry_concat(scope, list, parts->count, 0);
    return flat ? gantry_reshape(scope, flat, *shape) : NULL;
}

/* Joins any other mixture, through the host. */
static const gantry_tensor_t *join_on_host(memory_t *memory, gantry_scope_t *scope,
                                           const parts_t *parts, const range_t *range,
                                           gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const uint64_t bytes = range->end - range->begin;
    char *data = malloc(bytes);
    const gantry_tensor_t *tensor = NULL;
    gantry_status_t status = data ? read_parts(memory, parts, range, data) : out_of_host_memory();
    if (!status) {
        tensor = gantry_constant(scope, dtype, *shape, data, bytes);
    } else {
        (void)gantry_scope_fail(scope, status, gantry_last_message());
    }
    free(data);
    return tensor;
}

static const gantry_tensor_t *memory_join_parts(memory_t *memory, gantry_scope_t *scope,
                                                const parts_t *parts, const range_t *range,
                                                gantry_dtype_t dtype, const gantry_shape_t *shape) {
    return memory_can_join(parts, range, gantry_dtype_size(dtype))
               ? join_on_device(scope, parts, dtype, shape)
               : join_on_host(memory, scope, parts, range, dtype, shape);
}

static gantry_tensor_t *tensor_of_parts(memory_t *memory, gantry_scope_t *scope,
                                        const parts_t *parts, const range_t *range,
                                        gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const part_t *part = parts_at(parts, 0);
    const bool is_one = parts->count == 1 && part->begin == range->begin && part->end == range->end;
    const gantry_tensor_t *tensor =
        is_one ? type_part(scope, part, dtype, shape)
               : memory_join_parts(memory, scope, parts, range, dtype, shape);
    if (!tensor) return NULL;
    const bool had_type = is_one && part->tensor && gantry_tensor_dtype(part->tensor) == dtype;
    if (!had_type) improve_range(memory, range, parts->version, tensor);
    gantry_tensor_t *held = gantry_tensor_retain(tensor);
    if (!is_one || tensor != part->tensor) gantry_tensor_drop(scope, tensor);
    return held;
}

gantry_tensor_t *memory_tensor(memory_t *memory, gantry_scope_t *scope, const void *from,
                               gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const uint64_t bytes = (uint64_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype);
    range_t range;
    parts_t parts;
    gantry_status_t status = find_range(memory, from, bytes, &range);
    if (!status) status = hold_range(memory, &range, &parts);
    if (status) {
        (void)gantry_scope_fail(scope, status, gantry_last_message());
        return NULL;
    }
    gantry_tensor_t *tensor = tensor_of_parts(memory, scope, &parts, &range, dtype, shape);
    parts_clear(&parts);
    return tensor;
}

gantry_tensor_t *memory_take(memory_t *memory, gantry_scope_t *scope, void *from,
                             gantry_dtype_t dtype, const gantry_shape_t *shape) {
    gantry_tensor_t *tensor = memory_tensor(memory, scope, from, dtype, shape);
    uint64_t offset = 0;
    cell_t *cell = tensor ? cells_find(memory, from, &offset) : NULL;
    if (cell && !offset && cell->bytes == gantry_tensor_bytes(tensor)) empty_cell(memory, cell);
    return tensor;
}

/* ---- copies ---- */

/* Copies the part's bytes to the scope's device; blocks of the host need no copy. */
static gantry_status_t bring_part(gantry_scope_t *scope, part_t *part) {
    const gantry_tensor_t *tensor = part->tensor;
    const uint64_t bytes = part->end - part->begin;
    if (part->skip || bytes != gantry_tensor_bytes(tensor)) {
        tensor = gantry_tensor_view(scope, tensor, part->skip, GANTRY_UINT8,
                                    GANTRY_SHAPE((int64_t)bytes));
    }
    const gantry_tensor_t *copy = tensor ? gantry_identity(scope, tensor) : NULL;
    if (!copy) return gantry_scope_status(scope);
    gantry_tensor_release(part->tensor);
    part->tensor = gantry_tensor_retain(copy);
    part->skip = 0;
    return GANTRY_OK;
}

static gantry_status_t copy_part(memory_t *memory, gantry_scope_t *scope, const range_t *from,
                                 const range_t *to, const part_t *part) {
    range_t range = {.cell = to->cell,
                     .begin = to->begin + (part->begin - from->begin),
                     .end = to->begin + (part->end - from->begin)};
    part_t copy = part_retain(part);
    if (part->tensor && from->cell->device != to->cell->device) {
        const gantry_status_t status = bring_part(scope, &copy);
        if (status) {
            part_release(&copy);
            return status;
        }
    }
    return write_range(memory, &range, copy);
}

gantry_status_t memory_copy(memory_t *memory, gantry_scope_t *scope, void *to, const void *from,
                            uint64_t bytes) {
    if (!bytes || to == from) return GANTRY_OK;
    range_t source, target;
    parts_t parts;
    gantry_status_t status = find_range(memory, from, bytes, &source);
    if (!status) status = find_range(memory, to, bytes, &target);
    if (!status) status = hold_range(memory, &source, &parts);
    if (status) return status;
    for (uint32_t i = 0; !status && i < parts.count; ++i) {
        status = copy_part(memory, scope, &source, &target, parts_at(&parts, i));
    }
    parts_clear(&parts);
    return status;
}
