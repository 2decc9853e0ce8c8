/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/remap.cl, in the order of every table of them. */
#ifndef GANTRY_PORTABLE_REMAP_H
#define GANTRY_PORTABLE_REMAP_H

#define GANTRY_REMAP_ITEMS(ITEM) \
    ITEM(border)                 \
    ITEM(mirror)                 \
    ITEM(wrap)

#endif
