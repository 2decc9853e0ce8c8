/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of the CPU backend: what the entry point and the loops of each instruction set share.
 *
 * Owner: the call's tensors and scratch. Threads: thread-safe for items that do not overlap; each
 * unit has scratch of its own. */
#ifndef GANTRY_KERNELS_ATTENTION_CPU_H
#define GANTRY_KERNELS_ATTENTION_CPU_H

#include "kernels/attention/attention_shape.h"
#include "kernels/matmul/matmul_cpu.h"

/* The blocks: queries whose scores are computed at once, keys of a block, and queries of an item,
 * which share the packed keys and values. A multiple of every panel's width. */
enum {
    GANTRY_CPU_ATTENTION_QUERIES = 96,
    GANTRY_CPU_ATTENTION_KEYS = 192,
    GANTRY_CPU_ATTENTION_ITEM = 4 * GANTRY_CPU_ATTENTION_QUERIES
};

/* Places in a unit's scratch, in elements of the type of sums. */
enum {
    GANTRY_CPU_AT_WIDE = 0, /* a block of a tensor as the type of sums */
    GANTRY_CPU_AT_PACKED_A, /* packed panels of the left operand */
    GANTRY_CPU_AT_PACKED_KEYS,
    GANTRY_CPU_AT_PACKED_VALUES,
    GANTRY_CPU_AT_PACKED_OTHER,
    GANTRY_CPU_AT_SCORES,
    GANTRY_CPU_AT_SLOPES, /* gradients of scores */
    GANTRY_CPU_AT_CAPS,   /* factors of softcap's gradient */
    GANTRY_CPU_AT_ROWS,   /* numbers of the item's queries */
    GANTRY_CPU_AT_OUT,    /* sums: the item's output, or the gradients of its heads */
    GANTRY_CPU_AT_COUNT
};

typedef struct gantry__cpu_attention_t {
    gantry__attention_t shape;
    int32_t dtype;
    double scale, softcap;
    const gantry__cpu_gemm_loops_t *loops;
    const char *query, *key, *value, *mask;
    char *out; /* forward */
    void *sums;
    const char *result, *result_slope; /* backward: output, its gradient */
    const void *result_sums;
    char *slopes[3]; /* of query, key, value */
    int64_t items, units;
    int64_t places[GANTRY_CPU_AT_COUNT];
    int64_t unit_elements;
    char *scratch;
} gantry__cpu_attention_t;

/* Items begin, begin + units, ... of a unit. A forward item is some queries of a head; a backward
 * item is a head of keys. */
typedef void (*gantry__cpu_attention_fn)(const gantry__cpu_attention_t *plan, int64_t unit);
GANTRY_CPU_DECLARE(gantry__cpu_attention_fn, attention_find, (int32_t dtype, int is_gradient));

GANTRY_ATTENTION_OPS(GANTRY_K_CPU_KERNEL_DECLARATION)

#endif
