/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/fp_mode.h"

static void *libc_reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_bytes);
}

const gantry__heap_t gantry__heap_default = {libc_reallocate, NULL};

static GANTRY__NOINLINE void *ask_program(const gantry__heap_t *heap, void *ptr, size_t old_bytes,
                                          size_t new_bytes) {
    GANTRY__PROGRAM_FP_MODE(program);
    return heap->reallocate(heap->user, ptr, old_bytes, new_bytes);
}

/* The C library needs no mode. */
static inline void *heap_call(const gantry__heap_t *heap, void *ptr, size_t old_bytes,
                              size_t new_bytes) {
    if (heap->reallocate == libc_reallocate)
        return libc_reallocate(NULL, ptr, old_bytes, new_bytes);
    return ask_program(heap, ptr, old_bytes, new_bytes);
}

void *gantry__heap_reallocate(const gantry__heap_t *heap, void *ptr, size_t old_bytes,
                              size_t new_bytes) {
    return heap_call(heap, ptr, old_bytes, new_bytes);
}

static void *out_of_memory(size_t bytes) {
    (void)gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory: %zu bytes were requested",
                       bytes);
    return NULL;
}

void *gantry__heap_alloc(const gantry__heap_t *heap, size_t bytes) {
    void *ptr = heap_call(heap, NULL, 0, bytes ? bytes : 1);
    return ptr ? ptr : out_of_memory(bytes);
}

void *gantry__heap_zalloc(const gantry__heap_t *heap, size_t bytes) {
    void *ptr = gantry__heap_alloc(heap, bytes);
    if (ptr) memset(ptr, 0, bytes);
    return ptr;
}

void *gantry__heap_resize(const gantry__heap_t *heap, void *ptr, size_t old_count, size_t new_count,
                          size_t item_bytes) {
    if (item_bytes != 0 && new_count > SIZE_MAX / item_bytes) return out_of_memory(SIZE_MAX);
    size_t bytes = new_count * item_bytes;
    void *grown = heap_call(heap, ptr, old_count * item_bytes, bytes ? bytes : 1);
    return grown ? grown : out_of_memory(bytes);
}

char *gantry__heap_strdup(const gantry__heap_t *heap, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = gantry__heap_alloc(heap, bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

void gantry__heap_free(const gantry__heap_t *heap, void *ptr, size_t bytes) {
    if (ptr) (void)heap_call(heap, ptr, bytes ? bytes : 1, 0);
}

void gantry__heap_free_text(const gantry__heap_t *heap, char *text) {
    if (text) gantry__heap_free(heap, text, strlen(text) + 1);
}

bool gantry__heap_grow(const gantry__heap_t *heap, void *items_ptr, size_t count, size_t *capacity,
                       size_t item_bytes) {
    if (count < *capacity) return true;
    void *items;
    memcpy(&items, items_ptr, sizeof items); /* the caller's pointer may have any object type */
    size_t wanted = *capacity ? *capacity * 2 : 8;
    void *grown = gantry__heap_resize(heap, items, *capacity, wanted, item_bytes);
    if (!grown) return false;
    memcpy(items_ptr, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
