/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of one reduction over the tree that read elements of the input, for one type and
 * operation. Files that are compiled once for each instruction set include this, so it has no
 * guard. The includer must define BODY_NAME(x), BODY_IN, BODY_ACC, BODY_LOAD(x), BODY_OP(a, b) and
 * BODY_IDENTITY, which mean the same as the TREE_ names of reduce_cpu_tree.h, and BODY_JOIN(x), the
 * names that reduce_cpu_join.h made for BODY_ACC and the operation. The file undefines them at its
 * end. The includer may define BODY_FIRST(x), if a lane's first element needs no operation;
 * BODY_HAS_FEW and BODY_HAS_PAIR, for types that are worth the code of `few` and `pair`; and
 * BODY_ROLLS, as TREE_ROLLS.
 *
 * A table holds BODY_NAME(loops). Owner: the entry point owns what a plan points to. Threads:
 * thread-safe for units that differ. */

#define TREE_NAME(x) BODY_NAME(x)
#define TREE_IN BODY_IN
#define TREE_ACC BODY_ACC
#define TREE_LOAD(x) BODY_LOAD(x)
#define TREE_OP(a, b) BODY_OP(a, b)
#define TREE_IDENTITY BODY_IDENTITY
#ifdef BODY_ROLLS
#define TREE_ROLLS
#endif
#include "kernels/reduce/reduce_cpu_tree.h"

#ifndef BODY_FIRST
#define BODY_FIRST(x) BODY_NAME(first)(BODY_LOAD(x))
#endif

static void BODY_NAME(add)(void *restrict acc, const void *restrict x, int64_t rounds,
                           int64_t stride, int64_t count) {
    BODY_NAME(steps)(acc, x, rounds, stride, count, 0);
}

static void BODY_NAME(line)(void *target, const void *x, int64_t count, int64_t ahead) {
    _Alignas(64) BODY_ACC acc[GANTRY_REDUCE_LANES];
    BODY_NAME(fill)(acc, GANTRY_REDUCE_LANES);
    BODY_NAME(add_sequence)(acc, x, count, ahead);
    *(BODY_ACC *)target = BODY_JOIN(fold_all)(acc);
}

#ifdef BODY_HAS_PAIR

/* Adds one element to each lane. Each place from which memory is read has a loop of its own,
 * unrolled, because the hardware prefetcher follows each load instruction separately. */
static inline __attribute__((always_inline)) void BODY_NAME(row)(BODY_ACC *restrict acc,
                                                                 const BODY_IN *restrict x) {
#pragma GCC unroll 16
    for (int i = 0; i < GANTRY_REDUCE_LANES; ++i) {
        BODY_ACC value = BODY_LOAD(x[i]);
        acc[i] = BODY_OP(acc[i], value);
    }
}

static void BODY_NAME(pair)(void *target, void *other, const void *x, const void *y,
                            int64_t count) {
    _Alignas(64) BODY_ACC acc[GANTRY_REDUCE_LANES], others[GANTRY_REDUCE_LANES];
    BODY_NAME(fill)(acc, GANTRY_REDUCE_LANES);
    BODY_NAME(fill)(others, GANTRY_REDUCE_LANES);
    for (int64_t i = 0; i < count; i += GANTRY_REDUCE_LANES) {
        BODY_NAME(row)(acc, (const BODY_IN *)x + i);
        BODY_NAME(row)(others, (const BODY_IN *)y + i);
    }
    *(BODY_ACC *)target = BODY_JOIN(fold_all)(acc);
    *(BODY_ACC *)other = BODY_JOIN(fold_all)(others);
}

#endif

/* `unroll 1`: TREE_ROLLED in reduce_cpu_tree.h says why. */
static void BODY_NAME(enter)(void *restrict acc, const void *restrict x, int64_t count) {
    BODY_ACC *out = acc;
    const BODY_IN *in = x;
#pragma GCC unroll 1
    for (int64_t i = 0; i < count; ++i) {
        out[i] = BODY_FIRST(in[i]);
    }
}

#ifdef BODY_HAS_FEW

static void BODY_NAME(few)(void *restrict result, const void *const *rows, int64_t count,
                           int64_t width) {
    BODY_ACC *target = result;
    const BODY_IN *restrict a = rows[0];
    const BODY_IN *restrict b = rows[1];
    const BODY_IN *restrict c = count > 2 ? rows[2] : a;
    const BODY_IN *restrict d = count > 3 ? rows[3] : a;
    if (count == 2) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < width; ++i) {
            BODY_ACC p = BODY_FIRST(a[i]), q = BODY_FIRST(b[i]);
            target[i] = BODY_OP(p, q);
        }
    } else if (count == 3) {
#pragma GCC unroll 1
        for (int64_t i = 0; i < width; ++i) {
            BODY_ACC p = BODY_FIRST(a[i]), q = BODY_FIRST(b[i]), r = BODY_FIRST(c[i]);
            BODY_ACC pr = BODY_OP(p, r);
            target[i] = BODY_OP(pr, q);
        }
    } else {
#pragma GCC unroll 1
        for (int64_t i = 0; i < width; ++i) {
            BODY_ACC p = BODY_FIRST(a[i]), q = BODY_FIRST(b[i]), r = BODY_FIRST(c[i]),
                     s = BODY_FIRST(d[i]);
            BODY_ACC pr = BODY_OP(p, r), qs = BODY_OP(q, s);
            target[i] = BODY_OP(pr, qs);
        }
    }
}

#endif

static void BODY_NAME(loops)(gantry__cpu_reduce_loops_t *loops) {
    BODY_JOIN(loops)(loops);
    loops->in_bytes = sizeof(BODY_IN);
    loops->add = BODY_NAME(add);
    loops->line = BODY_NAME(line);
#ifdef BODY_HAS_PAIR
    loops->pair = BODY_NAME(pair);
#endif
    loops->enter = BODY_NAME(enter);
#ifdef BODY_HAS_FEW
    loops->few = BODY_NAME(few);
#endif
}

#undef BODY_FIRST
#undef BODY_HAS_FEW
#undef BODY_HAS_PAIR
#undef BODY_ROLLS
#undef BODY_NAME
#undef BODY_JOIN
#undef BODY_IN
#undef BODY_ACC
#undef BODY_LOAD
#undef BODY_OP
#undef BODY_IDENTITY
