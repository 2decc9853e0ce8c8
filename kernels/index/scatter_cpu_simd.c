/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/scatter.cl on the CPU. */

#include "kernels/index/scatter_items.h"

#include "kernels/common/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/index/scatter.cl"
#define GANTRY_ITEM_LIST GANTRY_SCATTER_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(scatter);
