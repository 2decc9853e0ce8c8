/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a reduction that read only partial results, for one type of them and one operation.
 * All input types that are summed in that type share them. Files that are compiled once for each
 * instruction set include this, without a guard, before reduce_cpu_body.h. The includer must define
 * JOIN_NAME(x), JOIN_ACC, JOIN_OP(a, b), JOIN_IDENTITY and JOIN_PUT(plan, acc, count, at), which
 * writes results (reduce_cpu_finish.h); the file undefines them at its end. Owner: the entry point
 * owns what a plan points to. Threads: thread-safe for units that differ. */

#define TREE_NAME(x) JOIN_NAME(x)
#define TREE_IN JOIN_ACC
#define TREE_ACC JOIN_ACC
#define TREE_LOAD(x) (x)
#define TREE_OP(a, b) JOIN_OP(a, b)
#define TREE_IDENTITY JOIN_IDENTITY
#include "kernels/reduce/reduce_cpu_tree.h"

static void JOIN_NAME(fill_all)(void *acc, int64_t count) { JOIN_NAME(fill)(acc, count); }

static void JOIN_NAME(join)(void *restrict first, const void *restrict second, int64_t count) {
    JOIN_ACC *a = first;
    const JOIN_ACC *b = second;
    for (int64_t i = 0; i < count; ++i) {
        a[i] = JOIN_OP(a[i], b[i]);
    }
}

static __attribute__((noinline)) JOIN_ACC JOIN_NAME(fold_all)(JOIN_ACC *acc) {
    return JOIN_NAME(fold_lanes)(acc);
}

static void JOIN_NAME(fold_columns)(void *acc, int64_t lanes, int64_t columns) {
    if (columns == 1) {
        *(JOIN_ACC *)acc = JOIN_NAME(fold_all)(acc);
    } else {
        JOIN_NAME(fold)(acc, lanes, columns);
    }
}

static void JOIN_NAME(put)(const gantry__cpu_reduce_plan_t *plan, void *acc, int64_t count,
                           int64_t at) {
    JOIN_PUT(plan, (JOIN_ACC *)acc, count, at);
}

static void JOIN_NAME(loops)(gantry__cpu_reduce_loops_t *loops) {
    loops->acc_bytes = sizeof(JOIN_ACC);
    loops->fill = JOIN_NAME(fill_all);
    loops->join = JOIN_NAME(join);
    loops->fold = JOIN_NAME(fold_columns);
    loops->put = JOIN_NAME(put);
}

#undef JOIN_NAME
#undef JOIN_ACC
#undef JOIN_OP
#undef JOIN_IDENTITY
#undef JOIN_PUT
