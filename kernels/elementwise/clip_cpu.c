/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/elementwise/clip.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/elementwise/clip_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/elementwise/clip.cl"
#define GANTRY_ITEM_LIST GANTRY_CLIP_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_NUMERIC
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(clip);
