/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that sort by keys, as one file. It has no guard, because cpu_item_rows.h includes it
 * once per type. Owner: arrays are the caller's. Threads: thread-safe for items that differ. */
#include "kernels/sort/sort_key.cl"

#include "kernels/sort/sort.cl"
