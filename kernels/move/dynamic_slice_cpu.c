/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/move/dynamic_slice.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/move/dynamic_slice_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/move/dynamic_slice.cl"
#define GANTRY_ITEM_LIST GANTRY_DYNAMIC_SLICE_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(dynamic_slice);
