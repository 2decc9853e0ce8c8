/* SPDX-License-Identifier: Apache-2.0 */
/* The reduction tree of kernels/reduce/reduce.cl as loops that compilers turn into vector code. It
 * has no guard, because files that are compiled once for each instruction set include it once per
 * type and operation. The includer must define the operation, for all instances that follow:
 *
 *   TREE_OP(a, b)  the operation, a earlier than b
 *   TREE_IDENTITY  its identity (+0, -infinity, ...)
 *
 * and for each instance these, which the file undefines at its end, unless it is a part of
 * reduce_cpu_body.h or reduce_cpu_join.h, which define TREE_GOES_ON:
 *
 *   TREE_NAME(x)   the name of x in this instance
 *   TREE_IN        element type of the input
 *   TREE_ACC       type of partial results; that of elements by default
 *   TREE_LOAD(x)   an element of the input as it enters its lane; x by default
 *   TREE_ROLLS     may be defined if loading an element takes most of the time, so that an
 *                  unrolled loop over lanes would gain nothing
 *
 * A sequence's lanes are in `acc` as [lane][column], which is also the order of the input when its
 * rows follow each other, so that one loop over 64 * columns elements serves every number of
 * columns. Lanes to which no element belongs must hold the identity. Owner: arrays are the
 * caller's. Threads: thread-safe for arrays that differ. */

#ifndef TREE_ACC
#define TREE_ACC TREE_IN
#endif
#ifndef TREE_LOAD
#define TREE_LOAD(x) (x)
#endif

/* Sums are compiled with -fpeel-loops (gantry_simd.cmake), which unrolls each loop that is short or
 * leaves a short rest. TREE_ROLLED keeps a loop that would only grow. */
#define TREE_ROLLED _Pragma("GCC unroll 1")
#ifdef TREE_ROLLS
#define TREE_LANES_LOOP TREE_ROLLED
#else
#define TREE_LANES_LOOP
#endif

static inline void TREE_NAME(fill)(TREE_ACC *acc, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        acc[i] = TREE_IDENTITY;
    }
}

/* What a lane holds after its first element x: the identity joined with x. */
static inline __attribute__((always_inline)) TREE_ACC TREE_NAME(first)(TREE_ACC x) {
    TREE_ACC identity = TREE_IDENTITY;
    return TREE_OP(identity, x);
}

/* acc = TREE_OP(acc, x), element by element. */
static inline __attribute__((always_inline)) void TREE_NAME(step)(TREE_ACC *restrict acc,
                                                                  const TREE_IN *restrict x,
                                                                  int64_t count) {
    TREE_LANES_LOOP
    for (int64_t i = 0; i < count; ++i) {
        TREE_ACC value = TREE_LOAD(x[i]);
        acc[i] = TREE_OP(acc[i], value);
    }
}

/* Does step for `rounds` pieces of x that are `stride` elements apart. Takes four at a time, so
 * that acc stays in registers. Prefetches `ahead` elements ahead; 0: does not prefetch. */
static inline __attribute__((always_inline)) void TREE_NAME(steps)(TREE_ACC *restrict acc,
                                                                   const TREE_IN *restrict x,
                                                                   int64_t rounds, int64_t stride,
                                                                   int64_t count, int64_t ahead) {
    int64_t round = 0;
    for (; round + 4 <= rounds; round += 4) {
        const TREE_IN *restrict p = x + round * stride;
        for (int piece = 0; ahead != 0 && piece < 4; ++piece) {
            gantry__cpu_prefetch((uintptr_t)p + (uintptr_t)(piece * stride + ahead) * sizeof *p,
                                 (uint64_t)count * sizeof *p);
        }
        TREE_LANES_LOOP
        for (int64_t i = 0; i < count; ++i) {
            TREE_ACC a = TREE_LOAD(p[i]), b = TREE_LOAD(p[i + stride]),
                     c = TREE_LOAD(p[i + 2 * stride]), d = TREE_LOAD(p[i + 3 * stride]);
            TREE_ACC sum = TREE_OP(acc[i], a);
            sum = TREE_OP(sum, b);
            sum = TREE_OP(sum, c);
            acc[i] = TREE_OP(sum, d);
        }
    }
    for (; round < rounds; ++round) {
        TREE_NAME(step)(acc, x + round * stride, count);
    }
}

/* Folds lanes, which must be a power of two, of `columns` columns into the first one. */
static inline void TREE_NAME(fold)(TREE_ACC *acc, int64_t lanes, int64_t columns) {
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < half * columns; ++i) {
            acc[i] = TREE_OP(acc[i], acc[i + half * columns]);
        }
    }
}

/* Folds the 64 lanes of one sequence. The steps are written out, because a loop over `half` would
 * not become vector code. */
static inline __attribute__((always_inline)) TREE_ACC TREE_NAME(fold_lanes)(TREE_ACC *acc) {
#define TREE_HALF(half)                            \
    for (int i = 0; i < (half); ++i) {             \
        acc[i] = TREE_OP(acc[i], acc[i + (half)]); \
    }
    TREE_HALF(32)
    TREE_HALF(16)
    TREE_HALF(8)
    TREE_HALF(4)
    TREE_HALF(2)
    TREE_HALF(1)
#undef TREE_HALF
    return acc[0];
}

/* Adds adjacent elements, the first of which belongs to lane 0, and pads them to 64 with the
 * identity. `ahead` has the meaning that it has in steps. */
static inline __attribute__((always_inline)) void TREE_NAME(add_sequence)(TREE_ACC *restrict acc,
                                                                          const TREE_IN *restrict x,
                                                                          int64_t count,
                                                                          int64_t ahead) {
    int64_t rounds = count / GANTRY_REDUCE_LANES;
    int64_t rest = count - rounds * GANTRY_REDUCE_LANES;
    TREE_NAME(steps)(acc, x, rounds, GANTRY_REDUCE_LANES, GANTRY_REDUCE_LANES, ahead);
    if (rest > 0) {
        TREE_ACC padded[GANTRY_REDUCE_LANES];
        TREE_NAME(fill)(padded, GANTRY_REDUCE_LANES);
        TREE_ROLLED
        for (int64_t i = 0; i < rest; ++i) {
            padded[i] = TREE_LOAD(x[rounds * GANTRY_REDUCE_LANES + i]);
        }
        for (int64_t i = 0; i < GANTRY_REDUCE_LANES; ++i) {
            acc[i] = TREE_OP(acc[i], padded[i]);
        }
    }
}

/* Reduces a chunk of at most 4096 adjacent elements. */
static inline TREE_ACC TREE_NAME(chunk)(const TREE_IN *x, int64_t count) {
    _Alignas(64) TREE_ACC acc[GANTRY_REDUCE_LANES];
    TREE_NAME(fill)(acc, GANTRY_REDUCE_LANES);
    TREE_NAME(add_sequence)(acc, x, count, 0);
    return TREE_NAME(fold_lanes)(acc);
}

#undef TREE_LANES_LOOP
#undef TREE_ROLLED
#ifndef TREE_GOES_ON
#include "kernels/reduce/reduce_cpu_tree_end.h"
#endif
#undef TREE_GOES_ON
