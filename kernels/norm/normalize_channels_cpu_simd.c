/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/norm/normalize_channels.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/norm/normalize_channels_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/norm/normalize_channels.cl"
#define GANTRY_ITEM_LIST GANTRY_NORMALIZE_CHANNELS_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_FLOATS
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(normalize_channels);
