/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of elements, by element size: the bits of an element become an unsigned integer with the
 * order of the elements. All NaNs are one key, the largest; -0 and 0 are one key. In the total
 * order of IEEE 754 each is a key of its own: -NaN, -infinity, ... -0, 0, ... infinity, NaN. Sorts
 * only compare keys. It must come after indices.cl. */
#ifndef GANTRY_SORT_KEY_PARAMETERS
#define GANTRY_SORT_KEY_PARAMETERS

/* The order of keys: the bit of the sign (0: unsigned), the bits of infinity (0: integers; all 1: a
 * NaN is as other numbers), the largest bits of a float that is not negative (those of -0, or those
 * of the largest NaN, so that -0 is below 0; all 1: unsigned), and whether the largest comes
 * first. */
typedef struct gantry__order_t {
    ulong sign;
    ulong infinity;
    ulong not_negative;
    GANTRY_LONG descending;
} gantry__order_t;

#endif

#ifdef GANTRY_ITEM_TEXT

#define K GANTRY_KEY_OF_T

GANTRY_ITEM int GANTRY_ITEM_FN(sort_is_nan)(const T x, const gantry__order_t *order) {
    return order->infinity != 0 && ((K)x & (K)~order->sign) > (K)order->infinity;
}

GANTRY_ITEM K GANTRY_ITEM_FN(sort_key)(const T x, const gantry__order_t *order) {
    const K bits = (K)x, sign = (K)order->sign;
    const K width = sign | (sign - 1); /* width of the bits of a float */
    const int is_negative = bits > (K)order->not_negative;
    const K number = is_negative ? ~bits & width : bits | sign;
    const K key = order->infinity == 0                    ? bits ^ sign
                  : GANTRY_ITEM_FN(sort_is_nan)(x, order) ? ~(K)0
                                                          : number;

    return order->descending ? ~key : key;
}

#undef K

#endif
