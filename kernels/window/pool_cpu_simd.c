/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/pool.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/window/window.cl"
#include "kernels/window/window_items.h"

#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
/* These loops wait for memory, so AVX2's are as fast. */
#define GANTRY_ITEM_TYPES GANTRY_NO_TYPES
#else
#define GANTRY_ITEM_TEXT_FILE "kernels/window/pool.cl"
#define GANTRY_ITEM_LIST GANTRY_POOL_ITEMS
#if GANTRY_CPU_IS_FIRST(GANTRY_CPU_VARIANT)
#define GANTRY_ITEM_TYPES GANTRY_NUMERIC
#else
#define GANTRY_ITEM_TYPES GANTRY_FLOATING /* pools of integers are rare */
#endif
#endif
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(pool);
