/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/loss/loss.cl on the CPU: two float types by two types of labels. */
#include "kernels/common/cpu_items.h"
#include "kernels/loss/loss_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/loss/loss.cl"
#define GANTRY_ITEM_LIST GANTRY_LOSS_ITEMS

#define GANTRY_T_ID 1
#define GANTRY_I_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 1
#define GANTRY_I_ID 9
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 2
#define GANTRY_I_ID 3
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_T_ID 2
#define GANTRY_I_ID 9
#include "kernels/common/cpu_item_rows.h"

#define GANTRY_ITEM_ROWS  \
    GANTRY_ITEM_ROW(1, 3) \
    GANTRY_ITEM_ROW(1, 9) \
    GANTRY_ITEM_ROW(2, 3) \
    GANTRY_ITEM_ROW(2, 9)

GANTRY_CPU_ITEM_FAMILY(loss);
