/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that sort by keys, as one file that is included once per type (cpu_item_rows.h). No
 * guard. */
#include "kernels/sort/sort_key.cl"

#include "kernels/sort/sort.cl"
