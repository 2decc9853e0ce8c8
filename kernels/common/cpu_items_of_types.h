/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a family of items for every type of the set GANTRY_ITEM_TYPES. This file has no
 * guard; cpu_items.h shows what a family must define before it includes it. Owner: constant data.
 * Threads: thread-safe. */
#define GANTRY_EACH_TYPE GANTRY_ITEM_TYPES
#define GANTRY_EACH_TEXT "kernels/common/cpu_item_rows.h"
#include "kernels/common/each_type.h"
