/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/remap.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/portable_remap.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/remap.cl"
#define GANTRY_ITEM_LIST GANTRY_REMAP_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(remap);
