/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, by POSIX threads. Owner: the caller has the memory of a lock, which must be free when
 * deinit is called. Threads: thread-safe. */
#ifndef GANTRY_TRAIN_THREAD_H
#define GANTRY_TRAIN_THREAD_H

#include <pthread.h>

typedef pthread_mutex_t gantry__train_mutex_t;

/* This cannot fail on Linux, because no attributes are given. */
static inline void gantry__train_mutex_init(gantry__train_mutex_t *mutex) {
    (void)pthread_mutex_init(mutex, NULL);
}
static inline void gantry__train_mutex_deinit(gantry__train_mutex_t *mutex) {
    (void)pthread_mutex_destroy(mutex);
}
static inline void gantry__train_lock(gantry__train_mutex_t *mutex) {
    (void)pthread_mutex_lock(mutex);
}
static inline void gantry__train_unlock(gantry__train_mutex_t *mutex) {
    (void)pthread_mutex_unlock(mutex);
}

#endif
