/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/move/dynamic_slice.cl, in the order that all tables must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_DYNAMIC_SLICE_ITEMS_H
#define GANTRY_KERNELS_DYNAMIC_SLICE_ITEMS_H

#define GANTRY_DYNAMIC_SLICE_ITEMS(ITEM) \
    ITEM(take_box)                       \
    ITEM(put_box)

#endif
