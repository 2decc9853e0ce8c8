/* SPDX-License-Identifier: Apache-2.0 */
#include "train_heap.h"

#include <stdatomic.h>

static atomic_long live, count, fail_at = -1;

void *__real_gantry__train_reallocate(void *ptr, size_t new_bytes);
void *__wrap_gantry__train_reallocate(void *ptr, size_t new_bytes);

void train_heap_reset(long at) {
    atomic_store(&live, 0);
    atomic_store(&count, 0);
    atomic_store(&fail_at, at);
}

long train_heap_live(void) { return atomic_load(&live); }

long train_heap_count(void) { return atomic_load(&count); }

void *__wrap_gantry__train_reallocate(void *ptr, size_t new_bytes) {
    if (new_bytes == 0) {
        atomic_fetch_sub(&live, 1);
        return __real_gantry__train_reallocate(ptr, 0);
    }
    if (atomic_fetch_add(&count, 1) == atomic_load(&fail_at)) return NULL;
    void *grown = __real_gantry__train_reallocate(ptr, new_bytes);
    if (grown && !ptr) atomic_fetch_add(&live, 1);
    return grown;
}
