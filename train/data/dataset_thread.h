/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and threads for data sets, by POSIX threads. Owner: the caller, who must join each
 * thread that was started. Threads: thread-safe. */
#ifndef GANTRY_TRAIN_DATASET_THREAD_H
#define GANTRY_TRAIN_DATASET_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "shared/thread.h"

typedef pthread_t gantry__train_thread_t;

static inline void gantry__train_wait(gantry__condition_t *condition, gantry__mutex_t *mutex) {
    gantry__condition_wait(condition, mutex, UINT64_MAX);
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
