/* SPDX-License-Identifier: Apache-2.0 */
/* InvertPermutation, in three launches, in this order: unset, invert, check. Without equal elements
 * each place is written once. Of two equal elements one finds the other's number in its place; an
 * element that is no index finds none. T is int or long. */
#ifndef GANTRY_PERMUTATION_PARAMETERS
#define GANTRY_PERMUTATION_PARAMETERS
/* Equal elements write one place from several threads, and any of their numbers may win. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define GANTRY_PUT_NUMBER(place, number) (*(place) = (number))
#else
#define GANTRY_PUT_NUMBER(place, number) __atomic_store_n(place, number, __ATOMIC_RELAXED)
#endif
typedef struct gantry__permutation_t {
    gantry__work_t work;
} gantry__permutation_t;
#endif

#ifdef GANTRY_ITEM_TEXT

#define GANTRY_IS_INDEX(value) ((value) >= 0 && (value) < p->work.count)

GANTRY_ITEM void GANTRY_ITEM_FN(unset)(GANTRY_GLOBAL T *y,
                                       GANTRY_PARAMETERS(gantry__permutation_t) p,
                                       const GANTRY_LONG i) {
    (void)p;
    y[i] = (T)-1;
}
GANTRY_ITEMS_0_1(unset, T, gantry__permutation_t)

GANTRY_ITEM void GANTRY_ITEM_FN(invert)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *y,
                                        GANTRY_PARAMETERS(gantry__permutation_t) p,
                                        const GANTRY_LONG i) {
    if (GANTRY_IS_INDEX(x[i])) {
        GANTRY_PUT_NUMBER(&y[x[i]], (T)i);
    }
}
GANTRY_ITEMS_1_1(invert, T, T, gantry__permutation_t)

GANTRY_ITEM void GANTRY_ITEM_FN(check)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *y,
                                       GANTRY_PARAMETERS(gantry__permutation_t) p,
                                       GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    /* Any of several equal elements may have written the number; the first of them is reported. */
    const GANTRY_LONG twin = GANTRY_IS_INDEX(x[i]) ? (GANTRY_LONG)y[x[i]] : -1;

    if (twin != i) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_BAD_PERMUTATION, 0, twin >= 0 && twin < i ? twin : i);
    }
}
GANTRY_ITEMS_1_1F(check, T, T, gantry__permutation_t)

#endif
