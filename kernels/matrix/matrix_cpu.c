/* SPDX-License-Identifier: Apache-2.0 */
/* The items of kernels/matrix/matrix.cl on the CPU. */
#include "kernels/common/cpu_items.h"
#include "kernels/matrix/matrix_items.h"

#define GANTRY_ITEM_TEXT_FILE "kernels/matrix/matrix.cl"
#define GANTRY_ITEM_LIST GANTRY_MATRIX_ITEMS
#include "kernels/common/cpu_items_by_size.h"

GANTRY_CPU_ITEM_FAMILY(matrix);
