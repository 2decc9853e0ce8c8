/* SPDX-License-Identifier: Apache-2.0 */
/* The memory policy of all devices of one runtime: the settings as numbers.
 *
 * Owner: the device table, which holds them as plain values. Threads: filled when the device table
 * is made, constant after that. */
#ifndef GANTRY_DEVICE_MEMORY_POLICY_H
#define GANTRY_DEVICE_MEMORY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gantry__memory_policy_t {
    /* largest region that growth takes at once, unless one tensor needs more */
    uint64_t step_bytes;
    uint64_t split_bytes;        /* a chunk is split if this much would be left over */
    bool collect;                /* give empty regions back when memory runs out */
    uint32_t retry_ms;           /* how long an allocation waits for memory to come free; */
    bool explicit_retry;         /* false: only while another op holds temporary memory */
    uint64_t pinned_limit_bytes; /* host memory for staging, all devices together */
    bool oom_fallback;           /* an op that finds no memory on its device runs on the CPU */
} gantry__memory_policy_t;

#define GANTRY__MEMORY_POLICY_DEFAULTS                                                       \
    {                                                                                        \
        .step_bytes = UINT64_C(1) << 30, .split_bytes = UINT64_C(64) << 10, .collect = true, \
        .retry_ms = 10000, .explicit_retry = false, .pinned_limit_bytes = UINT64_C(1) << 30, \
        .oom_fallback = false                                                                \
    }

#endif
