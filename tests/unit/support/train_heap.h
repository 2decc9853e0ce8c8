/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of libgantry_train or libgantry_onnx in tests: counted, and failing on request. The
 * linker puts __wrap_gantry__reallocate in place of the function of src/shared.
 *
 *     train_heap_reset(-1);                 none fails
 *     train_heap_reset(n);                  allocation n fails, counted from 0
 *     assert_int_equal(train_heap_live(), 0) */
#ifndef TESTS_TRAIN_HEAP_H
#define TESTS_TRAIN_HEAP_H

#include <stddef.h>

#include <gantry/gantry.h>

void train_heap_reset(long fail_at);
/* Blocks that live; may be negative if blocks of before the reset were freed. */
long train_heap_live(void);
/* The most bytes that lived at a time since the reset. */
long train_heap_peak_bytes(void);
/* Allocations since the reset, and whether one of them failed. */
long train_heap_count(void);
/* Runs work until it is OK: in run n, allocation n fails, and work must return ResourceExhausted.
 * After each run no block of it lives. Returns the number of runs with a failure. Later allocations
 * do not fail. Fails the test that calls it, with name. */
long train_heap_fail_each(const char *name, gantry_status_t (*work)(void *user), void *user);

#endif
