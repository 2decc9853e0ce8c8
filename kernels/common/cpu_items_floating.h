/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a family of items: T for all floating types, but halves where GANTRY_ITEM_NO_HALVES is
 * defined. No guard; see cpu_items.h. */
#define GANTRY_T_ID 1
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 2
#include "kernels/common/cpu_item_rows.h"

#ifndef GANTRY_ITEM_NO_HALVES
#define GANTRY_T_ID 14
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 19
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_HALF_ROWS \
    GANTRY_ITEM_ROW(14, 0)    \
    GANTRY_ITEM_ROW(19, 0)
#else
#define GANTRY_ITEM_HALF_ROWS
#endif

#define GANTRY_ITEM_ROWS  \
    GANTRY_ITEM_ROW(1, 0) \
    GANTRY_ITEM_ROW(2, 0) \
    GANTRY_ITEM_HALF_ROWS
