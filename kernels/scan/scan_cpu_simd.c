/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/scan/scan.cl on the CPU: for floating types, and for integers by size. */
#include "kernels/common/cpu_items.h"
#include "kernels/common/cpu_stream_store.h"
#include "kernels/scan/scan_items.h"

#include "kernels/math/math_float32.cl"

#include "kernels/math/math_float64.cl"

#include "kernels/scan/scan_transposed.cl"

#define GANTRY_STREAM_OUT(to, from) gantry__cpu_stream_line((char *)(to), (const char *)(from))
#define GANTRY_STREAM_END() gantry__cpu_stream_fence()

#define GANTRY_ITEM_TEXT_FILE "kernels/scan/scan.cl"
#define GANTRY_ITEM_LIST GANTRY_SCAN_ITEMS
#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT) /* only the types for which it is faster */
#define GANTRY_SCAN_TYPES(ROW) ROW(f64) GANTRY_HALVES(ROW) ROW(i32) ROW(u8) ROW(i64)
#define GANTRY_ITEM_TYPES GANTRY_SCAN_TYPES
#else
#define GANTRY_ITEM_TYPES GANTRY_WRAPPING
#endif
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(scan);
