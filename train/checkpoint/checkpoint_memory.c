/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/checkpoint_memory.h"

#include <string.h>

#include "shared/memory.h"

static void *reallocate_header(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    void *made = new_bytes > 0 ? gantry__alloc(new_bytes, 1) : NULL;
    if (made && old_bytes > 0) memcpy(made, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
    if (made || new_bytes == 0) gantry__free(ptr);
    return made;
}

const gantry__safetensors_memory_t gantry__checkpoint_memory = {reallocate_header, NULL};
