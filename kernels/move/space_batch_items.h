/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/move/space_batch.cl, in the order that all tables must have. Owner: nothing,
 * this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_SPACE_BATCH_ITEMS_H
#define GANTRY_KERNELS_SPACE_BATCH_ITEMS_H

#define GANTRY_SPACE_BATCH_ITEMS(ITEM) \
    ITEM(space_to_batch)               \
    ITEM(batch_to_space)

#endif
