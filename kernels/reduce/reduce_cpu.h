/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on the CPU: what the entry points, which handle shapes, and the loops, which are
 * compiled once for each instruction set, share.
 *
 * Owner: the entry point owns everything that a plan points to. Threads: several threads may read a
 * plan at once; each must run units of its own. */
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
    int64_t block; /* columns of a unit */
    int64_t blocks;
    int64_t units;  /* outer * chunks * blocks */
    int32_t finish; /* GANTRY_FINISH_...; NONE except in the last level */
    int32_t out_dtype;
    int64_t divisor;
    bool reads_ahead; /* whether the hardware prefetcher is enough */
} gantry__cpu_reduce_plan_t;

/* While a row of the output has at most so many bytes of sums, one unit takes all columns, and the
 * lanes of all columns are neighbours. */
#define GANTRY_CPU_REDUCE_NARROW_BYTES 512
/* Sums of adjacent elements prefetch if the input has more bytes than the first number, as far
 * ahead as the second. A smaller input may be in the second-level cache, where prefetching costs
 * more than it gains. Sums of columns never gain. */
#define GANTRY_CPU_REDUCE_FAR_BYTES (INT64_C(1) << 20)
#define GANTRY_CPU_REDUCE_AHEAD 4096
/* The bytes of one row of the wide form's stack of partial sums. */
#define GANTRY_CPU_REDUCE_ROW_BYTES 4096

/* The loops of a tree (GANTRY_TREE_...) over elements of a type. They see only adjacent elements;
 * reduce_cpu_units.c handles shapes, once for all types. acc and target hold partial results, x and
 * rows elements of the input; counts are of elements. */
typedef struct gantry__cpu_reduce_loops_t {
    int64_t in_bytes, acc_bytes;
    void (*fill)(void *acc, int64_t count); /* fills acc with the identity */
    /* Adds `rounds` pieces of x, `stride` elements apart, element by element to acc. */
    void (*add)(void *acc, const void *x, int64_t rounds, int64_t stride, int64_t count);
    /* Reduces a whole sequence of one column, of at most a chunk, into target[0]. Prefetches
     * `ahead` elements ahead; 0: does not prefetch. */
    void (*line)(void *target, const void *x, int64_t count, int64_t ahead);
    /* Reduces two such sequences at the same time. Their counts must be equal, and multiples of
     * GANTRY_REDUCE_LANES. Beyond the caches the hardware prefetcher fetches more if a loop reads
     * in two places. NULL for rare types. */
    void (*pair)(void *target, void *other, const void *x, const void *y, int64_t count);
    void (*enter)(void *acc, const void *x, int64_t count); /* makes x the first of their lanes */
    /* Folds two to four rows of `width` elements into target, in the order (0 + 2) + (1 + 3). NULL
     * for rare types, and for extremes of floats, because compilers make scalar code of their
     * loop. */
    void (*few)(void *target, const void *const *rows, int64_t count, int64_t width);
    void (*join)(void *a, const void *b, int64_t count);     /* a = a o b */
    void (*fold)(void *acc, int64_t lanes, int64_t columns); /* folds into the first lane */
    /* Finishes results as the plan says, and writes them to its output from element `at` on; acc is
     * overwritten. */
    void (*put)(const gantry__cpu_reduce_plan_t *plan, void *acc, int64_t count, int64_t at);
} gantry__cpu_reduce_loops_t;

/* Runs units [begin, end) of the plan. */
void gantry__cpu_reduce_units(const gantry__cpu_reduce_loops_t *loops,
                              const gantry__cpu_reduce_plan_t *plan, int64_t begin, int64_t end);

/* Writes the loops of a way's tree. Returns false if there are none. */
GANTRY_CPU_DECLARE(bool, reduce_find,
                   (int32_t tree, int32_t dtype, gantry__cpu_reduce_loops_t *out_loops));
GANTRY_CPU_DECLARE(bool, reduce_find_extreme,
                   (int32_t tree, int32_t dtype, gantry__cpu_reduce_loops_t *out_loops));

/* The same for an instruction set (cpu_simd.h). */
bool gantry__cpu_reduce_find(int level, const gantry__reduce_way_t *way,
                             gantry__cpu_reduce_loops_t *out_loops);

/* ArgMax or ArgMin over the middle axis of [outer, length, columns]. With one column a unit is
 * one of `parts` pieces of a row, with more it is one of `parts` blocks of columns of one outer
 * index. */
typedef struct gantry__cpu_argmax_plan_t {
    const void *in;
    void *out;        /* outer * columns numbers */
    int64_t *partial; /* one index per unit if a row has several pieces, else NULL */
    int64_t length;
    int64_t columns;
    int64_t parts;
    int64_t piece;     /* elements of a row's piece */
    int32_t out_dtype; /* int16, uint16, int32 or int64 */
    /* not 0: ArgMin. This is no bool, because gcc makes no vector code of the loops that select by
     * one */
    int32_t reverses;
} gantry__cpu_argmax_plan_t;

/* The columns of a block. */
#define GANTRY_CPU_ARGMAX_BLOCK 256

typedef void (*gantry__cpu_argmax_fn)(const gantry__cpu_argmax_plan_t *plan, int64_t begin,
                                      int64_t end);
/* The loops of an element type: argmax_find's are for units, argmax_join_find's for rows of partial
 * results. They return NULL if a type has none. */
GANTRY_CPU_DECLARE(gantry__cpu_argmax_fn, argmax_find, (int32_t dtype));
GANTRY_CPU_DECLARE(gantry__cpu_argmax_fn, argmax_join_find, (int32_t dtype));

/* The softmax of rows [begin, end), which have `length` elements. */
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

/* LayerNormRows of rows [begin, end); in and out may be the same. */
typedef struct gantry__cpu_layer_norm_plan_t {
    const void *in, *scale, *offset;
    void *out;
    int64_t length; /* at most a chunk of the tree */
    double epsilon;
    int level; /* instruction set (cpu_simd.h) */
} gantry__cpu_layer_norm_plan_t;

GANTRY_CPU_DECLARE(void, layer_norm_f32,
                   (const gantry__cpu_layer_norm_plan_t *plan, int64_t begin, int64_t end));
GANTRY_CPU_DECLARE(void, layer_norm_f64,
                   (const gantry__cpu_layer_norm_plan_t *plan, int64_t begin, int64_t end));
GANTRY_LAYER_NORM_OPS(GANTRY_K_CPU_KERNEL_DECLARATION)

#endif
