/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of host memory whose speed does not depend on the addresses. Owner: nothing; both blocks
 * are the caller's, and must not overlap. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_COPY_H
#define GANTRY_KERNELS_CPU_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies by loads and stores, for pairs of addresses with which memcpy is slow. */
void gantry__cpu_copy_lines(void *to, const void *from, size_t bytes);
/* Transposes rows x columns elements of 4 or 8 bytes; the strides are between the rows of `in` and
 * those of `out`. */
void gantry__cpu_transpose(const void *in, int64_t in_stride, void *out, int64_t out_stride,
                           int64_t rows, int64_t columns, int64_t size);

/* From 2 KiB on glibc's memcpy is one instruction of x86 (rep movsb). AMD's Zen 3 runs it at 2 to 3
 * GB/s, not 40, if the target begins 1 to 31 bytes further into its page than the source. Large
 * blocks of malloc are such targets, because they start 16 bytes into a page. */
static inline void gantry__cpu_copy(void *to, const void *from, size_t bytes) {
    if (bytes >= 2048 && ((uintptr_t)to - (uintptr_t)from - 1) % 4096 < 31) {
        gantry__cpu_copy_lines(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

#endif
