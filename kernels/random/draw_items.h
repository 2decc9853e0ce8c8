/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/random/draw.cl, in the order that all tables must have. Owner: nothing, this
 * is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_DRAW_ITEMS_H
#define GANTRY_KERNELS_DRAW_ITEMS_H

#define GANTRY_DRAW_ITEMS(ITEM) \
    ITEM(truncated)             \
    ITEM(largest)               \
    ITEM(weigh)                 \
    ITEM(sum_up)                \
    ITEM(pick)

#endif
