/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pthread_setname_np, sched_getaffinity */
#include "base/os/thread.h"

#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* ---- conditions ---- */

#if defined(__APPLE__)
/* This system's conditions know the clock of the calendar, and a span of time. */
int gantry__condition_init(gantry__condition_t *condition) {
    return pthread_cond_init(condition, NULL);
}

void gantry__condition_wait(gantry__condition_t *condition, gantry__mutex_t *mutex,
                            uint64_t deadline_ns) {
    const uint64_t now = gantry__now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
    const struct timespec span = {.tv_sec = (time_t)(left / UINT64_C(1000000000)),
                                  .tv_nsec = (long)(left % UINT64_C(1000000000))};
    (void)pthread_cond_timedwait_relative_np(condition, mutex, &span);
}
#else
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
#endif

/* ---- threads ---- */

int gantry__thread_start(gantry__thread_t *out_thread, size_t stack_bytes, void *(*body)(void *),
                         void *argument) {
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (stack_bytes > 0) error = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (error == 0) error = pthread_create(out_thread, &attributes, body, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return error;
}

void gantry__thread_name(gantry__thread_t thread, const char *name) {
#if defined(__linux__)
    (void)pthread_setname_np(thread, name);
#else
    (void)thread;
    (void)name;
#endif
}

void gantry__thread_yield(void) { (void)sched_yield(); }

uint32_t gantry__os_usable_cores(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}
