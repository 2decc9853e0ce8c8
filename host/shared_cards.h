/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the program lets NCCL put several ranks on one card, which a strategy and the CUDA
 * backend must judge alike.
 *
 * Owner: none. Threads: thread-safe, while no thread changes the environment. */
#ifndef GANTRY_HOST_SHARED_CARDS_H
#define GANTRY_HOST_SHARED_CARDS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The variable is NCCL's own; NCCL heeds it from 2.30 on. */
static inline bool gantry__shares_cards(void) {
    const char *text = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return text && strcmp(text, "1") == 0;
}

#endif
