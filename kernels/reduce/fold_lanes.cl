/* SPDX-License-Identifier: Apache-2.0 */
/* The fold of a tree's lanes (reduce.cl) on processors, where lanes are vectors: `vectors` of them
 * in sums, each of `width` lanes; both must be powers of two. OP must take two vectors or two
 * elements; store must be a vstore. The result is lanes[0]; lanes must have room for `width`
 * elements. The file must come after launch.cl. */
#if GANTRY_SERIAL

#define GANTRY_FOLD_LANES(OP, store, sums, vectors, width, lanes)            \
    GANTRY_UNROLLED for (int apart = (vectors) / 2; apart > 0; apart /= 2) { \
        GANTRY_UNROLLED for (int q = 0; q < apart; ++q) {                    \
            sums[q] = OP(sums[q], sums[q + apart]);                          \
        }                                                                    \
    }                                                                        \
    store(sums[0], 0, lanes);                                                \
    for (int apart = (width) / 2; apart > 0; apart /= 2) {                   \
        for (int k = 0; k < apart; ++k) {                                    \
            lanes[k] = OP(lanes[k], lanes[k + apart]);                       \
        }                                                                    \
    }
#define GANTRY_FOLD_ADD(a, b) ((a) + (b))

#endif
