/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a sum of small integers in 64 bits. It has no guard, because reduce_cpu_simd.c
 * includes it once per type, with the operation, TREE_NAME(x) and TREE_IN defined
 * (reduce_cpu_tree.h). Owner: as reduce_cpu_body.h. Threads: thread-safe for units that differ. */
#define TREE_ROLLS
#define TREE_ACC uint64_t
#define TREE_LOAD(x) (uint64_t)(x)
#define TREE_JOIN(x) sums_##x##_u64
#include "kernels/reduce/reduce_cpu_body.h"
