/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/channels.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/portable_channels.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/channels.cl"
#define GANTRY_ITEM_LIST GANTRY_CHANNELS_ITEMS
#define GANTRY_ITEM_NO_HALVES
#include "cpu/cpu_items_floating.h"

GANTRY_CPU_ITEM_FAMILY(channels);
