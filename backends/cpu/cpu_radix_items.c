/* The items of cpu_radix_items_simd.c, by instruction set. */
#include "portable/portable_radix.h"

#include "cpu/cpu_items.h"

GANTRY_CPU_ITEM_FAMILY_OF_VARIANTS(radix);
