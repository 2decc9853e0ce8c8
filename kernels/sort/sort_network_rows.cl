/* SPDX-License-Identifier: Apache-2.0 */
/* A network that sorts GANTRY_NETWORK_ROWS rows at a time, each in a lane of vectors: the sequence
 * of comparisons does not depend on the keys. Batcher's bitonic merges (Knuth, The Art of Computer
 * Programming 3, 5.3.4): the first level compares the places of a run with those of the next run
 * backwards. Every comparison then puts the smaller key in front, and comparisons with places
 * beyond the end may be left out. Levels are done two or three at a time, on places that stay in
 * registers: network_uint and network_ulong, for keys of four and eight bytes.
 *
 *     lanes    [length, GANTRY_NETWORK_ROWS], of which the first `filled` places are keys. length
 *              is a multiple of GANTRY_NETWORK_STEP; greatest keys fill the rest */
#ifndef GANTRY_NETWORK_SIZES
#define GANTRY_NETWORK_SIZES

#define GANTRY_NETWORK_ROWS 16
#define GANTRY_NETWORK_STEP 8

#endif

#if defined(GANTRY_ITEM_TEXT) && (!defined(GANTRY_SERIAL) || GANTRY_SERIAL) && \
    !defined(GANTRY_NETWORK_TEXT)
#define GANTRY_NETWORK_TEXT

/* Runs code for each lane; AT is its place. */
#if defined(__OPENCL_VERSION__)
/* These are vectors, not vload16, because PoCL makes loads of two elements of that. Lanes must
 * start at multiples of the vector's size. */
#define GANTRY_NETWORK_LANES(W, V) GANTRY_GLOBAL V *at = (GANTRY_GLOBAL V *)lanes;
#define GANTRY_NETWORK_KEYS(W, V) V
#define GANTRY_NETWORK_AT(place) at[place]
#define GANTRY_NETWORK_LESS(x, y) min(x, y)
#define GANTRY_NETWORK_MORE(x, y) max(x, y)
#else
#define GANTRY_NETWORK_LANES(W, V) \
    GANTRY_LANES for (int lane = 0; lane < GANTRY_NETWORK_ROWS; ++lane)
#define GANTRY_NETWORK_KEYS(W, V) W
#define GANTRY_NETWORK_AT(place) lanes[(place)*GANTRY_NETWORK_ROWS + lane]
#define GANTRY_NETWORK_LESS(x, y) ((x) < (y) ? (x) : (y))
#define GANTRY_NETWORK_MORE(x, y) ((x) < (y) ? (y) : (x))
#endif

