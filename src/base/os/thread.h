/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, locks and conditions: the few services of threads that Gantry uses. This is the one
 * place that includes the system's threads.
 *
 * Functions that return an int return 0, or an errno value. Owner: whoever has initialised a lock
 * or a condition must end it, and whoever has started a thread must join it. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_OS_THREAD_H
#define GANTRY_BASE_OS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/clock.h"

/* The three types, and the functions that are short where the system is POSIX:
 *
 *   gantry__mutex_init, _deinit, _lock, _unlock   a lock
 *   gantry__mutex_try_lock                        locks a mutex that is free; false: another thread
 *                                                 holds it
 *   gantry__condition_deinit, _wake_all, _wake_one
 *   gantry__condition_await                       gantry__condition_wait without a deadline
 *   gantry__thread_join, _self, _is_self */
#if defined(_WIN32)
#include "base/os/windows/thread_kinds.h"
#else
#include "base/os/posix/thread_kinds.h"
#endif

int gantry__condition_init(gantry__condition_t *condition);
/* Waits on the clock of gantry__now_ns. Returns when woken, at deadline_ns, or spuriously;
 * therefore the caller must check its condition again. */
void gantry__condition_wait(gantry__condition_t *condition, gantry__mutex_t *mutex,
                            uint64_t deadline_ns);

/* Starts a thread that receives no signals, because these belong to the program's own threads.
 * stack_bytes 0: as large a stack as the system chooses. */
int gantry__thread_start(gantry__thread_t *out_thread, size_t stack_bytes, void *(*body)(void *),
                         void *argument);
/* Names a thread, by at most 15 bytes, for debuggers. */
void gantry__thread_name(gantry__thread_t thread, const char *name);
/* Leaves the processor to another thread that is ready. */
void gantry__thread_yield(void);

/* Returns the number of processor cores that this process may use, which is at least 1. */
uint32_t gantry__os_usable_cores(void);

#endif
