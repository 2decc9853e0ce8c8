/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/segment.cl on the CPU. */

#include "kernels/index/segment_items.h"

#include "kernels/common/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/index/segment.cl"
#define GANTRY_ITEM_LIST GANTRY_SEGMENT_ITEMS
#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
/* Halves are left out, because each of their sums is rounded, one by one; the other integers are
 * rare. */
#define GANTRY_ITEM_TYPES GANTRY_NUMBERS
#else
#define GANTRY_ITEM_TYPES GANTRY_NUMERIC
#endif
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(segment);
