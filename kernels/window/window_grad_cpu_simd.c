/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/window/window_grad.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/window/window.cl"
#include "kernels/window/window_items.h"

#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
/* These loops wait for memory, so AVX2's are as fast. */
#define GANTRY_ITEM_TYPES GANTRY_NO_TYPES
#else
#define GANTRY_ITEM_TEXT_FILE "kernels/window/window_grad.cl"
#define GANTRY_ITEM_LIST GANTRY_WINDOW_GRAD_ITEMS
#if GANTRY_CPU_IS_FIRST(GANTRY_CPU_VARIANT)
#define GANTRY_ITEM_TYPES GANTRY_FLOATING
#else
#define GANTRY_ITEM_TYPES GANTRY_FLOATS /* 16-bit floats have no vector code */
#endif
#endif
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(window_grad);
