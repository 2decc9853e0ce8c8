/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/permutation.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/portable_permutation.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/permutation.cl"
#define GANTRY_ITEM_LIST GANTRY_PERMUTATION_ITEMS
#define GANTRY_T_ID 3
#include "cpu/cpu_item_rows.h"

#define GANTRY_T_ID 9
#include "cpu/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS  \
    GANTRY_ITEM_ROW(3, 0) \
    GANTRY_ITEM_ROW(9, 0)

GANTRY_CPU_ITEM_FAMILY(permutation);
