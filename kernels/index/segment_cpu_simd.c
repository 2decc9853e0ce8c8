/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/index/segment.cl on the CPU. */
#include "kernels/common/cpu_compress.h"

#include "kernels/index/segment_items.h"

#include "kernels/common/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/index/segment.cl"
#define GANTRY_ITEM_LIST GANTRY_SEGMENT_ITEMS
#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT)
#define GANTRY_ITEM_NO_HALVES /* each sum is rounded, one by one */
#define GANTRY_ITEM_USUAL_INTEGERS
#endif
#include "kernels/common/cpu_items_numeric.h"

GANTRY_CPU_ITEM_FAMILY(segment);
