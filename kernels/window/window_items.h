/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/pool.cl, patches.cl, window_sum.cl, window_grad.cl and resize.cl, in
 * the order that all tables must have. Owner: nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_WINDOW_ITEMS_H
#define GANTRY_KERNELS_WINDOW_ITEMS_H

#define GANTRY_POOL_ITEMS(ITEM) \
    ITEM(max_pool)              \
    ITEM(avg_pool)              \
    ITEM(max_pool_argmax)
#define GANTRY_PATCHES_ITEMS(ITEM) ITEM(patches)
#define GANTRY_WINDOW_SUM_ITEMS(ITEM) \
    ITEM(depthwise)                   \
    ITEM(convolve)                    \
    ITEM(fold)
#define GANTRY_WINDOW_GRAD_ITEMS(ITEM) \
    ITEM(max_pool_grad)                \
    ITEM(max_pool_grad_grad)           \
    ITEM(depthwise_parts)
#define GANTRY_RESIZE_ITEMS(ITEM) \
    ITEM(resize_linear)           \
    ITEM(resize_weighted)

#endif
