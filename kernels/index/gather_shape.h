/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and OneHot: the list of their kernels, and the numbers that follow from a call.
 *
 * Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_GATHER_SHAPE_H
#define GANTRY_KERNELS_GATHER_SHAPE_H

#include "kernels/common/kernel_definition.h"
#include "kernels/common/kernel_shape.h"

/* A list in the form of kernel_definition.h. */
#define GANTRY_GATHER_OPS(X)                                                               \
    X(gather, "Gather", compute_gather, gantry__k_gather_types, gantry__k_gather_hosts, 1) \
    X(one_hot, "OneHot", compute_one_hot, gantry__k_one_hot_types, gantry__k_one_hot_hosts, 1)
static const gantry_type_constraint_t gantry__k_gather_types[] = {{"Tparams", GANTRY_DTYPES_ANY},
                                                                  {"Tindices", GANTRY_DTYPES_INTS}};
static const gantry_type_constraint_t gantry__k_one_hot_types[] = {
    {"T", GANTRY_DTYPES_ANY},
    {"TI", GANTRY_DTYPES_INTS | GANTRY_DTYPE_BIT(GANTRY_UINT8) | GANTRY_DTYPE_BIT(GANTRY_INT8)}};
static const char *const gantry__k_gather_hosts[] = {"axis"};
static const char *const gantry__k_one_hot_hosts[] = {"depth"};

/* Gather has params [batch, outer, limit, inner], indices [batch, picks], output [batch, outer,
 * picks, inner]. */
typedef struct gantry__gather_shape_t {
    int64_t batch, outer, limit, picks, inner;
    /* for prefetch on processors: cache lines of a row, and how many rows ahead */
    int64_t lines, ahead;
} gantry__gather_shape_t;

void gantry__gather_shape(const gantry_op_call_t *call, gantry__gather_shape_t *out);

/* OneHot has indices [prefix, suffix], output [prefix, depth, suffix]. */
typedef struct gantry__one_hot_shape_t {
    int64_t prefix, depth, suffix;
} gantry__one_hot_shape_t;

void gantry__one_hot_shape(const gantry_op_call_t *call, gantry__one_hot_shape_t *out);

#endif
