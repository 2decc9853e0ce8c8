/* SPDX-License-Identifier: Apache-2.0 */
/* The training library's requests to the system in tests, which refuses them on request. The linker
 * puts __wrap_gantry__os_flush and __wrap_gantry__train_thread_start in place of the functions. */
#ifndef TESTS_TRAIN_SYSTEM_H
#define TESTS_TRAIN_SYSTEM_H

#include <stdatomic.h>

extern atomic_int train_flushes;      /* flushes so far; a test may set it */
extern atomic_int train_flush_error;  /* the errno of flushes; 0: they work */
extern atomic_long train_starts_left; /* starts of threads that succeed; -1: all */

#endif
