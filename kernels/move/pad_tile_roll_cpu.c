/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/move/pad_tile_roll.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/move/pad_tile_roll_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/move/pad_tile_roll.cl"
#define GANTRY_ITEM_LIST GANTRY_PAD_TILE_ROLL_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(pad_tile_roll);
