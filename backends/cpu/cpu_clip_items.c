/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/clip.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/portable_clip.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/clip.cl"
#define GANTRY_ITEM_LIST GANTRY_CLIP_ITEMS
#include "cpu/cpu_items_numeric.h"

GANTRY_CPU_ITEM_FAMILY(clip);
