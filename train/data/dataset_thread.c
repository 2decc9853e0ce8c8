/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "train/data/dataset_thread.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "train/base/fp_mode.h"

int gantry__train_thread_start(gantry__train_thread_t *thread, void *(*body)(void *),
                               void *argument) {
    sigset_t all, before;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, body, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

size_t gantry__train_usable_cores(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (size_t)CPU_COUNT(&set);
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}
