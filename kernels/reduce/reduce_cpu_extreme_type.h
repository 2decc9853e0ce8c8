/* SPDX-License-Identifier: Apache-2.0 */
/* Max or Min of a type that is the type of partial results, too. It has no guard, because
 * reduce_cpu_extreme.h includes it once per type, with the operation (reduce_cpu_tree.h),
 * EXTREME_TYPE, and its EXTREME_TAG in names. EXTREME_PUT writes results; without it they are
 * written as they are. The file undefines all but the operation. Owner: as reduce_cpu_body.h.
 * Threads: thread-safe for units that differ. */
#ifndef EXTREME_PUT
#define EXTREME_PUT put_as_it_is
#endif
#define TREE_NAME(x) EXTREME_TAGGED(x##_join, EXTREME_TAG)
#define TREE_ACC EXTREME_TYPE
#define TREE_PUT EXTREME_PUT
#include "kernels/reduce/reduce_cpu_join.h"
#define TREE_NAME(x) EXTREME_TAGGED(x, EXTREME_TAG)
#define TREE_IN EXTREME_TYPE
#define TREE_FIRST(x) (x)
#define TREE_JOIN(x) EXTREME_TAGGED(x##_join, EXTREME_TAG)
#include "kernels/reduce/reduce_cpu_body.h"
#undef EXTREME_TAG
#undef EXTREME_TYPE
#undef EXTREME_PUT
#undef EXTREME_IDENTITY
