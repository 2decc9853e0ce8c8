/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on the CPU: shared by the entry points, which handle shapes, and the loops, which are
 * compiled per instruction set.
 *
 * Owner: the entry point owns everything a plan points to. Threads: several threads read a plan at
 * once. */
#ifndef GANTRY_KERNELS_REDUCE_CPU_H
#define GANTRY_KERNELS_REDUCE_CPU_H

#include "kernels/common/cpu_kernels.h"
#include "kernels/common/cpu_prefetch.h"
#include "kernels/reduce/reduce_shape.h"

/* One level of the tree: each sequence of at most 4096 elements of `in` becomes one element of
 * `out`, which is [shape.outer][chunks][shape.columns]. Units are numbered in that order, with
 * `blocks` units for the columns of one row of out. */
typedef struct gantry__cpu_reduce_plan_t {
    gantry__reduce_shape_t shape;
    const void *in;
    void *out;
    int64_t chunks;
    int64_t block; /* columns of one unit */
    int64_t blocks;
    int64_t units;  /* outer * chunks * blocks */
    int32_t finish; /* GANTRY_FINISH_...; NONE but in the last level */
    int32_t out_dtype;
    int64_t divisor;
    bool reads_ahead; /* the hardware prefetcher is enough */
} gantry__cpu_reduce_plan_t;

/* Up to so many bytes of sums in a row of the output, one unit takes all columns, with the lanes
 * side by side. */
#define GANTRY_CPU_REDUCE_NARROW_BYTES 512
/* Sums of adjacent elements prefetch inputs of more bytes than this, and how many bytes ahead. A
 * smaller input may lie in the second-level cache, where prefetching costs more than it gains. Sums
 * of columns never gain. */
#define GANTRY_CPU_REDUCE_FAR_BYTES (INT64_C(1) << 20)
#define GANTRY_CPU_REDUCE_AHEAD 4096
/* Bytes of one row of the wide form's stack of partial sums. */
#define GANTRY_CPU_REDUCE_ROW_BYTES 4096

/* The loops of a tree (GANTRY_TREE_...) over elements of a type. They see adjacent elements only;
 * reduce_cpu_units.c handles shapes, once for all types. acc and target hold partial results, x and
 * rows elements of the input; counts are of elements. */
typedef struct gantry__cpu_reduce_loops_t {
    int64_t in_bytes, acc_bytes;
    void (*fill)(void *acc, int64_t count); /* with the identity */
    /* `rounds` pieces of x, `stride` elements apart, element by element onto acc. */
    void (*add)(void *acc, const void *x, int64_t rounds, int64_t stride, int64_t count);
    /* Reduces a whole sequence of one column, of at most a chunk, into target[0]. Prefetches
     * `ahead` elements ahead; 0: does not. */
    void (*line)(void *target, const void *x, int64_t count, int64_t ahead);
    /* Reduces two such sequences side by side. Their counts are equal, and multiples of
     * GANTRY_REDUCE_LANES. Beyond the caches the hardware prefetcher fetches more if a loop reads
     * in two places. NULL for rare types. */
    void (*pair)(void *target, void *other, const void *x, const void *y, int64_t count);
    void (*enter)(void *acc, const void *x, int64_t count); /* as the first of their lanes */
    /* Folds two to four rows of `width` elements into target, in the order (0 + 2) + (1 + 3). NULL
     * for rare types, and for extremes of floats, of whose loop compilers make scalar code. */
    void (*few)(void *target, const void *const *rows, int64_t count, int64_t width);
    void (*join)(void *a, const void *b, int64_t count);     /* a = a o b */
    void (*fold)(void *acc, int64_t lanes, int64_t columns); /* into the first lane */
    /* Finishes results as the plan says, and writes them to its output from element `at` on;
     * changes acc. */
    void (*put)(const gantry__cpu_reduce_plan_t *plan, void *acc, int64_t count, int64_t at);
} gantry__cpu_reduce_loops_t;

/* Runs units [begin, end) of the plan. */
void gantry__cpu_reduce_units(const gantry__cpu_reduce_loops_t *loops,
                              const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end);

/* The loops of a way's tree; false if there are none. */
GANTRY_CPU_DECLARE(bool, reduce_find,
                   (int32_t tree, int32_t dtype, gantry__cpu_reduce_loops_t *out_loops));
GANTRY_CPU_DECLARE(bool, reduce_find_extreme,
                   (int32_t tree, int32_t dtype, gantry__cpu_reduce_loops_t *out_loops));

/* The same for an instruction set (cpu_simd.h). */
bool gantry__cpu_reduce_find(int level, const gantry__reduce_way_t *way,
                             gantry__cpu_reduce_loops_t *out_loops);

/* ArgMax or ArgMin over the middle axis of [outer, length, columns]. With one column a unit is one
 * of `parts` pieces of a row, with more it is one of `parts` blocks of columns of one outer
 * index. */
typedef struct gantry__cpu_argmax_plan_t {
    const void *in;
    void *out;        /* outer * columns numbers */
    int64_t *partial; /* one index per unit when a row has several pieces, else NULL */
    int64_t length;
    int64_t columns;
    int64_t parts;
    int64_t piece;     /* elements of a row's piece */
    int32_t out_dtype; /* int16, uint16, int32 or int64 */
    /* not 0: ArgMin. No bool: gcc makes no vector code of the loops that select by one */
    int32_t reverses;
} gantry__cpu_argmax_plan_t;

/* Columns of a block. */
#define GANTRY_CPU_ARGMAX_BLOCK 256

typedef void (*gantry__cpu_argmax_fn)(const gantry__cpu_argmax_plan_t *plan, int64_t begin,
                                      int64_t end);
/* The loops of an element type: argmax_find's for units, argmax_join_find's for rows of partial
 * results. NULL if a type has none. */
GANTRY_CPU_DECLARE(gantry__cpu_argmax_fn, argmax_find, (int32_t dtype));
GANTRY_CPU_DECLARE(gantry__cpu_argmax_fn, argmax_join_find, (int32_t dtype));

/* Softmax of rows [begin, end) of `length` elements. */
typedef struct gantry__cpu_softmax_plan_t {
    const void *in;
    void *out;
    int64_t length;
} gantry__cpu_softmax_plan_t;

typedef void (*gantry__cpu_softmax_fn)(const gantry__cpu_softmax_plan_t *plan, int64_t begin,
                                       int64_t end);
GANTRY_CPU_DECLARE(gantry__cpu_softmax_fn, softmax_find, (int32_t dtype, int logarithm));

GANTRY_ARGMAX_OPS(GANTRY_K_CPU_KERNEL_DECLARATION)
GANTRY_SOFTMAX_OPS(GANTRY_K_CPU_KERNEL_DECLARATION)

/* Rows [begin, end) of LayerNormRows; in and out may be one. */
typedef struct gantry__cpu_layer_norm_plan_t {
    const void *in, *scale, *offset;
    void *out;
    int64_t length; /* at most a chunk of the tree */
    double epsilon;
    int level; /* of instructions, see cpu_simd.h */
} gantry__cpu_layer_norm_plan_t;

GANTRY_CPU_DECLARE(void, layer_norm_f32,
                   (const gantry__cpu_layer_norm_plan_t *plan, int64_t begin, int64_t end));
GANTRY_CPU_DECLARE(void, layer_norm_f64,
                   (const gantry__cpu_layer_norm_plan_t *plan, int64_t begin, int64_t end));
GANTRY_LAYER_NORM_OPS(GANTRY_K_CPU_KERNEL_DECLARATION)

#endif
