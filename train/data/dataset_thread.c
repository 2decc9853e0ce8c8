/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/dataset_thread.h"

#include "train/base/fp_mode.h"

int gantry__train_thread_start(gantry__thread_t *thread, void *(*body)(void *), void *argument) {
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    return gantry__thread_start(thread, 0, body, argument);
}
