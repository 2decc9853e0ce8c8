/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/permutation.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/index/permutation_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/index/permutation.cl"
#define GANTRY_ITEM_LIST GANTRY_PERMUTATION_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_INTS
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(permutation);
