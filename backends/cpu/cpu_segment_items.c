/* The items of cpu_segment_items_simd.c, by instruction set. */
#include "portable/portable_segment.h"

#include "cpu/cpu_items.h"

GANTRY_CPU_ITEM_FAMILY_OF_VARIANTS(segment);
