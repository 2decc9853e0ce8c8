/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/scan/scan.cl on the CPU: floating types, and integers by size. */
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
#if GANTRY_CPU_IS_AVX512(GANTRY_CPU_VARIANT) /* the types that it is quicker for */
#define GANTRY_T_ID 2
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 14
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 19
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 4
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 9
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS   \
    GANTRY_ITEM_ROW(2, 0)  \
    GANTRY_ITEM_ROW(14, 0) \
    GANTRY_ITEM_ROW(19, 0) \
    GANTRY_ITEM_ROW(3, 0)  \
    GANTRY_ITEM_ROW(4, 0)  \
    GANTRY_ITEM_ROW(9, 0)
#else
#include "kernels/common/cpu_items_wrapping.h"
#endif

GANTRY_CPU_ITEM_FAMILY(scan);
