/* SPDX-License-Identifier: Apache-2.0 */
/* Random values that take a variable number of words: truncated normal values, and classes drawn by
 * logits. This file must also follow the math texts and philox. T must be a floating type. */
#ifndef GANTRY_DRAW_PARAMETERS
#define GANTRY_DRAW_PARAMETERS
/* The stream of random numbers, and the number of elements of the output. */
typedef struct gantry__draw_t {
    gantry__work_t work;
    ulong low, high, key;
    GANTRY_LONG values;
} gantry__draw_t;

/* Classes. A row of logits is cut into chunks of `chunk` classes. */
typedef struct gantry__classes_t {
    gantry__work_t work;
    ulong low, high, key;
    GANTRY_LONG classes, chunk, chunks; /* those of a row */
    GANTRY_LONG samples;                /* drawn for a row */
    GANTRY_LONG is_wide;                /* whether classes are written as 64-bit numbers */
} gantry__classes_t;

/* Philox blocks that each value of a group of truncated values may take. */
#define GANTRY_BLOCKS_PER_VALUE 64
#endif

#ifdef GANTRY_ITEM_TEXT

#if GANTRY_T_IS(f64)
#define GANTRY_TRUNCATED 2 /* values of an item, and normal values of a block */
#define GANTRY_NORMALS gantry__normals_f64
#else
#define GANTRY_TRUNCATED 4
#define GANTRY_NORMALS gantry__normals_f32
#endif

/* Item i makes the values from i * GANTRY_TRUNCATED on: the first normal values in [-2, 2] of its
 * own range of blocks. */
GANTRY_ITEM void GANTRY_ITEM_FN(truncated)(GANTRY_GLOBAL T *out,
                                           GANTRY_PARAMETERS(gantry__draw_t) p,
                                           const GANTRY_LONG i) {
    const GANTRY_LONG first = i * GANTRY_TRUNCATED;
    const int wanted =
        p->values - first < GANTRY_TRUNCATED ? (int)(p->values - first) : GANTRY_TRUNCATED;
    ulong block = (ulong)first * GANTRY_BLOCKS_PER_VALUE;
    int made = 0;

    while (made < wanted) {
        C values[GANTRY_TRUNCATED];

        GANTRY_NORMALS(gantry__philox(p->low, p->high, block++, (uint)p->key, (uint)(p->key >> 32)),
                       values);
        for (int v = 0; v < GANTRY_TRUNCATED; ++v) {
            if (made < wanted && values[v] > (C)-2 && values[v] < (C)2) {
                out[first + made] = GANTRY_NARROW(values[v]);
                made++;
            }
        }
    }
}
GANTRY_ITEMS_0_1(truncated, T, gantry__draw_t)

#if GANTRY_HAS_FLOAT64
/* Classes take up to four launches: the largest finite logit of each chunk; the running sums of
 * exp(logit - largest of the row) within each chunk, and each chunk's total; the running sums of
 * these totals, if a row has several chunks; and each sample, by two binary searches. A logit that
 * is not finite has weight 0. */

GANTRY_FN int GANTRY_ITEM_FN(is_finite)(const double x) { return x - x == 0.0; }

/* Item i: chunk i % chunks of row i / chunks. */
GANTRY_ITEM void GANTRY_ITEM_FN(largest)(GANTRY_GLOBAL const T *logits, GANTRY_GLOBAL double *out,
                                         GANTRY_PARAMETERS(gantry__classes_t) p,
                                         const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->chunks);
    const GANTRY_LONG first = (i - row * p->chunks) * p->chunk;
    const GANTRY_LONG end = first + p->chunk < p->classes ? first + p->chunk : p->classes;
    GANTRY_GLOBAL const T *row_logits = logits + row * p->classes;
    double most = -1.7976931348623157e308;

    for (GANTRY_LONG c = first; c < end; ++c) {
        const double x = (double)GANTRY_WIDEN(row_logits[c]);

        if (GANTRY_ITEM_FN(is_finite)(x) && x > most) {
            most = x;
        }
    }
    out[i] = most;
}
GANTRY_ITEMS_1_1(largest, T, double, gantry__classes_t)

