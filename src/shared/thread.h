/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, conditions and the clock: the few services of threads that Gantry uses. Owner: whoever has
 * initialised a lock or a condition must end it. Threads: thread-safe. */
#ifndef GANTRY_SHARED_THREAD_H
#define GANTRY_SHARED_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/os/clock.h"

typedef pthread_mutex_t gantry__mutex_t;

static inline int gantry__mutex_init(gantry__mutex_t *mutex) {
    return pthread_mutex_init(mutex, NULL);
}
static inline void gantry__mutex_deinit(gantry__mutex_t *mutex) {
    (void)pthread_mutex_destroy(mutex);
}
static inline void gantry__mutex_lock(gantry__mutex_t *mutex) { (void)pthread_mutex_lock(mutex); }
/* Locks the mutex if it is free; false: another thread holds it. */
static inline bool gantry__mutex_try_lock(gantry__mutex_t *mutex) {
    return pthread_mutex_trylock(mutex) == 0;
}
static inline void gantry__mutex_unlock(gantry__mutex_t *mutex) {
    (void)pthread_mutex_unlock(mutex);
}

/* Waits on the clock of gantry__now_ns. */
typedef pthread_cond_t gantry__condition_t;

/* Returns 0, or an errno value. */
int gantry__condition_init(gantry__condition_t *condition);
static inline void gantry__condition_deinit(gantry__condition_t *condition) {
    (void)pthread_cond_destroy(condition);
}
static inline void gantry__condition_wake_all(gantry__condition_t *condition) {
    (void)pthread_cond_broadcast(condition);
}
/* Returns when woken, at deadline_ns, or spuriously; therefore the caller must check its condition
 * again. */
void gantry__condition_wait(gantry__condition_t *condition, gantry__mutex_t *mutex,
                            uint64_t deadline_ns);

#endif
