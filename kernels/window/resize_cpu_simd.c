/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/resize.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/window/window_items.h"

#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
/* These loops wait for memory, so AVX2's are as fast. */
#define GANTRY_ITEM_TYPES GANTRY_NO_TYPES
#else
#define GANTRY_ITEM_TEXT_FILE "kernels/window/resize.cl"
#define GANTRY_ITEM_LIST GANTRY_RESIZE_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_FLOATS
#endif
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(resize);
