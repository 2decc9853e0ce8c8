/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/compact.cl on the CPU. */
#include "portable/portable_compact.h"

#include "cpu/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/compact.cl"
#define GANTRY_ITEM_LIST GANTRY_COMPACT_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(compact);
