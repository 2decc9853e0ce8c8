/* The items of kernels/segment.cl on the CPU. */
#include "cpu/cpu_pick.h"

#include "portable/portable_segment.h"

#include "cpu/cpu_items.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/segment.cl"
#define GANTRY_ITEM_LIST GANTRY_SEGMENT_ITEMS
#include "cpu/cpu_items_numeric.h"

GANTRY_CPU_ITEM_FAMILY(segment);
