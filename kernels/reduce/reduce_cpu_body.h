/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of one reduction over the tree that read elements of the input, for one type and
 * operation. Files that are compiled once for each instruction set include this, so it has no
 * guard. The includer must define what reduce_cpu_tree.h needs, and TREE_JOIN(x), the names that
 * reduce_cpu_join.h made for TREE_ACC and the operation. The file undefines them at its end, but
 * not the operation. The includer may define TREE_FIRST(x), if a lane's first element needs no
 * operation; and TREE_HAS_FEW and TREE_HAS_PAIR, for types that are worth the code of `few` and
 * `pair`.
 *
 * A table holds TREE_NAME(loops). Owner: the entry point owns what a plan points to. Threads:
 * thread-safe for units that differ. */

#define TREE_GOES_ON
#include "kernels/reduce/reduce_cpu_tree.h"

#ifndef TREE_FIRST
#define TREE_FIRST(x) TREE_NAME(first)(TREE_LOAD(x))
#endif

static void TREE_NAME(add)(void *restrict acc, const void *restrict x, int64_t rounds,
                           int64_t stride, int64_t count) {
    TREE_NAME(steps)(acc, x, rounds, stride, count, 0);
}

static void TREE_NAME(line)(void *target, const void *x, int64_t count, int64_t ahead) {
    _Alignas(64) TREE_ACC acc[GANTRY_REDUCE_LANES];
    TREE_NAME(fill)(acc, GANTRY_REDUCE_LANES);
    TREE_NAME(add_sequence)(acc, x, count, ahead);
    *(TREE_ACC *)target = TREE_JOIN(fold_all)(acc);
}

#ifdef TREE_HAS_PAIR

/* Adds one element to each lane. Each place from which memory is read has a loop of its own,
 * unrolled, because the hardware prefetcher follows each load instruction separately. */
static inline __attribute__((always_inline)) void TREE_NAME(row)(TREE_ACC *restrict acc,
                                                                 const TREE_IN *restrict x) {
#pragma GCC unroll 16
    for (int i = 0; i < GANTRY_REDUCE_LANES; ++i) {
        TREE_ACC value = TREE_LOAD(x[i]);
        acc[i] = TREE_OP(acc[i], value);
    }
}

static void TREE_NAME(pair)(void *target, void *other, const void *x, const void *y,
                            int64_t count) {
    _Alignas(64) TREE_ACC acc[GANTRY_REDUCE_LANES], others[GANTRY_REDUCE_LANES];
    TREE_NAME(fill)(acc, GANTRY_REDUCE_LANES);
    TREE_NAME(fill)(others, GANTRY_REDUCE_LANES);
    for (int64_t i = 0; i < count; i += GANTRY_REDUCE_LANES) {
        TREE_NAME(row)(acc, (const TREE_IN *)x + i);
        TREE_NAME(row)(others, (const TREE_IN *)y + i);
    }
    *(TREE_ACC *)target = TREE_JOIN(fold_all)(acc);
    *(TREE_ACC *)other = TREE_JOIN(fold_all)(others);
}

#endif

/* `unroll 1`: TREE_ROLLED in reduce_cpu_tree.h says why. */
static void TREE_NAME(enter)(void *restrict acc, const void *restrict x, int64_t count) {
    TREE_ACC *out = acc;
    const TREE_IN *in = x;
#pragma GCC unroll 1
    for (int64_t i = 0; i < count; ++i) {
        out[i] = TREE_FIRST(in[i]);
    }
}

#ifdef TREE_HAS_FEW

static void TREE_NAME(few)(void *restrict result, const void *const *rows, int64_t count,
                           int64_t width) {
    TREE_ACC *target = result;
    const TREE_IN *restrict a = rows[0];
    const TREE_IN *restrict b = rows[1];
    const TREE_IN *restrict c = count > 2 ? rows[2] : a;
    const TREE_IN *restrict d = count > 3 ? rows[3] : a;
    if (count == 2) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < width; ++i) {
            TREE_ACC p = TREE_FIRST(a[i]), q = TREE_FIRST(b[i]);
            target[i] = TREE_OP(p, q);
        }
    } else if (count == 3) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < width; ++i) {
            TREE_ACC p = TREE_FIRST(a[i]), q = TREE_FIRST(b[i]), r = TREE_FIRST(c[i]);
            TREE_ACC pr = TREE_OP(p, r);
            target[i] = TREE_OP(pr, q);
        }
    } else {
#pragma GCC unroll 1
        for (int64_t i = 0; i < width; ++i) {
            TREE_ACC p = TREE_FIRST(a[i]), q = TREE_FIRST(b[i]), r = TREE_FIRST(c[i]),
                     s = TREE_FIRST(d[i]);
            TREE_ACC pr = TREE_OP(p, r), qs = TREE_OP(q, s);
            target[i] = TREE_OP(pr, qs);
        }
    }
}

#endif

static void TREE_NAME(loops)(gantry__cpu_reduce_loops_t *loops) {
    TREE_JOIN(loops)(loops);
    loops->in_bytes = sizeof(TREE_IN);
    loops->add = TREE_NAME(add);
    loops->line = TREE_NAME(line);
#ifdef TREE_HAS_PAIR
    loops->pair = TREE_NAME(pair);
#endif
    loops->enter = TREE_NAME(enter);
#ifdef TREE_HAS_FEW
    loops->few = TREE_NAME(few);
#endif
}

#undef TREE_FIRST
#undef TREE_HAS_FEW
#undef TREE_HAS_PAIR
#undef TREE_JOIN
#include "kernels/reduce/reduce_cpu_tree_end.h"
