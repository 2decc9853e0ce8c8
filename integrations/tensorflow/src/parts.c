/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts and joins the parts of one allocation (parts.h). */
#include "parts.h"

#include <stdlib.h>

host_block_t *host_block_create(uint64_t bytes) {
    host_block_t *block = malloc(sizeof *block + bytes);
    if (block) atomic_init(&block->references, 1);
    return block;
}

static void host_block_release(host_block_t *block) {
    if (block && atomic_fetch_sub(&block->references, 1) == 1) free(block);
}

part_t part_retain(const part_t *part) {
    if (part->tensor) (void)gantry_tensor_retain(part->tensor);
    if (part->block) {
        atomic_fetch_add_explicit(&part->block->references, 1, memory_order_relaxed);
    }
    return *part;
}

void part_release(part_t *part) {
    gantry_tensor_release(part->tensor);
    host_block_release(part->block);
}

const part_t *parts_at(const parts_t *parts, uint32_t index) {
    return parts->many ? &parts->many[index] : &parts->one;
}

/* The part's bytes between begin and end, without a reference of its own. */
static part_t cut_part(const part_t *part, uint64_t begin, uint64_t end) {
    part_t cut = *part;
    if (begin > cut.begin) {
        cut.skip += begin - cut.begin;
        cut.begin = begin;
    }
    if (end < cut.end) cut.end = end;
    return cut;
}

/* Appends the part's bytes between begin and end, if there are any. */
static void append_cut(part_t *list, uint32_t *count, const part_t *part, uint64_t begin,
                       uint64_t end) {
    if (part->begin >= end || part->end <= begin) return;
    const part_t cut = cut_part(part, begin, end);
    list[(*count)++] = part_retain(&cut);
}

/* Puts the parts before the new one, the new one, and the parts after it into a new list. */
static bool write_among(parts_t *parts, const part_t *part) {
    part_t *list = malloc((parts->count + 2) * sizeof *list);
    if (!list) return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < parts->count; ++i) {
        append_cut(list, &count, parts_at(parts, i), 0, part->begin);
    }
    list[count++] = *part;
    for (uint32_t i = 0; i < parts->count; ++i) {
        append_cut(list, &count, parts_at(parts, i), part->end, UINT64_MAX);
    }
    parts_clear(parts);
    parts->many = list;
    parts->count = count;
    return true;
}

bool parts_write(parts_t *parts, part_t part, part_t *out_former) {
    *out_former = (part_t){.tensor = NULL};
    ++parts->version;
    const part_t *only = parts_at(parts, 0);
    const bool is_alone =
        !parts->many && (!parts->count || (part.begin <= only->begin && part.end >= only->end));
    if (!is_alone) return write_among(parts, &part);
    if (parts->count) *out_former = *only;
    parts->one = part;
    parts->count = 1;
    return true;
}

bool parts_hold(const parts_t *parts, uint64_t begin, uint64_t end, parts_t *out) {
    *out = (parts_t){.version = parts->version};
    if (parts->count > 1) {
        out->many = malloc(parts->count * sizeof *out->many);
        if (!out->many) return false;
    }
    part_t *list = out->many ? out->many : &out->one;
    for (uint32_t i = 0; i < parts->count; ++i) {
        append_cut(list, &out->count, parts_at(parts, i), begin, end);
    }
    return true;
}

bool parts_are_whole(const parts_t *parts, uint64_t begin, uint64_t end) {
    for (uint32_t i = 0; i < parts->count; ++i) {
        const part_t *part = parts_at(parts, i);
        if (part->begin < begin && part->end > begin) return false;
        if (part->begin < end && part->end > end) return false;
    }
    return true;
}

void parts_clear(parts_t *parts) {
    for (uint32_t i = 0; i < parts->count; ++i) {
        part_t part = *parts_at(parts, i);
        part_release(&part);
    }
    free(parts->many);
    *parts = (parts_t){.version = parts->version + 1};
}
