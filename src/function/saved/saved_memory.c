/* SPDX-License-Identifier: Apache-2.0 */
#include "function/saved/saved_memory.h"

static void *saved_memory_reallocate_header(void *user, void *ptr, size_t old_bytes,
                                            size_t new_bytes) {
    const gantry__heap_t *heap = user;
    if (new_bytes > 0) return gantry__heap_resize(heap, ptr, old_bytes, new_bytes, 1);
    gantry__heap_free(heap, ptr, old_bytes);
    return NULL;
}

gantry__safetensors_memory_t gantry__saved_memory(const gantry__heap_t *heap) {
    return (gantry__safetensors_memory_t){saved_memory_reallocate_header, (void *)heap};
}
