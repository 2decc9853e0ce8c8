/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/patches.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/kernels/window.cl"
#include "portable/portable_windows.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/patches.cl"
#define GANTRY_ITEM_LIST GANTRY_PATCHES_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(patches);
