/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/sort/sort.cl on the CPU. */
#include "kernels/sort/sort_items.h"

#include "kernels/common/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/sort/sort_cpu_text.h"
#define GANTRY_ITEM_LIST GANTRY_SORT_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_NUMBERS_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(sort);
