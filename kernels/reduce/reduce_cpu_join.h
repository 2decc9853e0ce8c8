/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a reduction that read only partial results, for one type of them and one operation.
 * All input types that are summed in that type share them. Files that are compiled once for each
 * instruction set include this, without a guard, before reduce_cpu_body.h. The includer must define
 * the operation (reduce_cpu_tree.h), TREE_NAME(x), TREE_ACC and TREE_PUT(plan, acc, count, at),
 * which writes results (reduce_cpu_finish.h); the file undefines the last three at its end. Owner:
 * the entry point owns what a plan points to. Threads: thread-safe for units that differ. */

#define TREE_IN TREE_ACC
#define TREE_GOES_ON
#include "kernels/reduce/reduce_cpu_tree.h"

static void TREE_NAME(fill_all)(void *acc, int64_t count) { TREE_NAME(fill)(acc, count); }

static void TREE_NAME(join)(void *restrict first, const void *restrict second, int64_t count) {
    TREE_ACC *a = first;
    const TREE_ACC *b = second;
    for (int64_t i = 0; i < count; ++i) {
        a[i] = TREE_OP(a[i], b[i]);
    }
}

static __attribute__((noinline)) TREE_ACC TREE_NAME(fold_all)(TREE_ACC *acc) {
    return TREE_NAME(fold_lanes)(acc);
}

static void TREE_NAME(fold_columns)(void *acc, int64_t lanes, int64_t columns) {
    if (columns == 1) {
        *(TREE_ACC *)acc = TREE_NAME(fold_all)(acc);
    } else {
        TREE_NAME(fold)(acc, lanes, columns);
    }
}

static void TREE_NAME(put)(const gantry__cpu_reduce_plan_t *plan, void *acc, int64_t count,
                           int64_t at) {
    TREE_PUT(plan, (TREE_ACC *)acc, count, at);
}

static void TREE_NAME(loops)(gantry__cpu_reduce_loops_t *loops) {
    loops->acc_bytes = sizeof(TREE_ACC);
    loops->fill = TREE_NAME(fill_all);
    loops->join = TREE_NAME(join);
    loops->fold = TREE_NAME(fold_columns);
    loops->put = TREE_NAME(put);
}

#undef TREE_PUT
#include "kernels/reduce/reduce_cpu_tree_end.h"
