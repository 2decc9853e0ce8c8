/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/space_batch.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/portable_space_batch.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/space_batch.cl"
#define GANTRY_ITEM_LIST GANTRY_SPACE_BATCH_ITEMS
#include "cpu/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(space_batch);
