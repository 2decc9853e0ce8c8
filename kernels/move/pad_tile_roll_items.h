/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/move/pad_tile_roll.cl, in the order that all tables must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_PAD_TILE_ROLL_ITEMS_H
#define GANTRY_KERNELS_PAD_TILE_ROLL_ITEMS_H

#define GANTRY_PAD_TILE_ROLL_ITEMS(ITEM) \
    ITEM(border)                         \
    ITEM(spaced)                         \
    ITEM(mirror)                         \
    ITEM(extend)                         \
    ITEM(wrap)

#endif
