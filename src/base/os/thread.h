/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, locks and conditions: the few services of threads that Gantry uses. This is the one
 * place that includes the system's threads.
 *
 * Functions that return an int return 0, or an errno value. Owner: whoever has initialised a lock
 * or a condition must end it, and whoever has started a thread must join it. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_OS_THREAD_H
#define GANTRY_BASE_OS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/clock.h"

/* ---- locks ---- */

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

/* ---- conditions ---- */

/* Waits on the clock of gantry__now_ns. */
typedef pthread_cond_t gantry__condition_t;

int gantry__condition_init(gantry__condition_t *condition);
static inline void gantry__condition_deinit(gantry__condition_t *condition) {
    (void)pthread_cond_destroy(condition);
}
static inline void gantry__condition_wake_all(gantry__condition_t *condition) {
    (void)pthread_cond_broadcast(condition);
}
static inline void gantry__condition_wake_one(gantry__condition_t *condition) {
    (void)pthread_cond_signal(condition);
}
/* Returns when woken, at deadline_ns, or spuriously; therefore the caller must check its condition
 * again. */
void gantry__condition_wait(gantry__condition_t *condition, gantry__mutex_t *mutex,
                            uint64_t deadline_ns);
/* The same without a deadline. */
static inline void gantry__condition_await(gantry__condition_t *condition, gantry__mutex_t *mutex) {
    (void)pthread_cond_wait(condition, mutex);
}

/* ---- threads ---- */

typedef pthread_t gantry__thread_t;

/* Starts a thread that receives no signals, because these belong to the program's own threads.
 * stack_bytes 0: as large a stack as the system chooses. */
int gantry__thread_start(gantry__thread_t *out_thread, size_t stack_bytes, void *(*body)(void *),
                         void *argument);
static inline void gantry__thread_join(gantry__thread_t thread) {
    (void)pthread_join(thread, NULL);
}
static inline gantry__thread_t gantry__thread_self(void) { return pthread_self(); }
static inline bool gantry__thread_is_self(gantry__thread_t thread) {
    return pthread_equal(thread, pthread_self()) != 0;
}
/* Names a thread, by at most 15 bytes, for debuggers. */
void gantry__thread_name(gantry__thread_t thread, const char *name);
/* Leaves the processor to another thread that is ready. */
void gantry__thread_yield(void);

/* Returns the number of processor cores that this process may use, which is at least 1. */
uint32_t gantry__os_usable_cores(void);

#endif
