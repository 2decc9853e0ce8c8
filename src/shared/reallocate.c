/* SPDX-License-Identifier: Apache-2.0 */
/* This function must be in a file without its callers, so that a test's linker can replace it. */
#include <stdlib.h>

#include "shared/memory.h"

void *gantry__reallocate(void *ptr, size_t new_bytes) {
    if (new_bytes > 0) return realloc(ptr, new_bytes);
    free(ptr);
    return NULL;
}
