/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/patches.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/window/window.cl"
#include "kernels/window/window_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/window/patches.cl"
#define GANTRY_ITEM_LIST GANTRY_PATCHES_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(patches);
