/* SPDX-License-Identifier: Apache-2.0 */
/* Several sequences become one that takes an element of each in turn: [groups, count] becomes
 * [count, groups]. Sequences of two to four groups have loops that the compiler makes vectors of.
 *
 * Owner: the caller's memory, which must not overlap. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CPU_INTERLEAVE_H
#define GANTRY_KERNELS_CPU_INTERLEAVE_H

#include <stdint.h>

/* to[j * groups + i] = from[i * step + j], for elements of one type. */
#define GANTRY__CPU_INTERLEAVE(name, T)                                                          \
    static inline __attribute__((always_inline)) void name##_of(                                 \
        T *restrict to, const T *restrict from, int64_t step, int64_t groups, int64_t count) {   \
        for (int64_t j = 0; j < count; ++j)                                                      \
            for (int64_t i = 0; i < groups; ++i) to[j * groups + i] = from[i * step + j];        \
    }                                                                                            \
    static inline void name(T *to, const T *from, int64_t step, int64_t groups, int64_t count) { \
        switch (groups) {                                                                        \
            case 2: name##_of(to, from, step, 2, count); return;                                 \
            case 3: name##_of(to, from, step, 3, count); return;                                 \
            case 4: name##_of(to, from, step, 4, count); return;                                 \
            default: name##_of(to, from, step, groups, count); return;                           \
        }                                                                                        \
    }
GANTRY__CPU_INTERLEAVE(gantry__cpu_interleave_4, uint32_t)
GANTRY__CPU_INTERLEAVE(gantry__cpu_interleave_8, uint64_t)

/* Rows of [groups, columns] become rows of [columns, groups]; elements have 4 or 8 bytes. */
static inline void gantry__cpu_interleave_rows(char *to, const char *from, int64_t size,
                                               int64_t rows, int64_t groups, int64_t columns) {
    const int64_t bytes = groups * columns * size;
    for (int64_t i = 0; i < rows; ++i, to += bytes, from += bytes) {
        if (size == 4)
            gantry__cpu_interleave_4((uint32_t *)(void *)to, (const uint32_t *)(const void *)from,
                                     columns, groups, columns);
        else
            gantry__cpu_interleave_8((uint64_t *)(void *)to, (const uint64_t *)(const void *)from,
                                     columns, groups, columns);
    }
}

#endif
