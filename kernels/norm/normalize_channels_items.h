/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/norm/normalize_channels.cl, in the order that all tables must have. Owner:
 * nothing, this is a list. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_NORMALIZE_CHANNELS_ITEMS_H
#define GANTRY_KERNELS_NORMALIZE_CHANNELS_ITEMS_H

#define GANTRY_NORMALIZE_CHANNELS_ITEMS(ITEM) ITEM(normalize_channels)

#endif
