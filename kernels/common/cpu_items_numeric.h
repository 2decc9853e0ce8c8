/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a family of items: T for all floating and integer types. No guard; see cpu_items.h.
 * With GANTRY_ITEM_USUAL_INTEGERS only int32 and int64 of the integers: what a variant lacks,
 * the one below it has. */
#include "kernels/common/cpu_items_floating.h"

#undef GANTRY_ITEM_ROWS

#define GANTRY_T_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 9
#include "kernels/common/cpu_item_rows.h"

#ifndef GANTRY_ITEM_USUAL_INTEGERS
#define GANTRY_T_ID 4
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 5
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 6
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 17
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 22
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 23
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_OTHER_INTEGER_ROWS \
    GANTRY_ITEM_ROW(4, 0)              \
    GANTRY_ITEM_ROW(5, 0)              \
    GANTRY_ITEM_ROW(6, 0)              \
    GANTRY_ITEM_ROW(17, 0)             \
    GANTRY_ITEM_ROW(22, 0)             \
    GANTRY_ITEM_ROW(23, 0)
#else
#define GANTRY_ITEM_OTHER_INTEGER_ROWS
#endif

#define GANTRY_ITEM_ROWS  \
    GANTRY_ITEM_ROW(1, 0) \
    GANTRY_ITEM_ROW(2, 0) \
    GANTRY_ITEM_HALF_ROWS \
    GANTRY_ITEM_ROW(3, 0) \
    GANTRY_ITEM_ROW(9, 0) \
    GANTRY_ITEM_OTHER_INTEGER_ROWS
