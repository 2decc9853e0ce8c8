/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/clip.cl, in the order of every table of them. */
#ifndef GANTRY_PORTABLE_CLIP_H
#define GANTRY_PORTABLE_CLIP_H

#define GANTRY_CLIP_ITEMS(ITEM) \
    ITEM(clip)                  \
    ITEM(clip_all)

#endif
