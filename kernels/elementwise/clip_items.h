/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/elementwise/clip.cl, in the order that every table of them must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_CLIP_ITEMS_H
#define GANTRY_KERNELS_CLIP_ITEMS_H

#define GANTRY_CLIP_ITEMS(ITEM) \
    ITEM(clip)                  \
    ITEM(clip_all)

#endif
