/* The items of cpu_scatter_items_simd.c, by instruction set. */
#include "portable/portable_scatter.h"

#include "cpu/cpu_items.h"

GANTRY_CPU_ITEM_FAMILY_OF_VARIANTS(scatter);
