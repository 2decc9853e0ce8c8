/* The items of kernels/scan.cl on the CPU: floating types, and integers by size. */
#include "cpu/cpu_items.h"
#include "portable/portable_scan.h"

#include "portable/kernels/math_float32.cl"

#include "portable/kernels/math_float64.cl"

#define GANTRY_ITEM_TEXT_FILE "portable/kernels/scan.cl"
#define GANTRY_ITEM_LIST GANTRY_SCAN_ITEMS
#include "cpu/cpu_items_wrapping.h"

GANTRY_CPU_ITEM_FAMILY(scan);
