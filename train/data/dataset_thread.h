/* SPDX-License-Identifier: Apache-2.0 */
/* Threads for data sets. Owner: the caller, who must join each thread that was started. Threads:
 * thread-safe. */
#ifndef GANTRY_TRAIN_DATASET_THREAD_H
#define GANTRY_TRAIN_DATASET_THREAD_H

#include "base/os/thread.h"

/* Starts a thread whose floating-point mode is the program's. Returns 0 or an errno value. */
int gantry__train_thread_start(gantry__thread_t *thread, void *(*body)(void *), void *argument);

#endif
