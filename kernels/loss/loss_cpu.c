/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/loss/loss.cl on the CPU: two float types by two types of labels. */
#include "kernels/common/cpu_items.h"
#include "kernels/loss/loss_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/loss/loss.cl"
#define GANTRY_ITEM_LIST GANTRY_LOSS_ITEMS

#define GANTRY_ITEM_TYPES GANTRY_FLOATS

#undef GANTRY_I
#define GANTRY_I i32
#include "kernels/common/cpu_items_of_types.h"

#undef GANTRY_I
#define GANTRY_I i64
#include "kernels/common/cpu_items_of_types.h"

#undef GANTRY_ITEM_ROWS
#define GANTRY_LOSS_ROWS(t) GANTRY_ITEM_ROW(t, i32) GANTRY_ITEM_ROW(t, i64)
#define GANTRY_ITEM_ROWS GANTRY_ITEM_TYPES(GANTRY_LOSS_ROWS)

GANTRY_CPU_ITEM_FAMILY(loss);
