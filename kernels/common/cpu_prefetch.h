/* SPDX-License-Identifier: Apache-2.0 */
/* Asking memory for what will be needed soon: a core by itself asks neither early nor much enough.
 * No access: there need be nothing at an address. What already lies in a core's caches gains
 * nothing and costs the instruction: loops that do little else look at the size of the whole first
 * (reduce_cpu.h).
 *
 * Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_PREFETCH_H
#define GANTRY_KERNELS_CPU_PREFETCH_H

#include <stdint.h>

#define GANTRY__CPU_LINE_BYTES 64

static inline __attribute__((always_inline)) void gantry__cpu_want(uintptr_t address,
                                                                   uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += GANTRY__CPU_LINE_BYTES) {
        __builtin_prefetch((const void *)(address + (uintptr_t)at));
    }
}

/* Of memory that will be written. */
static inline __attribute__((always_inline)) void gantry__cpu_want_to_write(uintptr_t address,
                                                                            uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += GANTRY__CPU_LINE_BYTES) {
        __builtin_prefetch((const void *)(address + (uintptr_t)at), 1);
    }
}

#endif
