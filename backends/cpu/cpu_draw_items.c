/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/draw.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/portable_draw.h"

#include "portable/kernels/math_float32.cl"
#include "portable/kernels/math_float64.cl"
#include "portable/kernels/philox.cl"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/draw.cl"
#define GANTRY_ITEM_LIST GANTRY_DRAW_ITEMS
#include "cpu/cpu_items_floating.h"

GANTRY_CPU_ITEM_FAMILY(draw);
