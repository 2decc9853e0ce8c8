/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"

struct host_block_t {
    atomic_uint references;
    uint64_t bytes;
    max_align_t data[];
};

/* What lay at an address at one moment, held for the caller: a part of a tensor or of a block. */
typedef struct content_t {
    gantry_tensor_t *tensor;
    host_block_t *block;
    uint64_t offset;
} content_t;

static host_block_t *block_create(uint64_t bytes) {
    host_block_t *block = malloc(sizeof *block + bytes);
    if (!block) {
        (void)gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
        return NULL;
    }
    atomic_init(&block->references, 1);
    block->bytes = bytes;
    return block;
}

static char *block_bytes(host_block_t *block) { return (char *)block->data; }

static host_block_t *block_retain(host_block_t *block) {
    if (block) atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
    return block;
}

static void block_release(host_block_t *block) {
    if (block && atomic_fetch_sub(&block->references, 1) == 1) free(block);
}

static void release_content(content_t *content) {
    gantry_tensor_release(content->tensor);
    block_release(content->block);
}

gantry_status_t memory_create(memory_t **out) { return cells_create(out); }

static void empty_cell(memory_t *memory, cell_t *cell) {
    pthread_mutex_t *lock = cells_lock(memory, cell);
    pthread_mutex_lock(lock);
    content_t former = {.tensor = cell->tensor, .block = cell->block};
    cell->tensor = NULL;
    cell->block = NULL;
    pthread_mutex_unlock(lock);
    release_content(&former);
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

static gantry_status_t refuse_address(const char *call, const void *address, uint64_t bytes) {
    char text[160];
    snprintf(text, sizeof text, "%s: %llu bytes at %p are no device memory of Gantry", call,
             (unsigned long long)bytes, address);
    return gantry_fail(GANTRY_INTERNAL, text);
}

/* The cell in which so many bytes lie; NULL, with the error kept. */
static cell_t *cell_of(memory_t *memory, const char *call, const void *address, uint64_t bytes,
                       uint64_t *out_offset) {
    cell_t *cell = cells_find(memory, address, out_offset);
    if (cell && *out_offset <= cell->bytes && bytes <= cell->bytes - *out_offset) return cell;
    (void)refuse_address(call, address, bytes);
    return NULL;
}

static content_t hold_content(memory_t *memory, const cell_t *cell, uint64_t offset) {
    pthread_mutex_t *lock = cells_lock(memory, cell);
    pthread_mutex_lock(lock);
    const content_t content = {.tensor = cell->tensor ? gantry_tensor_retain(cell->tensor) : NULL,
                               .block = block_retain(cell->block),
                               .offset = offset};
    pthread_mutex_unlock(lock);
    return content;
}

/* Lets the cell hold this; the cell owns it from now on. */
static void replace_content(memory_t *memory, cell_t *cell, content_t content) {
    pthread_mutex_t *lock = cells_lock(memory, cell);
    pthread_mutex_lock(lock);
    content_t former = {.tensor = cell->tensor, .block = cell->block};
    cell->tensor = content.tensor;
    cell->block = content.block;
    pthread_mutex_unlock(lock);
    release_content(&former);
}

static gantry_status_t read_tensor_part(const gantry_tensor_t *tensor, void *to, uint64_t offset,
                                        uint64_t bytes) {
    const uint64_t whole = gantry_tensor_bytes(tensor);
    if (!offset && bytes == whole) return gantry_tensor_read(tensor, to, bytes);
    if (offset > whole || bytes > whole - offset) {
        return gantry_fail(GANTRY_INTERNAL, "a read beyond the tensor at this address");
    }
    char *all = malloc(whole);
    if (!all) return gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
    const gantry_status_t status = gantry_tensor_read(tensor, all, whole);
    if (!status) memcpy(to, all + offset, bytes);
    free(all);
    return status;
}

/* Memory that nobody wrote reads as zeros. */
static gantry_status_t read_content(const content_t *content, void *to, uint64_t bytes) {
    if (content->tensor) return read_tensor_part(content->tensor, to, content->offset, bytes);
    memset(to, 0, bytes);
    if (!content->block || content->offset >= content->block->bytes) return GANTRY_OK;
    const uint64_t rest = content->block->bytes - content->offset;
    memcpy(to, block_bytes(content->block) + content->offset, bytes < rest ? bytes : rest);
    return GANTRY_OK;
}

gantry_status_t memory_read(memory_t *memory, void *to, const void *from, uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    uint64_t offset = 0;
    const cell_t *cell = cell_of(memory, "read", from, bytes, &offset);
    if (!cell) return GANTRY_INTERNAL;
    content_t content = hold_content(memory, cell, offset);
    const gantry_status_t status = read_content(&content, to, bytes);
    release_content(&content);
    return status;
}

/* A copy of all that a cell holds, for a write to a part of it. */
static host_block_t *copy_cell(memory_t *memory, const cell_t *cell) {
    host_block_t *block = block_create(cell->bytes);
    if (!block) return NULL;
    if (!memory_read(memory, block_bytes(block), cell->address, cell->bytes)) return block;
    block_release(block);
    return NULL;
}

/* A block for bytes that replace a part of the cell. *out_place is where they belong. */
static host_block_t *block_for_part(memory_t *memory, const cell_t *cell, uint64_t offset,
                                    uint64_t bytes, char **out_place) {
    const bool is_whole = !offset && bytes == cell->bytes;
    host_block_t *block = is_whole ? block_create(bytes) : copy_cell(memory, cell);
    if (block) *out_place = block_bytes(block) + offset;
    return block;
}

gantry_status_t memory_write(memory_t *memory, void *to, const void *from, uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    uint64_t offset = 0;
    cell_t *cell = cell_of(memory, "write", to, bytes, &offset);
    if (!cell) return GANTRY_INTERNAL;
    char *place = NULL;
    host_block_t *block = block_for_part(memory, cell, offset, bytes, &place);
    if (!block) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(place, from, bytes);
    replace_content(memory, cell, (content_t){.block = block});
    return GANTRY_OK;
}

gantry_status_t memory_fill(memory_t *memory, void *to, uint32_t pattern, uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    uint64_t offset = 0;
    cell_t *cell = cell_of(memory, "fill", to, bytes, &offset);
    if (!cell) return GANTRY_INTERNAL;
    char *place = NULL;
    host_block_t *block = block_for_part(memory, cell, offset, bytes, &place);
    if (!block) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint64_t i = 0; i < bytes; i += sizeof pattern) {
        memcpy(place + i, &pattern, bytes - i < sizeof pattern ? bytes - i : sizeof pattern);
    }
    replace_content(memory, cell, (content_t){.block = block});
    return GANTRY_OK;
}

