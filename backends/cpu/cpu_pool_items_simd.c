/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/pool.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/kernels/window.cl"
#include "portable/portable_windows.h"

#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
#define GANTRY_ITEM_ROWS /* memory is what they wait for: with AVX2 they are as quick */
#else
#define GANTRY_ITEM_TEXT_FILE "portable/kernels/pool.cl"
#define GANTRY_ITEM_LIST GANTRY_POOL_ITEMS
#if GANTRY_CPU_IS_FIRST(GANTRY_CPU_VARIANT)
#include "cpu/cpu_items_numeric.h"
#else
#include "cpu/cpu_items_floating.h" /* pools of integers are rare */
#endif
#endif

GANTRY_CPU_ITEM_FAMILY(pool);
