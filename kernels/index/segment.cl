/* SPDX-License-Identifier: Apache-2.0 */
/* Combines the updates of each slice, for each element type. Two ways give the same bits:
 *
 *   combine_   takes updates of which those of a slice are neighbours (scatter.cl). The item of a
 *              slice's first update does all of them. Halves are summed as float32 and rounded once
 *   direct_    is for processors, and for types whose sums have the type itself. Nothing is sorted.
 *              A few workers each own a box of the output: a range of slices by a range of columns.
 *              Each walks all updates and applies those of its box
 *
 * Counts have two more ways: on processors, for fewer bins than numbers, each worker counts a part
 * of the numbers in bins of its own, and the counts of the parts are added; on GPUs see bins.cl. */
#ifndef GANTRY_SEGMENT_PARAMETERS
#define GANTRY_SEGMENT_PARAMETERS

/* `count` updates of `inner` elements each; a launch does the updates from begin to end. */
typedef struct gantry__combine_t {
    gantry__work_t work;
    GANTRY_LONG count, inner;
    GANTRY_LONG begin, end;
    GANTRY_LONG carry_from, carry_to; /* where the two halves of carry begin */
    GANTRY_LONG is_sorted;            /* whether the updates are sorted: no positions */
    GANTRY_LONG takes_first;          /* starts from the first update, not from the output */
} gantry__combine_t;

/* `count` updates of `inner` elements each. Worker i owns the box (i / columns, i % columns) of a
 * grid of rows x columns boxes. */
typedef struct gantry__direct_t {
    gantry__work_t work;
    GANTRY_LONG count, inner;
    GANTRY_LONG slices;
    GANTRY_LONG rows, columns;
    GANTRY_LONG takes_first; /* as above */
    GANTRY_LONG is_binary;   /* for counts */
} gantry__direct_t;

/* An item adds the counts of some neighbouring bins over all parts. */
typedef struct gantry__join_counts_t {
    gantry__work_t work;
    GANTRY_LONG bins, parts, shares;
    GANTRY_LONG is_binary;
} gantry__join_counts_t;

#endif

#ifdef GANTRY_ITEM_TEXT

/* Returns how many keys from `first` on are equal. Most runs are short, so the step doubles from 1;
 * a binary search finds the end. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(count_alike)(GANTRY_GLOBAL const uint *keys,
                                                    const GANTRY_LONG first,
                                                    const GANTRY_LONG count) {
    const uint key = keys[first];
    GANTRY_LONG step = 1, low, high;

    while (first + step < count && keys[first + step] == key) {
        step *= 2;
    }
    low = first + step / 2 + 1;
    high = first + step < count ? first + step : count;
    while (low < high) {
        const GANTRY_LONG middle = (low + high) / 2;

        low = keys[middle] == key ? middle + 1 : low;
        high = keys[middle] == key ? high : middle;
    }
    return low - first;
}

/* Returns the number of keys before `first` that equal the key there, found in the same way. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(count_before)(GANTRY_GLOBAL const uint *keys,
                                                     const GANTRY_LONG first) {
    const uint key = keys[first];
    GANTRY_LONG step = 1, low, high;

    while (step <= first && keys[first - step] == key) {
        step *= 2;
    }
    low = step / 2;
    high = step <= first ? step - 1 : first;
    while (low < high) {
        const GANTRY_LONG middle = (low + high + 1) / 2;
        const int is_alike = keys[first - middle] == key;

        low = is_alike ? middle : low;
        high = is_alike ? high : middle - 1;
    }
    return low;
}

/* C combines directly. It takes sorted keys only where a sum is wider than its type, as in sums of
 * halves and means of integers. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__) || GANTRY_T_IS_HALF
#define GANTRY_COMBINE GANTRY_COMBINE_SORTED
#else
#define GANTRY_COMBINE(name, A, step, result) GANTRY_NO_ITEM(name)
#endif
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__) || !GANTRY_T_IS_FLOAT
#define GANTRY_COMBINE_MEAN GANTRY_COMBINE_SORTED
#else
#define GANTRY_COMBINE_MEAN GANTRY_COMBINE
#endif
/* Updates that a GPU's item loads before it uses the first, because one by one they would each wait
 * for memory. One item does all of a slice's, however many (padding of texts). */
