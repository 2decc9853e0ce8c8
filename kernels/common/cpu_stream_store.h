/* SPDX-License-Identifier: Apache-2.0 */
/* Non-temporal (streaming) stores, a cache line of 64 bytes at a time. They bypass the caches, so a
 * line that would be evicted anyway is not read before it is written. The file is compiled once for
 * each instruction set (cpu_simd.h); processors other than x86-64 take plain copies.
 *
 * Owner: the arrays are the caller's, and both must be aligned to a line. Threads: thread-safe for
 * different lines; a thread must call the fence after its stores before it lets another thread read
 * them. */
#ifndef GANTRY_KERNELS_CPU_STREAM_STORE_H
#define GANTRY_KERNELS_CPU_STREAM_STORE_H

#include <string.h>

#include "kernels/common/cpu_prefetch.h"

typedef struct gantry__stream_line_t {
    _Alignas(GANTRY__CPU_LINE_BYTES) char bytes[GANTRY__CPU_LINE_BYTES];
} gantry__stream_line_t;

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__AVX512F__)
static inline void gantry__cpu_stream_line(char *out, const char *in) {
    _mm512_stream_si512((void *)out, _mm512_load_si512((const void *)in));
}
#elif defined(__AVX2__)
static inline void gantry__cpu_stream_line(char *out, const char *in) {
    _mm256_stream_si256((void *)out, _mm256_load_si256((const void *)in));
    _mm256_stream_si256((void *)(out + 32), _mm256_load_si256((const void *)(in + 32)));
}
#else
static inline void gantry__cpu_stream_line(char *out, const char *in) {
    for (int i = 0; i < GANTRY__CPU_LINE_BYTES; i += 16) {
        _mm_stream_si128((void *)(out + i), _mm_load_si128((const void *)(in + i)));
    }
}
#endif

static inline void gantry__cpu_stream_fence(void) { _mm_sfence(); }
#else
static inline void gantry__cpu_stream_line(char *out, const char *in) {
    memcpy(out, in, GANTRY__CPU_LINE_BYTES);
}

static inline void gantry__cpu_stream_fence(void) {}
#endif

#endif