GANTRY_ITEM void GANTRY_ITEM_FN(weigh)(GANTRY_GLOBAL const T *logits,
                                       GANTRY_GLOBAL const double *chunks_largest,
                                       GANTRY_GLOBAL double *sums, GANTRY_GLOBAL double *totals,
                                       GANTRY_PARAMETERS(gantry__classes_t) p,
                                       const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->chunks);
    const GANTRY_LONG first = (i - row * p->chunks) * p->chunk;
    const GANTRY_LONG end = first + p->chunk < p->classes ? first + p->chunk : p->classes;
    double most = chunks_largest[row * p->chunks];
    double sum = 0.0;

    for (GANTRY_LONG k = 1; k < p->chunks; ++k) {
        const double other = chunks_largest[row * p->chunks + k];

        most = other > most ? other : most;
    }
    for (GANTRY_LONG c = first; c < end; ++c) {
        const double x = (double)GANTRY_WIDEN(logits[row * p->classes + c]);

        if (GANTRY_ITEM_FN(is_finite)(x)) {
            sum += gantry__exp_f64(x - most);
        }
        sums[row * p->classes + c] = sum;
    }
    totals[i] = sum;
}
GANTRY_ITEMS_2_2(weigh, T, double, double, double, gantry__classes_t)

/* Item i: row i. */
GANTRY_ITEM void GANTRY_ITEM_FN(sum_up)(GANTRY_GLOBAL double *totals,
                                        GANTRY_PARAMETERS(gantry__classes_t) p,
                                        const GANTRY_LONG i) {
    for (GANTRY_LONG k = 1; k < p->chunks; ++k) {
        totals[i * p->chunks + k] += totals[i * p->chunks + k - 1];
    }
}
GANTRY_ITEMS_0_1(sum_up, double, gantry__classes_t)

/* Returns the index of the first of `count` numbers, which must grow, with base + number > bound;
 * count if there is none. */
GANTRY_FN GANTRY_LONG GANTRY_ITEM_FN(first_above)(GANTRY_GLOBAL const double *numbers,
                                                  GANTRY_LONG count, double base, double bound) {
    GANTRY_LONG low = 0;
    GANTRY_LONG high = count;

    while (low < high) {
        const GANTRY_LONG middle = low + (high - low) / 2;

        if (base + numbers[middle] > bound) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Item i: sample i % samples of row i / samples, drawn by the i-th float64 of the stream. */
GANTRY_ITEM void GANTRY_ITEM_FN(pick)(GANTRY_GLOBAL const double *sums,
                                      GANTRY_GLOBAL const double *totals, GANTRY_GLOBAL uchar *out,
                                      GANTRY_PARAMETERS(gantry__classes_t) p, const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->samples);
    const gantry__words_t w =
        gantry__philox(p->low, p->high, (ulong)(i / 2), (uint)p->key, (uint)(p->key >> 32));
    const double u = i % 2 == 0 ? gantry__uniform_f64(w.a, w.b) : gantry__uniform_f64(w.c, w.d);
    GANTRY_GLOBAL const double *above = totals + row * p->chunks;
    const double bound = u * above[p->chunks - 1];
    const GANTRY_LONG chunk = GANTRY_ITEM_FN(first_above)(above, p->chunks, 0.0, bound);
    const GANTRY_LONG first = chunk * p->chunk;
    GANTRY_LONG found = p->classes; /* the result if no logit is finite, as in TensorFlow */

    if (chunk < p->chunks) {
        found = first + GANTRY_ITEM_FN(first_above)(
                            sums + row * p->classes + first,
                            p->classes - first < p->chunk ? p->classes - first : p->chunk,
                            chunk > 0 ? above[chunk - 1] : 0.0, bound);
    }
    if (p->is_wide) {
        ((GANTRY_GLOBAL GANTRY_LONG *)out)[i] = found;
    } else {
        ((GANTRY_GLOBAL int *)out)[i] = (int)found;
    }
}
GANTRY_ITEMS_2_1(pick, double, double, uchar, gantry__classes_t)
#endif

#undef GANTRY_TRUNCATED
#undef GANTRY_NORMALS

#endif
