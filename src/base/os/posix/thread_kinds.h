/* SPDX-License-Identifier: Apache-2.0 */
/* base/os/thread.h with POSIX's threads; only that header includes this one. Owner and threads: as
 * there. */
#ifndef GANTRY_BASE_OS_POSIX_THREAD_KINDS_H
#define GANTRY_BASE_OS_POSIX_THREAD_KINDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef pthread_mutex_t gantry__mutex_t;
typedef pthread_cond_t gantry__condition_t;
typedef pthread_t gantry__thread_t;

static inline int gantry__mutex_init(gantry__mutex_t *mutex) {
    return pthread_mutex_init(mutex, NULL);
}
static inline void gantry__mutex_deinit(gantry__mutex_t *mutex) {
    (void)pthread_mutex_destroy(mutex);
}
static inline void gantry__mutex_lock(gantry__mutex_t *mutex) { (void)pthread_mutex_lock(mutex); }
static inline bool gantry__mutex_try_lock(gantry__mutex_t *mutex) {
    return pthread_mutex_trylock(mutex) == 0;
}
static inline void gantry__mutex_unlock(gantry__mutex_t *mutex) {
    (void)pthread_mutex_unlock(mutex);
}

static inline void gantry__condition_deinit(gantry__condition_t *condition) {
    (void)pthread_cond_destroy(condition);
}
static inline void gantry__condition_wake_all(gantry__condition_t *condition) {
    (void)pthread_cond_broadcast(condition);
}
static inline void gantry__condition_wake_one(gantry__condition_t *condition) {
    (void)pthread_cond_signal(condition);
}
static inline void gantry__condition_await(gantry__condition_t *condition, gantry__mutex_t *mutex) {
    (void)pthread_cond_wait(condition, mutex);
}

static inline void gantry__thread_join(gantry__thread_t thread) {
    (void)pthread_join(thread, NULL);
}
static inline gantry__thread_t gantry__thread_self(void) { return pthread_self(); }
static inline bool gantry__thread_is_self(gantry__thread_t thread) {
    return pthread_equal(thread, pthread_self()) != 0;
}

#endif
