/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/window_sum.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/window/window.cl"
#include "kernels/window/window_items.h"
#include "kernels/window/window_planes_cpu.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/window/window_sum.cl"
#define GANTRY_ITEM_LIST GANTRY_WINDOW_SUM_ITEMS
#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
#define GANTRY_ITEM_TYPES GANTRY_TYPE_F32 /* AVX2's loops of other types are as fast */
#else
#define GANTRY_ITEM_TYPES GANTRY_FLOATING
#endif
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(window_sum);
