/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/radix.cl, kernels/network.cl, kernels/sort_network.cl and kernels/top.cl
 * on the CPU. */
#include "portable/portable_radix.h"

#include "cpu/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "cpu/cpu_radix_text.h"
#define GANTRY_ITEM_LIST GANTRY_RADIX_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(radix);
