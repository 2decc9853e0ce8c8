/* The items of kernels/pool.cl on the CPU. */
#include "cpu/cpu_items.h"
#include "portable/kernels/window.cl"
#include "portable/portable_windows.h"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/pool.cl"
#define GANTRY_ITEM_LIST GANTRY_POOL_ITEMS
#include "cpu/cpu_items_numeric.h"

GANTRY_CPU_ITEM_FAMILY(pool);
