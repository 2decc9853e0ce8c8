/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/memory.h"

#include <stdint.h>
#include <string.h>

#include "shared/fail.h"

static void *fail_out_of_memory(size_t bytes) {
    (void)gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "out of host memory: %zu bytes were requested",
                       bytes);
    return NULL;
}

void *gantry__alloc(size_t count, size_t item_bytes) {
    if (item_bytes > 0 && count > SIZE_MAX / item_bytes) return fail_out_of_memory(SIZE_MAX);
    void *ptr = gantry__alloc_bytes(count * item_bytes);
    return ptr ? memset(ptr, 0, count * item_bytes) : NULL;
}

void *gantry__alloc_bytes(size_t bytes) {
    void *ptr = gantry__reallocate(NULL, bytes ? bytes : 1);
    return ptr ? ptr : fail_out_of_memory(bytes);
}

char *gantry__strdup(const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = gantry__alloc(bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

void gantry__free(void *ptr) {
    if (ptr) (void)gantry__reallocate(ptr, 0);
}

bool gantry__grow(void *items_ptr, size_t count, size_t *capacity, size_t item_bytes) {
    if (count < *capacity) return true;
    const size_t wanted = *capacity ? 2 * *capacity : 8;
    void *items;
    memcpy(&items, items_ptr, sizeof items);
    if (wanted > SIZE_MAX / item_bytes) return fail_out_of_memory(SIZE_MAX);
    void *grown = gantry__reallocate(items, wanted * item_bytes);
    if (!grown) return fail_out_of_memory(wanted * item_bytes);
    memcpy(items_ptr, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
