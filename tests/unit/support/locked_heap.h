/* SPDX-License-Identifier: Apache-2.0 */
/* The failing heap with a lock, for tests in which streams of the fake backend use it from their
 * own threads. Header only; thread-safe. */
#ifndef TESTS_LOCKED_HEAP_H
#define TESTS_LOCKED_HEAP_H

#include <pthread.h>

#include "failing_heap.h"

typedef struct locked_heap_t {
    gantry__heap_t heap;
    pthread_mutex_t lock;
    failing_heap_t inner;
} locked_heap_t;

static inline void *locked_heap_reallocate(void *user, void *ptr, size_t old_bytes,
                                           size_t new_bytes) {
    locked_heap_t *self = user;
    (void)pthread_mutex_lock(&self->lock);
    void *result = failing_heap_reallocate(&self->inner, ptr, old_bytes, new_bytes);
    (void)pthread_mutex_unlock(&self->lock);
    return result;
}

/* fail_at as in failing_heap.h. */
static inline void locked_heap_init(locked_heap_t *self, long fail_at) {
    *self = (locked_heap_t){.heap = {locked_heap_reallocate, self}};
    (void)pthread_mutex_init(&self->lock, NULL);
    failing_heap_init(&self->inner, fail_at);
}

static inline void locked_heap_deinit(locked_heap_t *self) {
    (void)pthread_mutex_destroy(&self->lock);
}

#endif
