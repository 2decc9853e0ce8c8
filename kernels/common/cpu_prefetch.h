/* SPDX-License-Identifier: Apache-2.0 */
/* Software prefetch, for loops for which the hardware prefetcher starts too late and fetches too
 * little. A prefetch never faults, so the address need not be mapped. For data that is already in
 * the cache it gains nothing and costs an instruction; therefore a short loop tests its total size
 * first (reduce_cpu.h).
 *
 * Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_PREFETCH_H
#define GANTRY_KERNELS_CPU_PREFETCH_H

#include <stdint.h>

#define GANTRY__CPU_LINE_BYTES 64

static inline __attribute__((always_inline)) void gantry__cpu_prefetch(uintptr_t address,
                                                                       uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += GANTRY__CPU_LINE_BYTES) {
        __builtin_prefetch((const void *)(address + (uintptr_t)at));
    }
}

/* The same for memory that will be written. */
static inline __attribute__((always_inline)) void gantry__cpu_prefetch_for_write(uintptr_t address,
                                                                                 uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += GANTRY__CPU_LINE_BYTES) {
        __builtin_prefetch((const void *)(address + (uintptr_t)at), 1);
    }
}

#endif
