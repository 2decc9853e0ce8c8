/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of host memory, at one pace wherever both ends lie. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_COPY_H
#define GANTRY_KERNELS_CPU_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* By loads and stores, for what memcpy is slow with. */
void gantry__cpu_copy_lines(void *to, const void *from, size_t bytes);

/* From 2 KiB on glibc's memcpy is one instruction of x86 (rep movsb), which AMD's Zen 3 does at 2
 * to 3 GB/s, not 40, where the target is 1 to 31 bytes further on in its page than the source. A
 * large block of malloc is: it begins 16 behind a page. */
static inline void gantry__cpu_copy(void *to, const void *from, size_t bytes) {
    if (bytes >= 2048 && ((uintptr_t)to - (uintptr_t)from - 1) % 4096 < 31) {
        gantry__cpu_copy_lines(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

#endif