/* Puts the keys v##i and v##j in order. */
#define GANTRY_ORDER(K_, i, j)                           \
    {                                                    \
        const K_ less = GANTRY_NETWORK_LESS(v##i, v##j); \
                                                         \
        v##j = GANTRY_NETWORK_MORE(v##i, v##j);          \
        v##i = less;                                     \
    }

/* Orders the keys of two places; `steps` orders those of four or eight. */
#define GANTRY_ORDER_2(W, V, p0, p1)                                                      \
    GANTRY_NETWORK_LANES(W, V) {                                                          \
        GANTRY_NETWORK_KEYS(W, V) v0 = GANTRY_NETWORK_AT(p0), v1 = GANTRY_NETWORK_AT(p1); \
                                                                                          \
        GANTRY_ORDER(GANTRY_NETWORK_KEYS(W, V), 0, 1)                                     \
        GANTRY_NETWORK_AT(p0) = v0;                                                       \
        GANTRY_NETWORK_AT(p1) = v1;                                                       \
    }
#define GANTRY_ORDER_4(W, V, steps, p0, p1, p2, p3)                                       \
    GANTRY_NETWORK_LANES(W, V) {                                                          \
        GANTRY_NETWORK_KEYS(W, V) v0 = GANTRY_NETWORK_AT(p0), v1 = GANTRY_NETWORK_AT(p1); \
        GANTRY_NETWORK_KEYS(W, V) v2 = GANTRY_NETWORK_AT(p2), v3 = GANTRY_NETWORK_AT(p3); \
                                                                                          \
        steps(GANTRY_NETWORK_KEYS(W, V)) GANTRY_NETWORK_AT(p0) = v0;                      \
        GANTRY_NETWORK_AT(p1) = v1;                                                       \
        GANTRY_NETWORK_AT(p2) = v2;                                                       \
        GANTRY_NETWORK_AT(p3) = v3;                                                       \
    }
#define GANTRY_ORDER_8(W, V, steps, p0, p1, p2, p3, p4, p5, p6, p7)                       \
    GANTRY_NETWORK_LANES(W, V) {                                                          \
        GANTRY_NETWORK_KEYS(W, V) v0 = GANTRY_NETWORK_AT(p0), v1 = GANTRY_NETWORK_AT(p1); \
        GANTRY_NETWORK_KEYS(W, V) v2 = GANTRY_NETWORK_AT(p2), v3 = GANTRY_NETWORK_AT(p3); \
        GANTRY_NETWORK_KEYS(W, V) v4 = GANTRY_NETWORK_AT(p4), v5 = GANTRY_NETWORK_AT(p5); \
        GANTRY_NETWORK_KEYS(W, V) v6 = GANTRY_NETWORK_AT(p6), v7 = GANTRY_NETWORK_AT(p7); \
                                                                                          \
        steps(GANTRY_NETWORK_KEYS(W, V)) GANTRY_NETWORK_AT(p0) = v0;                      \
        GANTRY_NETWORK_AT(p1) = v1;                                                       \
        GANTRY_NETWORK_AT(p2) = v2;                                                       \
        GANTRY_NETWORK_AT(p3) = v3;                                                       \
        GANTRY_NETWORK_AT(p4) = v4;                                                       \
        GANTRY_NETWORK_AT(p5) = v5;                                                       \
        GANTRY_NETWORK_AT(p6) = v6;                                                       \
        GANTRY_NETWORK_AT(p7) = v7;                                                       \
    }

/* The levels of a merge with distances 2 and 1; with 4, 2 and 1; and the first level, backwards,
 * with the next one or two. The comparisons of a row are independent. */
/* clang-format off */
#define GANTRY_HALVES_8(K_) \
    GANTRY_ORDER(K_, 0, 2) GANTRY_ORDER(K_, 1, 3) GANTRY_ORDER(K_, 4, 6) GANTRY_ORDER(K_, 5, 7) \
    GANTRY_ORDER(K_, 0, 1) GANTRY_ORDER(K_, 2, 3) GANTRY_ORDER(K_, 4, 5) GANTRY_ORDER(K_, 6, 7)
#define GANTRY_LEVELS_8(K_) \
    GANTRY_ORDER(K_, 0, 4) GANTRY_ORDER(K_, 1, 5) GANTRY_ORDER(K_, 2, 6) GANTRY_ORDER(K_, 3, 7) \
    GANTRY_HALVES_8(K_)
#define GANTRY_FIRST_4(K_) \
    GANTRY_ORDER(K_, 0, 3) GANTRY_ORDER(K_, 1, 2) GANTRY_ORDER(K_, 0, 1) GANTRY_ORDER(K_, 2, 3)
#define GANTRY_FIRST_8(K_) \
    GANTRY_ORDER(K_, 0, 7) GANTRY_ORDER(K_, 1, 6) GANTRY_ORDER(K_, 2, 5) GANTRY_ORDER(K_, 3, 4) \
    GANTRY_HALVES_8(K_)
/* Sorts eight places: Batcher's odd-even merges, 19 comparisons. */
#define GANTRY_SORT_8(K_)                                                                       \
    GANTRY_ORDER(K_, 0, 1) GANTRY_ORDER(K_, 2, 3) GANTRY_ORDER(K_, 4, 5) GANTRY_ORDER(K_, 6, 7) \
    GANTRY_ORDER(K_, 0, 2) GANTRY_ORDER(K_, 1, 3) GANTRY_ORDER(K_, 4, 6) GANTRY_ORDER(K_, 5, 7) \
    GANTRY_ORDER(K_, 1, 2) GANTRY_ORDER(K_, 5, 6)                                               \
    GANTRY_ORDER(K_, 0, 4) GANTRY_ORDER(K_, 1, 5) GANTRY_ORDER(K_, 2, 6) GANTRY_ORDER(K_, 3, 7) \
    GANTRY_ORDER(K_, 2, 4) GANTRY_ORDER(K_, 3, 5)                                               \
    GANTRY_ORDER(K_, 1, 2) GANTRY_ORDER(K_, 3, 4) GANTRY_ORDER(K_, 5, 6)
/* clang-format on */

#define GANTRY_NETWORK(W, V)                                                                       \
    /* Does three levels of the runs of 8 * d places in [begin, end), which must be whole. */      \
    GANTRY_ITEM void network_levels_##W(GANTRY_GLOBAL W *lanes, const GANTRY_LONG begin,           \
                                        const GANTRY_LONG end, const GANTRY_LONG d) {              \
        for (GANTRY_LONG run = begin; run < end; run += 8 * d) {                                   \
            for (GANTRY_LONG i = run; i < run + d; ++i) {                                          \
                GANTRY_ORDER_8(W, V, GANTRY_LEVELS_8, i, i + d, i + 2 * d, i + 3 * d, i + 4 * d,   \
                               i + 5 * d, i + 6 * d, i + 7 * d)                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* Merges the two runs of [begin, begin + size), where all of the places are. */               \
    GANTRY_ITEM void network_merge_##W(GANTRY_GLOBAL W *lanes, const GANTRY_LONG begin,            \
                                       const GANTRY_LONG size) {                                   \
        const GANTRY_LONG last = begin + size - 1;                                                 \
        int below =                                                                                \
            0; /* levels below the first, which takes with it what keeps them from being threes */ \
        GANTRY_LONG d;                                                                             \
                                                                                                   \
        while ((GANTRY_LONG)2 << below < size) {                                                   \
            below++;                                                                               \
        }                                                                                          \
        d = size / (2 << below % 3);                                                               \
        for (GANTRY_LONG i = begin; i < begin + d; ++i) {                                          \
            const GANTRY_LONG j = last - (i - begin);                                              \
                                                                                                   \
            if (below % 3 == 0) {                                                                  \
                GANTRY_ORDER_2(W, V, i, j)                                                         \
            } else if (below % 3 == 1) {                                                           \
                GANTRY_ORDER_4(W, V, GANTRY_FIRST_4, i, i + d, j - d, j)                           \
            } else {                                                                               \
                GANTRY_ORDER_8(W, V, GANTRY_FIRST_8, i, i + d, i + 2 * d, i + 3 * d, j - 3 * d,    \
                               j - 2 * d, j - d, j)                                                \
            }                                                                                      \
        }                                                                                          \
        for (d /= 8; d > 0; d /= 8) {                                                              \
            network_levels_##W(lanes, begin, begin + size, d);                                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    /* The same for runs of which the second one ends early. */                                    \
    GANTRY_ITEM void network_merge_rest_##W(GANTRY_GLOBAL W *lanes, const GANTRY_LONG begin,       \
                                            const GANTRY_LONG size, const GANTRY_LONG end) {       \
        for (GANTRY_LONG j = begin + size / 2; j < end; ++j) {                                     \
            GANTRY_ORDER_2(W, V, 2 * begin + size - 1 - j, j)                                      \
        }                                                                                          \
        for (GANTRY_LONG apart = size / 4; apart >= GANTRY_NETWORK_STEP; apart /= 2) {             \
            for (GANTRY_LONG run = begin; run + apart < end; run += 2 * apart) {                   \
                for (GANTRY_LONG i = run; i < run + apart && i + apart < end; ++i) {               \
                    GANTRY_ORDER_2(W, V, i, i + apart)                                             \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        network_levels_##W(lanes, begin, end, 1);                                                  \
    }                                                                                              \
                                                                                                   \
    GANTRY_ITEM void network_##W(GANTRY_GLOBAL W *lanes, const GANTRY_LONG filled,                 \
                                 const GANTRY_LONG length) {                                       \
        for (GANTRY_LONG e = filled * GANTRY_NETWORK_ROWS; e < length * GANTRY_NETWORK_ROWS;       \
             ++e) {                                                                                \
            lanes[e] = ~(W)0;                                                                      \
        }                                                                                          \
        for (GANTRY_LONG i = 0; i < length; i += GANTRY_NETWORK_STEP) {                            \
            GANTRY_ORDER_8(W, V, GANTRY_SORT_8, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6,       \
                           i + 7)                                                                  \
        }                                                                                          \
        for (GANTRY_LONG size = 2 * GANTRY_NETWORK_STEP; size < 2 * length; size *= 2) {           \
            GANTRY_LONG begin = 0;                                                                 \
                                                                                                   \
            for (; begin + size <= length; begin += size) {                                        \
                network_merge_##W(lanes, begin, size);                                             \
            }                                                                                      \
            if (begin + size / 2 < length) {                                                       \
                network_merge_rest_##W(lanes, begin, size, length);                                \
            }                                                                                      \
        }                                                                                          \
    }

GANTRY_NETWORK(uint, uint16)
GANTRY_NETWORK(ulong, ulong16)

#endif
