/* SPDX-License-Identifier: Apache-2.0 */
/* The texts with which processors sort, as one file that is included once per type
 * (cpu_item_rows.h). No guard. */
#include "kernels/sort/sort_key.cl"

#include "kernels/sort/radix_pairs.cl"

#include "kernels/sort/radix.cl"

#include "kernels/sort/sort_network_rows.cl"

#include "kernels/sort/sort_network.cl"

#include "kernels/sort/top_k.cl"
