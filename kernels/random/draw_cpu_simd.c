/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/random/draw.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/random/draw_items.h"

#include "kernels/math/math_float32.cl"
#include "kernels/math/math_float64.cl"
#include "kernels/random/philox.cl"

#define GANTRY_ITEM_TEXT_FILE "kernels/random/draw.cl"
#define GANTRY_ITEM_LIST GANTRY_DRAW_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_FLOATING
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(draw);
