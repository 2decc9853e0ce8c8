/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/move/space_batch.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/move/space_batch_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/move/space_batch.cl"
#define GANTRY_ITEM_LIST GANTRY_SPACE_BATCH_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(space_batch);
