/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/channels.cl. */
#ifndef GANTRY_PORTABLE_CHANNELS_H
#define GANTRY_PORTABLE_CHANNELS_H

#define GANTRY_CHANNELS_ITEMS(ITEM) ITEM(normalize_channels)

#endif
