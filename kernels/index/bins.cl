/* SPDX-License-Identifier: Apache-2.0 */
/* Work of GPUs whose result does not depend on an order, because integers wrap and have one sum in
 * any order. It is done by atomics, and nothing is sorted:
 *
 *   bins      counts numbers in the memory of the result: the first 32 bits of each element are a
 *             counter. A group counts in a table in local memory if the bins have room there, and
 *             adds each bin that is not empty to the result once
 *   unsorted  combines updates of 32-bit integers with the slices that their keys name; of float32,
 *             too, in calls that allow any order of sums
 *
 * Cost: one read of the numbers, with 16 KiB of local memory; one read of the keys and updates. It
 * must come after scatter.cl. */
#ifndef GANTRY_BINS_PARAMETERS
#define GANTRY_BINS_PARAMETERS

#ifndef GANTRY_BINS_TABLE
#define GANTRY_BINS_TABLE 4096 /* an option makes it smaller where local memory is */
#endif

/* `count` numbers; the bins of a row of per_row numbers follow those of the row before. */
typedef struct gantry__bins_t {
    GANTRY_LONG count, per_row;
    GANTRY_LONG bins, all_bins; /* of a row, of all rows */
    GANTRY_LONG is_wide;        /* whether numbers have 64 bits */
    GANTRY_LONG words, word;    /* of 32 bits: in an element of the result, and the one written */
    GANTRY_LONG mark;           /* what a bin with numbers holds; 0: their number */
} gantry__bins_t;

/* `count` updates of `inner` elements each. */
enum {
    GANTRY_UNSORTED_SUM,
    GANTRY_UNSORTED_DIFFERENCE,
    GANTRY_UNSORTED_LARGER,
    GANTRY_UNSORTED_SMALLER,
    GANTRY_UNSORTED_FLOAT_SUM,
    GANTRY_UNSORTED_FLOAT_DIFFERENCE
};
typedef struct gantry__unsorted_t {
    gantry__work_t work;
    GANTRY_LONG inner;
    GANTRY_LONG operation;
    GANTRY_LONG is_signed;
} gantry__unsorted_t;

#endif

#if defined(GANTRY_ITEM_TEXT) && !GANTRY_SERIAL && \
    (defined(__OPENCL_VERSION__) || defined(__CUDACC__))

#define GANTRY_BINS_AT_ONCE 4 /* loads of an item in flight */

GANTRY_FN void bins_put(GANTRY_GLOBAL uint *counts, const gantry__bins_t *p, const GANTRY_LONG bin,
                        const uint count) {
    GANTRY_GLOBAL uint *at = counts + bin * p->words + p->word;

    if (p->mark != 0) {
        GANTRY_RAISE(at, (uint)p->mark);
    } else {
        GANTRY_ADD(at, count);
    }
}

GANTRY_KERNEL bins(GANTRY_SPAN_IN(numbers), GANTRY_SPAN_OUT(counts),
                   GANTRY_VALUE(gantry__bins_t, p), GANTRY_SPAN_OUT(fault)) {
    GANTRY_TAKE(gantry__bins_t, p)
    GANTRY_LOCAL_ARRAY(uint, table, GANTRY_BINS_TABLE);
    const int item = (int)GANTRY_LOCAL_ID(0), items = (int)GANTRY_LOCAL_SIZE(0);
    const int tabled = p.all_bins <= GANTRY_BINS_TABLE ? (int)p.all_bins : 0;
    const GANTRY_LONG step = GANTRY_GLOBAL_SIZE(0);

    for (int bin = item; bin < tabled; bin += items) {
        table[bin] = 0;
    }
    GANTRY_BARRIER();
    for (GANTRY_LONG first = GANTRY_GLOBAL_ID(0); first < p.count;
         first += GANTRY_BINS_AT_ONCE * step) {
        GANTRY_LONG number[GANTRY_BINS_AT_ONCE];

        GANTRY_UNROLLED for (int e = 0; e < GANTRY_BINS_AT_ONCE; ++e) {
            const GANTRY_LONG at = first + e * step;
            number[e] =
                at < p.count ? GANTRY_GET_INDEX(GANTRY_IN(uchar, numbers), p.is_wide, at) : p.bins;
        }
        GANTRY_UNROLLED for (int e = 0; e < GANTRY_BINS_AT_ONCE; ++e) {
            const GANTRY_LONG at = first + e * step;
            const GANTRY_LONG row =
                p.per_row < p.count ? gantry__divide_position(at, p.per_row) : 0;
            const GANTRY_LONG bin = row * p.bins + number[e];
            if (number[e] < 0) {
                GANTRY_FAULT(fault, GANTRY_FAULT_INDEX_OUT_OF_RANGE, 0, at);
            } else if (number[e] < p.bins && tabled != 0) {
                GANTRY_ADD(table + bin, 1u);
            } else if (number[e] < p.bins) {
                bins_put(GANTRY_OUT(uint, counts), &p, bin, 1u);
            }
        }
    }
    GANTRY_BARRIER();
    for (int bin = item; bin < tabled; bin += items) {
        if (table[bin] != 0) {
            bins_put(GANTRY_OUT(uint, counts), &p, bin, table[bin]);
        }
    }
}

GANTRY_FN void bins_add_float(GANTRY_GLOBAL uint *at, const float x) {
#if defined(__CUDACC__)
    atomicAdd((float *)at, x);
#else
    uint known = *at, seen;

    while ((seen = GANTRY_EXCHANGE_IF(at, known, GANTRY_AS_UINT(GANTRY_AS_FLOAT(known) + x))) !=
           known) {
        known = seen;
    }
#endif
}

GANTRY_KERNEL unsorted(GANTRY_SPAN_IN(keys), GANTRY_SPAN_IN(updates), GANTRY_SPAN_OUT(out),
                       GANTRY_VALUE(gantry__unsorted_t, p)) {
    GANTRY_TAKE(gantry__unsorted_t, p)

    for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) {
        const GANTRY_LONG row = gantry__divide_position(i, p.inner);
        const uint key = GANTRY_IN(uint, keys)[row], x = GANTRY_IN(uint, updates)[i];
        const GANTRY_LONG place = (GANTRY_LONG)key * p.inner + i - row * p.inner;

        if (key == GANTRY_NO_SLICE) {
            continue;
        }
        if (p.operation == GANTRY_UNSORTED_SUM) {
            GANTRY_ADD(GANTRY_OUT(uint, out) + place, x);
        } else if (p.operation == GANTRY_UNSORTED_DIFFERENCE) {
            GANTRY_TAKE_OFF(GANTRY_OUT(uint, out) + place, x);
        } else if (p.operation >= GANTRY_UNSORTED_FLOAT_SUM) {
            const float number = GANTRY_AS_FLOAT(x);
            bins_add_float(GANTRY_OUT(uint, out) + place,
                           p.operation == GANTRY_UNSORTED_FLOAT_SUM ? number : -number);
        } else if (p.operation == GANTRY_UNSORTED_LARGER && p.is_signed) {
            GANTRY_RAISE(GANTRY_OUT(int, out) + place, (int)x);
        } else if (p.operation == GANTRY_UNSORTED_LARGER) {
            GANTRY_RAISE(GANTRY_OUT(uint, out) + place, x);
        } else if (p.is_signed) {
            GANTRY_LOWER(GANTRY_OUT(int, out) + place, (int)x);
        } else {
            GANTRY_LOWER(GANTRY_OUT(uint, out) + place, x);
        }
    }
}

#endif