static gantry_status_t bind_part(memory_t *memory, void *to, const gantry_tensor_t *tensor,
                                 uint64_t bytes) {
    char *data = malloc(bytes);
    if (!data) return gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
    gantry_status_t status = gantry_tensor_read(tensor, data, bytes);
    if (!status) status = memory_write(memory, to, data, bytes);
    free(data);
    return status;
}

gantry_status_t memory_bind(memory_t *memory, void *to, const gantry_tensor_t *tensor) {
    const uint64_t bytes = gantry_tensor_bytes(tensor);
    if (!bytes) return GANTRY_OK;
    uint64_t offset = 0;
    cell_t *cell = cell_of(memory, "bind", to, bytes, &offset);
    if (!cell) return GANTRY_INTERNAL;
    if (offset || bytes != cell->bytes) return bind_part(memory, to, tensor, bytes);
    replace_content(memory, cell, (content_t){.tensor = gantry_tensor_retain(tensor)});
    return GANTRY_OK;
}

/* Copies what no tensor stands for: bytes whose type nobody knows yet, and parts. */
static gantry_status_t copy_bytes(memory_t *memory, void *to, const content_t *content,
                                  uint64_t bytes) {
    char *data = malloc(bytes);
    if (!data) return gantry_fail(GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
    gantry_status_t status = read_content(content, data, bytes);
    if (!status) status = memory_write(memory, to, data, bytes);
    free(data);
    return status;
}

gantry_status_t memory_copy(memory_t *memory, gantry_scope_t *scope, void *to, const void *from,
                            uint64_t bytes) {
    if (!bytes) return GANTRY_OK;
    uint64_t offset = 0, ignored = 0;
    const cell_t *source = cell_of(memory, "copy", from, bytes, &offset);
    const cell_t *target = cell_of(memory, "copy", to, bytes, &ignored);
    if (!source || !target) return GANTRY_INTERNAL;
    content_t content = hold_content(memory, source, offset);
    gantry_status_t status = GANTRY_OK;
    const bool is_whole = content.tensor && !offset && gantry_tensor_bytes(content.tensor) == bytes;
    if (!is_whole) {
        status = copy_bytes(memory, to, &content, bytes);
    } else if (source->device == target->device) {
        status = memory_bind(memory, to, content.tensor);
    } else {
        const gantry_tensor_t *copy = gantry_identity(scope, content.tensor);
        status = copy ? memory_bind(memory, to, copy) : gantry_scope_status(scope);
    }
    release_content(&content);
    return status;
}

/* The tensor under another shape; NULL after an error, which the scope keeps. */
static gantry_tensor_t *tensor_shaped(gantry_scope_t *scope, gantry_tensor_t *tensor,
                                      const gantry_shape_t *shape) {
    if (gantry_shape_equal(gantry_tensor_shape(tensor), shape)) {
        return gantry_tensor_retain(tensor);
    }
    const gantry_tensor_t *view = gantry_reshape(scope, tensor, *shape);
    return view ? gantry_tensor_retain(view) : NULL;
}

static gantry_tensor_t *upload(gantry_scope_t *scope, const content_t *content,
                               gantry_dtype_t dtype, const gantry_shape_t *shape, uint64_t bytes) {
    char *data = malloc(bytes ? bytes : 1);
    const gantry_tensor_t *tensor = NULL;
    if (!data) {
        (void)gantry_scope_fail(scope, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
    } else if (!read_content(content, data, bytes)) {
        tensor = gantry_constant(scope, dtype, *shape, data, bytes);
    } else {
        (void)gantry_scope_fail(scope, GANTRY_INTERNAL, gantry_last_message());
    }
    free(data);
    return tensor ? gantry_tensor_retain(tensor) : NULL;
}

/* The next kernel finds the tensor, if nothing else was written in between. */
static void keep_upload(memory_t *memory, cell_t *cell, const content_t *content,
                        gantry_tensor_t *tensor) {
    const bool is_all = content->block && !content->offset &&
                        content->block->bytes == gantry_tensor_bytes(tensor) &&
                        content->block->bytes == cell->bytes;
    if (!is_all) return;
    pthread_mutex_t *lock = cells_lock(memory, cell);
    pthread_mutex_lock(lock);
    host_block_t *former = NULL;
    if (cell->block == content->block) {
        former = cell->block;
        cell->block = NULL;
        cell->tensor = gantry_tensor_retain(tensor);
    }
    pthread_mutex_unlock(lock);
    block_release(former);
}

gantry_tensor_t *memory_tensor(memory_t *memory, gantry_scope_t *scope, const void *from,
                               gantry_dtype_t dtype, const gantry_shape_t *shape) {
    const uint64_t bytes = (uint64_t)gantry_shape_elements(shape) * gantry_dtype_size(dtype);
    uint64_t offset = 0;
    cell_t *cell = cell_of(memory, "input", from, bytes, &offset);
    if (!cell) {
        (void)gantry_scope_fail(scope, GANTRY_INTERNAL, gantry_last_message());
        return NULL;
    }
    content_t content = hold_content(memory, cell, offset);
    gantry_tensor_t *tensor = NULL;
    if (content.tensor && !offset && gantry_tensor_bytes(content.tensor) == bytes &&
        gantry_tensor_dtype(content.tensor) == dtype) {
        tensor = tensor_shaped(scope, content.tensor, shape);
    } else {
        tensor = upload(scope, &content, dtype, shape, bytes);
        if (tensor) keep_upload(memory, cell, &content, tensor);
    }
    release_content(&content);
    return tensor;
}

gantry_tensor_t *memory_take(memory_t *memory, gantry_scope_t *scope, void *from,
                             gantry_dtype_t dtype, const gantry_shape_t *shape) {
    gantry_tensor_t *tensor = memory_tensor(memory, scope, from, dtype, shape);
    uint64_t offset = 0;
    cell_t *cell = tensor ? cells_find(memory, from, &offset) : NULL;
    if (cell && !offset) empty_cell(memory, cell);
    return tensor;
}
