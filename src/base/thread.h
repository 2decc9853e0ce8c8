/* Locks and the clock: the few things of the system's threads that Gantry uses. Thread-safe. */
#ifndef GANTRY_BASE_THREAD_H
#define GANTRY_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

typedef pthread_mutex_t gantry__mutex_t;

static inline int gantry__mutex_init(gantry__mutex_t *mutex) { return pthread_mutex_init(mutex, NULL); }
static inline void gantry__mutex_deinit(gantry__mutex_t *mutex) { (void)pthread_mutex_destroy(mutex); }
static inline void gantry__mutex_lock(gantry__mutex_t *mutex) { (void)pthread_mutex_lock(mutex); }
static inline void gantry__mutex_unlock(gantry__mutex_t *mutex) { (void)pthread_mutex_unlock(mutex); }

/* Nanoseconds of a clock that only goes forward. */
uint64_t gantry__now_ns(void);

#endif
