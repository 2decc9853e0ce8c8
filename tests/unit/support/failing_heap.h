/* SPDX-License-Identifier: Apache-2.0 */
/* A heap for tests that counts live blocks, checks the sizes of freed blocks, and fails on request.
 * Header only; externally synchronised. */
#ifndef TESTS_FAILING_HEAP_H
#define TESTS_FAILING_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#if defined(__GLIBC__) || defined(__APPLE__) /* the C library's headers say so */
#include <execinfo.h>
#endif

#include "base/heap.h"

#if defined(__GLIBC__) || defined(__APPLE__)
#include <execinfo.h>
#endif

typedef struct failing_heap_t {
    gantry__heap_t heap;
    long live_bytes;
    long live_blocks;
    long calls;        /* requested allocations and resizes */
    long fail_at;      /* the call with this number (from 0) and all later ones fail; -1: none */
    size_t most_bytes; /* refuses a larger request; 0: none */
    bool wrong_size;
    uint64_t *sites; /* take the call stacks of the first site_count calls; NULL: of none */
    long site_count;
} failing_heap_t;

#define FAILING_HEAP_PREFIX 16 /* stores the block's size and keeps the alignment */

/* A number for the call stack; where the C library does not know it, one of each call. */
static inline uint64_t failing_heap_site(long call) {
#if defined(__GLIBC__) || defined(__APPLE__)
    void *frames[24];
    uint64_t number = 0;
    const int depth = backtrace(frames, 24);
    for (int i = 0; i < depth; ++i)
        number = (number ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
    (void)call;
    return number;
#else
    return (uint64_t)call;
#endif
}

static inline void *failing_heap_reallocate(void *user, void *ptr, size_t old_bytes,
                                            size_t new_bytes) {
    failing_heap_t *self = user;
    char *block = ptr ? (char *)ptr - FAILING_HEAP_PREFIX : NULL;
    if (block && *(size_t *)(void *)block != old_bytes) self->wrong_size = true;
    if (new_bytes == 0) {
        if (block) {
            self->live_bytes -= (long)old_bytes;
            --self->live_blocks;
        }
        free(block);
        return NULL;
    }
    if (self->fail_at >= 0) {
        if (self->calls < self->site_count)
            self->sites[self->calls] = failing_heap_site(self->calls);
        if (self->calls++ >= self->fail_at) return NULL;
    }
    if (self->most_bytes > 0 && new_bytes > self->most_bytes) return NULL;
    char *grown = realloc(block, FAILING_HEAP_PREFIX + new_bytes);
    if (!grown) return NULL;
    *(size_t *)(void *)grown = new_bytes;
    self->live_bytes += (long)new_bytes - (block ? (long)old_bytes : 0);
    if (!block) ++self->live_blocks;
    return grown + FAILING_HEAP_PREFIX;
}

static inline void failing_heap_init(failing_heap_t *self, long fail_at) {
    *self = (failing_heap_t){.heap = {failing_heap_reallocate, self}, .fail_at = fail_at};
}

#endif
