/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and threads for data sets, by POSIX threads. Owner: the caller, who must join each
 * thread that was started. Threads: thread-safe. */
#ifndef GANTRY_TRAIN_DATASET_THREAD_H
#define GANTRY_TRAIN_DATASET_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "train/base/thread.h"

typedef pthread_cond_t gantry__train_condition_t;
typedef pthread_t gantry__train_thread_t;

static inline void gantry__train_condition_init(gantry__train_condition_t *condition) {
    (void)pthread_cond_init(condition, NULL);
}
static inline void gantry__train_condition_deinit(gantry__train_condition_t *condition) {
    (void)pthread_cond_destroy(condition);
}
static inline void gantry__train_wait(gantry__train_condition_t *condition,
                                      gantry__train_mutex_t *mutex) {
    (void)pthread_cond_wait(condition, mutex);
}
static inline void gantry__train_wake(gantry__train_condition_t *condition) {
    (void)pthread_cond_broadcast(condition);
}

/* Starts a thread that receives no signals, so that the program's own threads handle them. Returns
 * 0 or an errno value. */
int gantry__train_thread_start(gantry__train_thread_t *thread, void *(*body)(void *),
                               void *argument);
static inline void gantry__train_thread_join(gantry__train_thread_t thread) {
    (void)pthread_join(thread, NULL);
}

/* Returns the number of processor cores that this process may use, which is at least 1. */
size_t gantry__train_usable_cores(void);

#endif
