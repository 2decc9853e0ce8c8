/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/window_sum.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/window/window.cl"
#include "kernels/window/window_items.h"

#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
#define GANTRY_ITEM_ROWS /* memory is what they wait for: with AVX2 they are as quick */
#else
#define GANTRY_ITEM_TEXT_FILE "kernels/window/window_sum.cl"
#define GANTRY_ITEM_LIST GANTRY_WINDOW_SUM_ITEMS
#include "kernels/common/cpu_items_floating.h"
#endif

GANTRY_CPU_ITEM_FAMILY(window_sum);
