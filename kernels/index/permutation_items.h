/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/permutation.cl, in the order that every table of them must have.
 * Owner: nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_PERMUTATION_ITEMS_H
#define GANTRY_KERNELS_PERMUTATION_ITEMS_H

#define GANTRY_PERMUTATION_ITEMS(ITEM) \
    ITEM(unset)                        \
    ITEM(invert)                       \
    ITEM(check)

#endif
