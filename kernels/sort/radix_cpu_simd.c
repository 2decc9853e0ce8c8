/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/sort/radix.cl, kernels/sort/sort_network_rows.cl,
 * kernels/sort/sort_network.cl and kernels/sort/top_k.cl on the CPU. */
#include "kernels/sort/radix_items.h"

#include "kernels/common/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/sort/radix_cpu_text.h"
#define GANTRY_ITEM_LIST GANTRY_RADIX_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_NUMBERS_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(radix);