#define GANTRY_COMBINE_AT_ONCE 8
#define GANTRY_COMBINE_MOST_AT_ONCE 32
#if (defined(__OPENCL_VERSION__) || defined(__CUDACC__)) && !GANTRY_SERIAL
#define GANTRY_COMBINE_SOME(A, step, at_once)                             \
    for (; k + at_once <= some; k += at_once) {                           \
        A ahead[at_once];                                                 \
        GANTRY_UNROLLED for (int q = 0; q < at_once; ++q) {               \
            ahead[q] = (A)GANTRY_WIDEN(updates[GANTRY_UPDATE_AT(k + q)]); \
        }                                                                 \
        GANTRY_UNROLLED for (int q = 0; q < at_once; ++q) {               \
            const A x = ahead[q];                                         \
            sum = (step);                                                 \
        }                                                                 \
    }
#else
#define GANTRY_COMBINE_SOME(A, step, at_once)
#endif
#define GANTRY_UPDATE_AT(k) \
    ((p->is_sorted ? first + (k) : (GANTRY_LONG)positions[first + (k)]) * p->inner + e)
/* sum = step, for each x, computed in the type A; `result` must be made of sum and the number of
 * updates, n. A launch does a range of the updates: what a slice has when the range ends is in
 * carry, and the next launch goes on with it. Two launches in turn use the halves of carry, so that
 * none reads what it writes. */
