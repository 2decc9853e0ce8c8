/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/compaction.cl on the CPU. */
#include "kernels/index/compaction_items.h"

#include "kernels/common/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/index/compaction.cl"
#define GANTRY_ITEM_LIST GANTRY_COMPACTION_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(compaction);
