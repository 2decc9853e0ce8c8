/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/pool.cl, patches.cl and window_sum.cl, in the order of all tables. */
#ifndef GANTRY_KERNELS_WINDOW_ITEMS_H
#define GANTRY_KERNELS_WINDOW_ITEMS_H

#define GANTRY_POOL_ITEMS(ITEM) \
    ITEM(max_pool)              \
    ITEM(avg_pool)
#define GANTRY_PATCHES_ITEMS(ITEM) ITEM(patches)
#define GANTRY_WINDOW_SUM_ITEMS(ITEM) \
    ITEM(depthwise)                   \
    ITEM(convolve)                    \
    ITEM(fold)

#endif
