/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a family of items: T for elements of 1, 2, 4 and 8 bytes, moved and not looked at. No
 * guard; see cpu_items.h. */
#define GANTRY_T_ID 10
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 17
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 9
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS   \
    GANTRY_ITEM_ROW(10, 0) \
    GANTRY_ITEM_ROW(17, 0) \
    GANTRY_ITEM_ROW(3, 0)  \
    GANTRY_ITEM_ROW(9, 0)
