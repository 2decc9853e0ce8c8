/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/sort.cl on the CPU. */
#include "portable/portable_sort.h"

#include "cpu/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "cpu/cpu_sort_text.h"
#define GANTRY_ITEM_LIST GANTRY_SORT_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(sort);
