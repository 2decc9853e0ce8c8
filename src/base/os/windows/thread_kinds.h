/* SPDX-License-Identifier: Apache-2.0 */
/* base/os/thread.h with Windows' threads; only that header includes this one. The system's header is
 * not included, because it defines names that others use. Owner and threads: as there. */
#ifndef GANTRY_BASE_OS_WINDOWS_THREAD_KINDS_H
#define GANTRY_BASE_OS_WINDOWS_THREAD_KINDS_H

#include <stdbool.h>

typedef struct gantry__mutex_t {
    void *slim_lock;
} gantry__mutex_t;
typedef struct gantry__condition_t {
    void *variable;
} gantry__condition_t;
/* The handle is NULL in what gantry__thread_self returns. */
typedef struct gantry__thread_t {
    void *handle;
    unsigned long number;
} gantry__thread_t;

int gantry__mutex_init(gantry__mutex_t *mutex);
void gantry__mutex_deinit(gantry__mutex_t *mutex);
void gantry__mutex_lock(gantry__mutex_t *mutex);
bool gantry__mutex_try_lock(gantry__mutex_t *mutex);
void gantry__mutex_unlock(gantry__mutex_t *mutex);

void gantry__condition_deinit(gantry__condition_t *condition);
void gantry__condition_wake_all(gantry__condition_t *condition);
void gantry__condition_wake_one(gantry__condition_t *condition);
void gantry__condition_await(gantry__condition_t *condition, gantry__mutex_t *mutex);

void gantry__thread_join(gantry__thread_t thread);
gantry__thread_t gantry__thread_self(void);
bool gantry__thread_is_self(gantry__thread_t thread);

#endif
