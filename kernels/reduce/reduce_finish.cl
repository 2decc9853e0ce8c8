/* SPDX-License-Identifier: Apache-2.0 */
/* The last level of a reduction of integers: sums in a type that wraps, of 32 or 64 bits, become
 * results of a type (a number of abi_types.h). It must follow types.cl; C loops and device text
 * share it. */

GANTRY_FN int gantry__integer_size(int type) {
    switch (type) {
        case GANTRY_INT64:
        case GANTRY_UINT64: return 8;
        case GANTRY_INT32:
        case GANTRY_UINT32: return 4;
        case GANTRY_INT16:
        case GANTRY_UINT16: return 2;
        default: return 1;
    }
}

GANTRY_FN ulong gantry__integer_quotient(ulong sum, GANTRY_LONG divisor, int type) {
    return GANTRY_ID_IS_SIGNED(type) ? (ulong)((GANTRY_LONG)sum / divisor) : sum / (ulong)divisor;
}

/* The square root of the sum as the type holds it, truncated to an integer; 0 if the sum wrapped to
 * a negative number. */
GANTRY_FN ulong gantry__integer_root(ulong sum, int type) {
    const int spare = 64 - 8 * gantry__integer_size(type);
    ulong left = sum << spare >> spare;
    ulong root = 0;

    if (GANTRY_ID_IS_SIGNED(type) && (left >> (63 - spare) & 1) != 0) {
        return 0;
    }
    /* Each two bits of the number give one of the root. */
    for (int bit = 62 - spare; bit >= 0; bit -= 2) {
        const ulong trial = root + ((ulong)1 << bit);
        const int fits = left >= trial;

        left -= fits ? trial : 0;
        root = (root >> 1) + (fits ? (ulong)1 << bit : 0);
    }
    return root;
}
