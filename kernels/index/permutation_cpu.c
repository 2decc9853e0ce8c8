/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/permutation.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/index/permutation_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/index/permutation.cl"
#define GANTRY_ITEM_LIST GANTRY_PERMUTATION_ITEMS
#define GANTRY_T_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 9
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS  \
    GANTRY_ITEM_ROW(3, 0) \
    GANTRY_ITEM_ROW(9, 0)

GANTRY_CPU_ITEM_FAMILY(permutation);
