/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a family of items: T for all floating types, and for integers, which wrap alike, one of
 * each size. No guard; see cpu_items.h. */
#include "kernels/common/cpu_items_floating.h"

#undef GANTRY_ITEM_ROWS

#define GANTRY_T_ID 4
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 17
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 9
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS   \
    GANTRY_ITEM_ROW(1, 0)  \
    GANTRY_ITEM_ROW(2, 0)  \
    GANTRY_ITEM_ROW(14, 0) \
    GANTRY_ITEM_ROW(19, 0) \
    GANTRY_ITEM_ROW(4, 0)  \
    GANTRY_ITEM_ROW(17, 0) \
    GANTRY_ITEM_ROW(3, 0)  \
    GANTRY_ITEM_ROW(9, 0)
