/* SPDX-License-Identifier: Apache-2.0 */
/* A heap that counts the allocated blocks, for a runtime's option reallocate. Header only; one
 * count for the whole program. Thread-safe. */
#ifndef TESTS_LOAD_COUNTING_HEAP_H
#define TESTS_LOAD_COUNTING_HEAP_H

#include <stdatomic.h>
#include <stdlib.h>

static atomic_long heap_bytes, heap_blocks;

static void *count_reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    if (new_bytes == 0) {
        if (ptr)
            (void)atomic_fetch_sub(&heap_blocks, 1),
                (void)atomic_fetch_sub(&heap_bytes, (long)old_bytes);
        free(ptr);
        return NULL;
    }
    void *result = realloc(ptr, new_bytes);
    if (!result) return NULL;
    if (!ptr) (void)atomic_fetch_add(&heap_blocks, 1);
    (void)atomic_fetch_add(&heap_bytes, (long)new_bytes - (ptr ? (long)old_bytes : 0));
    return result;
}

#endif
