/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/attention/rotary.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/attention/rotary_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/attention/rotary.cl"
#define GANTRY_ITEM_LIST GANTRY_ROTARY_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_FLOATING
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(rotary);
