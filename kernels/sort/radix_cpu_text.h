/* SPDX-License-Identifier: Apache-2.0 */
/* The texts with which processors sort, as one file. It has no guard, because cpu_item_rows.h
 * includes it once per type. Owner: arrays are the caller's. Threads: thread-safe for items that
 * differ. */
#include "kernels/sort/sort_key.cl"

#include "kernels/sort/radix_pairs.cl"

#include "kernels/sort/radix.cl"

#include "kernels/sort/sort_network_rows.cl"

#include "kernels/sort/sort_network.cl"

#include "kernels/sort/top_k.cl"
