/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/scatter.cl on the CPU. */
#include "cpu/cpu_pick.h"

#include "portable/portable_scatter.h"

#include "cpu/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/scatter.cl"
#define GANTRY_ITEM_LIST GANTRY_SCATTER_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(scatter);
