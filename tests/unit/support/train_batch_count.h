/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the checks of batches in the training library. The linker puts
 * __wrap_gantry__batch_accept in place of the library's function. Not thread-safe. */
#ifndef TESTS_TRAIN_BATCH_COUNT_H
#define TESTS_TRAIN_BATCH_COUNT_H

/* Returns how many batches were checked since the last call. */
int train_batch_count(void);

#endif
