/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing. The hash has no secret, so names may be chosen that collide:
 * each probe counts as work, whose bound ends such a file. */
#include "onnx/graph/names.h"

#include <string.h>

#include "shared/memory.h"

typedef struct gantry__onnx_name_t {
    gantry__onnx_bytes_t name; /* data NULL: no entry */
    uint64_t hash;
    uint32_t scope, number;
} gantry__onnx_name_t;

bool gantry__onnx_equal(gantry__onnx_bytes_t a, gantry__onnx_bytes_t b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool gantry__onnx_is(gantry__onnx_bytes_t a, const char *literal) {
    return gantry__onnx_equal(a, (gantry__onnx_bytes_t){(const uint8_t *)literal, strlen(literal)});
}

static uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    value = (value ^ (value >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ (value >> 32);
}

static uint64_t name_hash(uint32_t scope, gantry__onnx_bytes_t name) {
    uint64_t hash = mixed(((uint64_t)scope << 32) + name.size);
    for (size_t at = 0; at < name.size; at += 8) {
        const size_t left = name.size - at;
        uint64_t word = 0;
        memcpy(&word, name.data + at, left < 8 ? left : 8);
        hash = mixed(hash + word * UINT64_C(0x9e3779b97f4a7c15));
    }
    return hash;
}

/* The entry of a name, or the free one where it belongs. */
static size_t probe(const gantry__onnx_names_t *names, uint64_t hash, uint32_t scope,
                    gantry__onnx_bytes_t name, uint64_t *work) {
    size_t i = (size_t)hash & (names->capacity - 1);
    for (;; i = (i + 1) & (names->capacity - 1)) {
        const gantry__onnx_name_t *entry = &names->entries[i];
        ++*work;
        if (!entry->name.data) return i;
        if (entry->hash == hash && entry->scope == scope && gantry__onnx_equal(entry->name, name))
            return i;
    }
}

gantry_status_t gantry__onnx_find_name(gantry__onnx_reader_t *reader,
                                       const gantry__onnx_names_t *names, uint32_t scope,
                                       gantry__onnx_bytes_t name, uint32_t *out_number,
                                       bool *out_found) {
    uint64_t work = name.size / 8 + 1;
    *out_found = false;
    if (names->capacity > 0) {
        const gantry__onnx_name_t *entry =
            &names->entries[probe(names, name_hash(scope, name), scope, name, &work)];
        *out_found = entry->name.data != NULL;
        *out_number = entry->number;
    }
    return gantry__onnx_work(reader, work);
}

static gantry_status_t grow_names(gantry__onnx_reader_t *reader, gantry__onnx_names_t *names) {
    gantry__onnx_names_t wider = {.count = names->count,
                                  .capacity = names->capacity ? 2 * names->capacity : 64};
    uint64_t work = 0;
    GANTRY__TRY(gantry__onnx_charge(reader, wider.capacity * sizeof *wider.entries));
    wider.entries = gantry__alloc(wider.capacity, sizeof *wider.entries);
    if (!wider.entries) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < names->capacity; ++i) {
        const gantry__onnx_name_t *entry = &names->entries[i];
        if (!entry->name.data) continue;
        wider.entries[probe(&wider, entry->hash, entry->scope, entry->name, &work)] = *entry;
    }
    gantry__free(names->entries);
    *names = wider;
    return gantry__onnx_work(reader, work);
}

gantry_status_t gantry__onnx_set_name(gantry__onnx_reader_t *reader, gantry__onnx_names_t *names,
                                      uint32_t scope, gantry__onnx_bytes_t name, uint32_t number) {
    const uint64_t hash = name_hash(scope, name);
    uint64_t work = name.size / 8 + 1;
    if (3 * (names->count + 1) > 2 * names->capacity) GANTRY__TRY(grow_names(reader, names));
    gantry__onnx_name_t *entry = &names->entries[probe(names, hash, scope, name, &work)];
    if (!entry->name.data) ++names->count;
    *entry = (gantry__onnx_name_t){
        {name.data ? name.data : (const uint8_t *)"", name.size}, hash, scope, number};
    return gantry__onnx_work(reader, work);
}

void gantry__onnx_names_deinit(gantry__onnx_names_t *names) {
    gantry__free(names->entries);
    *names = (gantry__onnx_names_t){0};
}
