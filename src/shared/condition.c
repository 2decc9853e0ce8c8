/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "shared/thread.h"

int gantry__condition_init(gantry__condition_t *condition) {
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0) return error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (error == 0) error = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return error;
}

void gantry__condition_wait(gantry__condition_t *condition, gantry__mutex_t *mutex,
                            uint64_t deadline_ns) {
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
                                .tv_nsec = (long)(deadline_ns % UINT64_C(1000000000))};
    (void)pthread_cond_timedwait(condition, mutex, &deadline);
}
