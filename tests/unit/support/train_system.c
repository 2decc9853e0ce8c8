/* SPDX-License-Identifier: Apache-2.0 */
#include "train_system.h"

#include <errno.h>
#include <pthread.h>

atomic_int train_flushes, train_flush_error;
atomic_long train_starts_left = -1;

int __real_fsync(int file);
int __wrap_fsync(int file);
int __real_gantry__train_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);
int __wrap_gantry__train_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

int __wrap_fsync(int file) {
    ++train_flushes;
    if (!train_flush_error) return __real_fsync(file);
    errno = train_flush_error;
    return -1;
}

int __wrap_gantry__train_thread_start(pthread_t *thread, void *(*body)(void *), void *argument) {
    const long left = train_starts_left;
    if (left == 0) return EAGAIN;
    if (left > 0) train_starts_left = left - 1;
    return __real_gantry__train_thread_start(thread, body, argument);
}
