/* SPDX-License-Identifier: Apache-2.0 */
/* The texts by which processors sort, as one that is included once per type (cpu_item_rows.h).
 * No guard. */
#include "portable/kernels/sort_key.cl"

#include "portable/kernels/radix_pairs.cl"

#include "portable/kernels/radix.cl"

#include "portable/kernels/network.cl"

#include "portable/kernels/sort_network.cl"

#include "portable/kernels/top.cl"
