/* SPDX-License-Identifier: Apache-2.0 */
#include "train_heap.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

static atomic_long live, count, fail_at = -1, live_bytes, peak_bytes;

void *__real_gantry__reallocate(void *ptr, size_t new_bytes);
void *__wrap_gantry__reallocate(void *ptr, size_t new_bytes);

void train_heap_reset(long at) {
    atomic_store(&live, 0);
    atomic_store(&count, 0);
    atomic_store(&fail_at, at);
    atomic_store(&live_bytes, 0);
    atomic_store(&peak_bytes, 0);
}

long train_heap_live(void) { return atomic_load(&live); }

long train_heap_peak_bytes(void) { return atomic_load(&peak_bytes); }

static void note_bytes(long bytes) {
    const long now = atomic_fetch_add(&live_bytes, bytes) + bytes;
    long before = atomic_load(&peak_bytes);
    while (now > before && !atomic_compare_exchange_weak(&peak_bytes, &before, now)) continue;
}

long train_heap_count(void) { return atomic_load(&count); }

void *__wrap_gantry__reallocate(void *ptr, size_t new_bytes) {
    const long old_bytes = (long)malloc_usable_size(ptr);
    if (new_bytes == 0) {
        atomic_fetch_sub(&live, 1);
        note_bytes(-old_bytes);
        return __real_gantry__reallocate(ptr, 0);
    }
    if (atomic_fetch_add(&count, 1) == atomic_load(&fail_at)) return NULL;
    void *grown = __real_gantry__reallocate(ptr, new_bytes);
    if (grown && !ptr) atomic_fetch_add(&live, 1);
    if (grown) note_bytes((long)malloc_usable_size(grown) - old_bytes);
    return grown;
}

long train_heap_fail_each(const char *name, gantry_status_t (*work)(void *user), void *user) {
    for (long n = 0;; ++n) {
        train_heap_reset(n);
        const gantry_status_t status = work(user);
        const bool is_whole = train_heap_count() <= n;
        if (train_heap_live() != 0) fail_msg("%s: allocation %ld fails, and leaks", name, n);
        if (status != (is_whole ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED))
            fail_msg("%s: allocation %ld fails, and the status is %s: %s", name, n,
                     gantry_status_name(status), gantry_last_message());
        train_heap_reset(-1);
        if (is_whole) return n;
    }
}
