/* SPDX-License-Identifier: Apache-2.0 */
/* The training library's requests to the system in tests, which refuses them on request. The linker
 * puts __wrap_fsync and __wrap_gantry__train_thread_start in place of the functions. */
#ifndef TESTS_TRAIN_SYSTEM_H
#define TESTS_TRAIN_SYSTEM_H

#include <stdatomic.h>

extern atomic_int train_flushes;      /* calls of fsync so far; a test may set it */
extern atomic_int train_flush_error;  /* the errno with which fsync fails; 0: it works */
extern atomic_long train_starts_left; /* starts of threads that succeed; -1: all */

#endif
