/* Slices combined: of updates that are sorted by the slice they go to (scatter.cl), the first of each slice's does them
 * all, in their order. By element type; halves are summed as float32 and rounded once. */
#ifndef GANTRY_SEGMENT_PARAMETERS
#define GANTRY_SEGMENT_PARAMETERS

/* `count` updates, slices of inner elements each. */
typedef struct gantry_combine_t {
    gantry_work_t work;
    GANTRY_LONG count, inner;
    GANTRY_LONG is_sorted;   /* the updates themselves are: there are no positions */
    GANTRY_LONG takes_first; /* begins with the first update, not with what the output holds */
} gantry_combine_t;

typedef struct gantry_count_t {
    gantry_work_t work;
    GANTRY_LONG count;
    GANTRY_LONG is_binary;
} gantry_count_t;

#endif

#ifdef GANTRY_ITEM_TEXT

/* How many keys from `first` on are alike: in growing steps, since most are few, and back by halves. */
GANTRY_ITEM GANTRY_LONG GANTRY_ITEM_FN(count_alike)(GANTRY_GLOBAL const uint *keys, const GANTRY_LONG first,
                                                    const GANTRY_LONG count)
{
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

/* sum = step, for each x, computed in the type A; the result is made of sum and the number of updates, n. */
#define GANTRY_COMBINE(name, A, step, result)                                                                       \
    GANTRY_ITEM void GANTRY_ITEM_FN(name)(GANTRY_GLOBAL const uint *keys, GANTRY_GLOBAL const int *positions,       \
                                          GANTRY_GLOBAL const T *updates, GANTRY_GLOBAL T *out,                     \
                                          GANTRY_PARAMETERS(gantry_combine_t) p, const GANTRY_LONG i)               \
    {                                                                                                               \
        const GANTRY_LONG first = gantry_divide_position(i, p->inner), e = i - first * p->inner;                    \
        const uint key = keys[first];                                                                               \
                                                                                                                    \
        if (key != GANTRY_NO_SLICE && (first == 0 || keys[first - 1] != key)) {                                     \
            const GANTRY_LONG n = GANTRY_ITEM_FN(count_alike)(keys, first, p->count);                               \
            GANTRY_GLOBAL T *at = out + (GANTRY_LONG)key * p->inner + e;                                            \
            A sum = (A)GANTRY_WIDEN(*at);                                                                           \
                                                                                                                    \
            for (GANTRY_LONG k = 0; k < n; k++) {                                                                   \
                const GANTRY_LONG update = p->is_sorted ? first + k : (GANTRY_LONG)positions[first + k];            \
                const A x = (A)GANTRY_WIDEN(updates[update * p->inner + e]);                                        \
                                                                                                                    \
                sum = k == 0 && p->takes_first ? x : (step);                                                        \
            }                                                                                                       \
            *at = (T)GANTRY_NARROW((C)(result));                                                                    \
        }                                                                                                           \
    }                                                                                                               \
    GANTRY_ITEMS_3_1(name, uint, int, T, T, gantry_combine_t)

#if GANTRY_T_IS_UNSIGNED
#define GANTRY_MEAN(sum, n) ((ulong)(C)(sum) / (ulong)(n))
#elif GANTRY_T_IS_SIGNED
#define GANTRY_MEAN(sum, n) ((GANTRY_LONG)(C)(sum) / (n))
#else
#define GANTRY_MEAN(sum, n) ((sum) / (U)(n))
#endif

GANTRY_COMBINE(combine_sum, U, sum + x, sum)
GANTRY_COMBINE(combine_difference, U, sum - x, sum)
GANTRY_COMBINE(combine_product, U, sum * x, sum)
GANTRY_COMBINE(combine_mean, U, sum + x, GANTRY_MEAN(sum, n))
/* As TensorFlow has them: a NaN stays until the next number. */
GANTRY_COMBINE(segment_larger, C, sum > x ? sum : x, sum)
GANTRY_COMBINE(segment_smaller, C, sum < x ? sum : x, sum)
/* Here what the tensor held stays, if it is NaN, and NaN updates go. */
GANTRY_COMBINE(scatter_larger, C, sum < x ? x : sum, sum)
GANTRY_COMBINE(scatter_smaller, C, sum > x ? x : sum, sum)

#undef GANTRY_COMBINE
#undef GANTRY_MEAN

/* How many updates a slice has, or 1. */
GANTRY_ITEM void GANTRY_ITEM_FN(combine_count)(GANTRY_GLOBAL const uint *keys, GANTRY_GLOBAL T *out,
                                               GANTRY_PARAMETERS(gantry_count_t) p, const GANTRY_LONG i)
{
    const uint key = keys[i];

    if (key != GANTRY_NO_SLICE && (i == 0 || keys[i - 1] != key)) {
        out[key] = (T)GANTRY_NARROW((C)(p->is_binary ? 1 : GANTRY_ITEM_FN(count_alike)(keys, i, p->count)));
    }
}
GANTRY_ITEMS_1_1(combine_count, uint, T, gantry_count_t)

#endif
