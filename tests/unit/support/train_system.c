/* SPDX-License-Identifier: Apache-2.0 */
#include "train_system.h"

#include <errno.h>
#include <pthread.h>

atomic_int train_flushes, train_flush_error;
atomic_long train_starts_left = -1;

int __real_gantry__os_flush(int file);
int __wrap_gantry__os_flush(int file);
int __real_gantry__train_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);
int __wrap_gantry__train_thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

int __wrap_gantry__os_flush(int file) {
    ++train_flushes;
    return train_flush_error ? train_flush_error : __real_gantry__os_flush(file);
}

int __wrap_gantry__train_thread_start(pthread_t *thread, void *(*body)(void *), void *argument) {
    const long left = train_starts_left;
    if (left == 0) return EAGAIN;
    if (left > 0) train_starts_left = left - 1;
    return __real_gantry__train_thread_start(thread, body, argument);
}