#define GANTRY_COMBINE_SORTED(name, A, step, result)                                               \
    GANTRY_ITEM void GANTRY_ITEM_FN(name)(                                                         \
        GANTRY_GLOBAL const uint *keys, GANTRY_GLOBAL const int *positions,                        \
        GANTRY_GLOBAL const T *updates, GANTRY_GLOBAL T *out, GANTRY_GLOBAL ulong *carry,          \
        GANTRY_PARAMETERS(gantry__combine_t) p, const GANTRY_LONG i) {                             \
        const GANTRY_LONG row = gantry__divide_position(i, p->inner), e = i - row * p->inner;      \
        const GANTRY_LONG first = p->begin + row;                                                  \
        const uint key = keys[first];                                                              \
        const int goes_on = first > 0 && keys[first - 1] == key;                                   \
                                                                                                   \
        if (key != GANTRY_NO_SLICE && (row == 0 || !goes_on)) {                                    \
            const GANTRY_LONG some = GANTRY_ITEM_FN(count_alike)(keys, first, p->end);             \
            const int is_cut = first + some == p->end && p->end < p->count && keys[p->end] == key; \
            GANTRY_GLOBAL T *at = out + (GANTRY_LONG)key * p->inner + e;                           \
            A sum = goes_on ? ((GANTRY_GLOBAL const A *)(carry + p->carry_from))[e]                \
                            : (A)GANTRY_WIDEN(*at);                                                \
            GANTRY_LONG k = 0;                                                                     \
                                                                                                   \
            if (!goes_on && p->takes_first) {                                                      \
                sum = (A)GANTRY_WIDEN(updates[GANTRY_UPDATE_AT(0)]);                               \
                k = 1;                                                                             \
            }                                                                                      \
            GANTRY_COMBINE_SOME(A, step, GANTRY_COMBINE_MOST_AT_ONCE)                              \
            GANTRY_COMBINE_SOME(A, step, GANTRY_COMBINE_AT_ONCE)                                   \
            for (; k < some; ++k) {                                                                \
                const A x = (A)GANTRY_WIDEN(updates[GANTRY_UPDATE_AT(k)]);                         \
                                                                                                   \
                sum = (step);                                                                      \
            }                                                                                      \
            if (is_cut) {                                                                          \
                ((GANTRY_GLOBAL A *)(carry + p->carry_to))[e] = sum;                               \
            } else {                                                                               \
                const GANTRY_LONG n =                                                              \
                    goes_on ? some + GANTRY_ITEM_FN(count_before)(keys, first) : some;             \
                                                                                                   \
                *at = (T)GANTRY_NARROW((C)(result));                                               \
                (void)n;                                                                           \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    GANTRY_ITEMS_3_2(name, uint, int, T, T, ulong, gantry__combine_t)

#if GANTRY_T_IS_UNSIGNED
#define GANTRY_MEAN(sum, n) ((ulong)(C)(sum) / (ulong)(n))
#elif GANTRY_T_IS_SIGNED
#define GANTRY_MEAN(sum, n) ((GANTRY_LONG)(C)(sum) / (n))
#else
#define GANTRY_MEAN(sum, n) ((sum) / (U)(n))
#endif

#if defined(GANTRY_SERIAL) && !GANTRY_SERIAL
#define GANTRY_DIRECT(name, A, step)
#elif GANTRY_T_IS_HALF
#define GANTRY_DIRECT(name, A, step) GANTRY_NO_ITEM(name)
#else
/* prefetches updates so many bytes ahead, where their slices seem to follow each other */
#define GANTRY_DIRECT_AHEAD 4096
/* Works on blocks of updates. Selects the updates of the box without a branch, then applies them.
 * The key GANTRY_NO_SLICE is in no box. Neighbours with one key are combined before the result is
 * written, which shortens the chain of writes and reads of one address. */
#define GANTRY_DIRECT(name, A, step)                                                             \
    GANTRY_ITEM void GANTRY_ITEM_FN(name)(                                                       \
        GANTRY_GLOBAL const uint *keys, GANTRY_GLOBAL const T *updates,                          \
        GANTRY_GLOBAL T *GANTRY_APART out, GANTRY_PARAMETERS(gantry__direct_t) p,                \
        const GANTRY_LONG i) {                                                                   \
        const GANTRY_LONG row = i / p->columns, column = i - row * p->columns, inner = p->inner, \
                          count = p->count;                                                      \
        const uint first = (uint)(p->slices * row / p->rows);                                    \
        const uint most = (uint)(p->slices * (row + 1) / p->rows) - first;                       \
        const GANTRY_LONG begin = inner * column / p->columns,                                   \
                          end = inner * (column + 1) / p->columns;                               \
        const int takes_first = p->takes_first != 0;                                             \
        uint picked[GANTRY_SELECT_ROOM];                                                         \
                                                                                                 \
        for (GANTRY_LONG block = 0; block < count; block += GANTRY_SELECT_BLOCK) {               \
            const GANTRY_LONG rest = count - block;                                              \
            const uint some = rest < GANTRY_SELECT_BLOCK ? (uint)rest : GANTRY_SELECT_BLOCK;     \
            uint picks;                                                                          \
                                                                                                 \
            GANTRY_SELECT_KEYS(keys + block, some, first, most, picked, picks);                  \
            if (inner == 1 && !takes_first) {                                                    \
                for (uint k = 0; k < picks; ++k) {                                               \
                    const GANTRY_LONG at = block + picked[k];                                    \
                    const A x = (A)GANTRY_WIDEN(updates[at]);                                    \
                    const A sum = (A)GANTRY_WIDEN(out[keys[at]]);                                \
                                                                                                 \
                    out[keys[at]] = (T)GANTRY_NARROW((C)(step));                                 \
                }                                                                                \
                picks = 0;                                                                       \
            }                                                                                    \
            for (uint k = 0; k < picks; ++k) {                                                   \
                const GANTRY_LONG at = block + picked[k];                                        \
                const uint key = keys[at];                                                       \
                const int is_first = takes_first && (at == 0 || keys[at - 1] != key);            \
                GANTRY_GLOBAL const T *from = updates + at * inner;                              \
                GANTRY_GLOBAL T *to = out + (GANTRY_LONG)key * inner;                            \
                                                                                                 \
                if (is_first) {                                                                  \
                    for (GANTRY_LONG e = begin; e < end; ++e) {                                  \
                        to[e] = from[e];                                                         \
                    }                                                                            \
                } else if (inner == 1) {                                                         \
                    A sum = (A)GANTRY_WIDEN(*to), x = (A)GANTRY_WIDEN(*from);                    \
                                                                                                 \
                    sum = (A)(step);                                                             \
                    while (k + 1 < picks && keys[block + picked[k + 1]] == key) {                \
                        k++;                                                                     \
                        x = (A)GANTRY_WIDEN(updates[block + picked[k]]);                         \
                        sum = (A)(step);                                                         \
                    }                                                                            \
                    *to = (T)GANTRY_NARROW((C)sum);                                              \
                } else if (k + 3 < picks && keys[block + picked[k + 1]] == key &&                \
                           keys[block + picked[k + 2]] == key &&                                 \
                           keys[block + picked[k + 3]] == key) {                                 \
                    GANTRY_GLOBAL const T *from_1 = updates + (block + picked[k + 1]) * inner;   \
                    GANTRY_GLOBAL const T *from_2 = updates + (block + picked[k + 2]) * inner;   \
                    GANTRY_GLOBAL const T *from_3 = updates + (block + picked[k + 3]) * inner;   \
                                                                                                 \
                    for (GANTRY_LONG e = begin; e < end; e += 64 / (GANTRY_LONG)sizeof(T)) {     \
                        GANTRY_PREFETCH((ulong)(from + e) + GANTRY_DIRECT_AHEAD);                \
                        GANTRY_PREFETCH((ulong)(from_1 + e) + GANTRY_DIRECT_AHEAD);              \
                        GANTRY_PREFETCH((ulong)(from_2 + e) + GANTRY_DIRECT_AHEAD);              \
                        GANTRY_PREFETCH((ulong)(from_3 + e) + GANTRY_DIRECT_AHEAD);              \
                    }                                                                            \
                    for (GANTRY_LONG e = begin; e < end; ++e) {                                  \
                        A sum = (A)GANTRY_WIDEN(to[e]), x = (A)GANTRY_WIDEN(from[e]);            \
                                                                                                 \
                        sum = (A)(step);                                                         \
                        x = (A)GANTRY_WIDEN(from_1[e]);                                          \
                        sum = (A)(step);                                                         \
                        x = (A)GANTRY_WIDEN(from_2[e]);                                          \
                        sum = (A)(step);                                                         \
                        x = (A)GANTRY_WIDEN(from_3[e]);                                          \
                        to[e] = (T)GANTRY_NARROW((C)(step));                                     \
                    }                                                                            \
                    k += 3;                                                                      \
                } else {                                                                         \
                    for (GANTRY_LONG e = begin; e < end; ++e) {                                  \
                        const A x = (A)GANTRY_WIDEN(from[e]);                                    \
                        const A sum = (A)GANTRY_WIDEN(to[e]);                                    \
                                                                                                 \
                        to[e] = (T)GANTRY_NARROW((C)(step));                                     \
                    }                                                                            \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    GANTRY_ITEMS_2_1(name, uint, T, T, gantry__direct_t)
#endif

/* segment_items.c (direct_alike) names the items which integers share. */
#if GANTRY_T_IS_UNSIGNED
GANTRY_NO_ITEM(direct_sum)
GANTRY_NO_ITEM(direct_difference)
GANTRY_NO_ITEM(direct_product)
#else
GANTRY_DIRECT(direct_sum, U, sum + x)
GANTRY_DIRECT(direct_difference, U, sum - x)
GANTRY_DIRECT(direct_product, U, sum *x)
#endif
GANTRY_DIRECT(direct_segment_larger, C, sum > x ? sum : x)
GANTRY_DIRECT(direct_segment_smaller, C, sum < x ? sum : x)
#if GANTRY_T_IS_INT
GANTRY_NO_ITEM(direct_scatter_larger)
GANTRY_NO_ITEM(direct_scatter_smaller)
#else
GANTRY_DIRECT(direct_scatter_larger, C, sum < x ? x : sum)
GANTRY_DIRECT(direct_scatter_smaller, C, sum > x ? x : sum)
#endif

GANTRY_COMBINE(combine_sum, U, sum + x, sum)
GANTRY_COMBINE(combine_difference, U, sum - x, sum)
GANTRY_COMBINE(combine_product, U, sum *x, sum)
GANTRY_COMBINE_MEAN(combine_mean, U, sum + x, GANTRY_MEAN(sum, n))
/* As TensorFlow has it, a NaN is kept until the next number. */
GANTRY_COMBINE(segment_larger, C, sum > x ? sum : x, sum)
GANTRY_COMBINE(segment_smaller, C, sum < x ? sum : x, sum)
/* Here a NaN that the tensor held is kept, and NaN updates are dropped. */
GANTRY_COMBINE(scatter_larger, C, sum < x ? x : sum, sum)
GANTRY_COMBINE(scatter_smaller, C, sum > x ? x : sum, sum)

#undef GANTRY_COMBINE
#undef GANTRY_COMBINE_MEAN
#undef GANTRY_COMBINE_SORTED
#undef GANTRY_COMBINE_SOME
#undef GANTRY_UPDATE_AT
#undef GANTRY_DIRECT

/* Makes floats of counts: the first 32 bits of each element are one. */
#if GANTRY_T_IS_FLOAT
GANTRY_ITEM void GANTRY_ITEM_FN(count_values)(GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry__direct_t) p,
                                              const GANTRY_LONG i) {
    out[i] = (T)((GANTRY_GLOBAL const uint *)out)[i * (GANTRY_LONG)(sizeof(T) / 4)];
    (void)p;
}
GANTRY_ITEMS_0_1(count_values, T, gantry__direct_t)
#else
GANTRY_NO_ITEM(count_values)
#endif

#if !defined(GANTRY_SERIAL) || GANTRY_SERIAL
/* Counts the updates of each slice, or writes 1 where there are some, into boxes. */
GANTRY_ITEM void GANTRY_ITEM_FN(direct_count)(GANTRY_GLOBAL const uint *keys, GANTRY_GLOBAL T *out,
                                              GANTRY_PARAMETERS(gantry__direct_t) p,
                                              const GANTRY_LONG i) {
    const uint first = (uint)(p->slices * i / p->rows);
    const uint most = (uint)(p->slices * (i + 1) / p->rows) - first;

    for (GANTRY_LONG at = 0; at < p->count; ++at) {
        const uint key = keys[at];

        if (key - first < most) {
            out[key] = p->is_binary ? (T)GANTRY_NARROW((C)1)
                                    : (T)GANTRY_NARROW((C)(GANTRY_WIDEN(out[key]) + (C)1));
        }
    }
}
GANTRY_ITEMS_1_1(direct_count, uint, T, gantry__direct_t)

/* Makes means of sums of floats: item i is a slice. */
#if GANTRY_T_IS_FLOAT
GANTRY_ITEM void GANTRY_ITEM_FN(direct_mean)(GANTRY_GLOBAL const int *counts, GANTRY_GLOBAL T *out,
                                             GANTRY_PARAMETERS(gantry__combine_t) p,
                                             const GANTRY_LONG i) {
    if (counts[i] > 1) {
        for (GANTRY_LONG e = i * p->inner; e < (i + 1) * p->inner; ++e) {
            out[e] = GANTRY_MEAN(out[e], counts[i]);
        }
    }
}
GANTRY_ITEMS_1_1(direct_mean, int, T, gantry__combine_t)
#else
GANTRY_NO_ITEM(direct_mean)
#endif
#undef GANTRY_MEAN

/* Adds up what bin_parts of scatter.cl counted. */
GANTRY_ITEM void GANTRY_ITEM_FN(join_counts)(GANTRY_GLOBAL const uint *counts, GANTRY_GLOBAL T *out,
                                             GANTRY_PARAMETERS(gantry__join_counts_t) p,
                                             const GANTRY_LONG i) {
    for (GANTRY_LONG bin = p->bins * i / p->shares; bin < p->bins * (i + 1) / p->shares; ++bin) {
        ulong sum = 0;

        for (GANTRY_LONG part = 0; part < p->parts; ++part) {
            sum += counts[part * p->bins + bin];
        }
        out[bin] = (T)GANTRY_NARROW((C)(p->is_binary ? sum != 0 : sum));
    }
}
GANTRY_ITEMS_1_1(join_counts, uint, T, gantry__join_counts_t)
#endif

#endif
