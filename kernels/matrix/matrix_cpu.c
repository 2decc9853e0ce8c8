/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/matrix/matrix.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/matrix/matrix_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/matrix/matrix.cl"
#define GANTRY_ITEM_LIST GANTRY_MATRIX_ITEMS
#define GANTRY_ITEM_TYPES GANTRY_BY_SIZE
#include "kernels/common/cpu_items_of_types.h"

GANTRY_CPU_ITEM_FAMILY(matrix);
