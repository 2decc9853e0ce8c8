/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasting as a plan: the output's dimensions with one stride per operand, as few dimensions as
 * the shapes allow.
 *
 * All tensors are dense and row-major, so an operand's stride is either what its own shape says or
 * 0 where it is broadcast. Dimensions of 1 vanish; two neighbours become one when for every operand
 * the outer stride is the inner stride times the inner dimension:
 *
 *     [8, 1, 6, 5] + [6, 5]   ->   dims [8, 30], strides x [30, 1], y [0, 1]
 *
 * The innermost stride of an operand is therefore always 0 or 1 element. Not here: strided views,
 * because Gantry's tensors are none. Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_KERNEL_SHAPE_H
#define GANTRY_KERNELS_KERNEL_SHAPE_H

#include "kernels/common/kernel_types.h"

#define GANTRY_K_MAX_OPERANDS 3

typedef struct gantry__k_plan_t {
    int32_t rank; /* at least 1 */
    int32_t operands;
    int64_t dims[GANTRY_MAX_RANK];
    int64_t strides[GANTRY_K_MAX_OPERANDS][GANTRY_MAX_RANK]; /* in elements */
} gantry__k_plan_t;

/* Writes the strides of a dense tensor of `dims` that is broadcast to an output of out_rank
 * dimensions; out_rank must be at least rank. */
static inline void gantry__k_broadcast_strides(int64_t *strides, int32_t out_rank, int32_t rank,
                                               const int64_t *dims) {
    int64_t step = 1;

    for (int32_t d = out_rank - 1, s = rank - 1; d >= 0; d--, s--) {
        strides[d] = s >= 0 && dims[s] != 1 ? step : 0;
        step *= s >= 0 ? dims[s] : 1;
    }
}

/* Whether dimension `outer` of the plan continues `inner` for every operand. */
static inline bool gantry__k_plan_joins(const gantry__k_plan_t *plan, int32_t outer,
                                        int32_t inner) {
    for (int32_t k = 0; k < plan->operands; ++k) {
        if (plan->strides[k][outer] != plan->strides[k][inner] * plan->dims[inner]) return false;
    }
    return true;
}

static inline void gantry__k_plan_move(gantry__k_plan_t *plan, int32_t to, int32_t from) {
    plan->dims[to] = plan->dims[from];
    for (int32_t k = 0; k < plan->operands; ++k) {
        plan->strides[k][to] = plan->strides[k][from];
    }
}

/* Removes dimensions of 1 and joins neighbours. dims and strides must be set, and no dimension may
 * be 0. */
static inline void gantry__k_plan_collapse(gantry__k_plan_t *plan) {
    int32_t last = -1; /* the dimension that grows */

    for (int32_t d = 0; d < plan->rank; ++d) {
        if (plan->dims[d] == 1) continue;
        if (last >= 0 && gantry__k_plan_joins(plan, last, d)) {
            int64_t outer = plan->dims[last];
            gantry__k_plan_move(plan, last, d);
            plan->dims[last] *= outer;
        } else {
            gantry__k_plan_move(plan, ++last, d);
        }
    }
    plan->rank = last + 1;
    if (plan->rank == 0) {
        plan->rank = 1;
        plan->dims[0] = 1;
        for (int32_t k = 0; k < plan->operands; ++k) {
            plan->strides[k][0] = 0;
        }
    }
}

/* Makes the collapsed plan of `count` operands that are broadcast to out. */
static inline void gantry__k_plan_broadcast(gantry__k_plan_t *plan, const gantry_arg_t *out,
                                            const gantry_arg_t *const *operands, int32_t count) {
    plan->rank = out->rank;
    plan->operands = count;
    for (int32_t d = 0; d < out->rank; ++d) {
        plan->dims[d] = out->dims[d];
    }
    for (int32_t k = 0; k < count; ++k) {
        gantry__k_broadcast_strides(plan->strides[k], out->rank, operands[k]->rank,
                                    operands[k]->dims);
    }
    gantry__k_plan_collapse(plan);
}

/* The dimension of a value of BiasAdd that its bias runs along: the last one, or the second for
 * data_format "NCHW". */
static inline int32_t gantry__k_bias_dimension(const gantry_op_call_t *call) {
    const gantry_attr_t *format = gantry__k_attr(call, "data_format");

    return format && format->s && strncmp(format->s, "NC", 2) == 0 ? 1 : call->inputs[0]->rank - 1;
}

/* Makes the collapsed plan of value (operand 0) and bias (operand 1). */
static inline void gantry__k_plan_bias(gantry__k_plan_t *plan, const gantry_op_call_t *call) {
    const gantry_arg_t *value = call->inputs[0];
    int32_t channel = gantry__k_bias_dimension(call);

    plan->rank = value->rank;
    plan->operands = 2;
    gantry__k_broadcast_strides(plan->strides[0], value->rank, value->rank, value->dims);
    for (int32_t d = 0; d < value->rank; ++d) {
        plan->dims[d] = value->dims[d];
        plan->strides[1][d] = d == channel && value->dims[d] != 1 ? 1 : 0;
    }
    gantry__k_plan_collapse(plan);
}

/* The axis counted from the front; a negative `axis` counts from the end. */
static inline int64_t gantry__k_from_end(int64_t axis, int32_t rank) {
    return axis < 0 ? axis + rank : axis;
}

/* The number of elements that the dimensions [first, end) span. */
static inline int64_t gantry__k_extent(const int64_t *dims, int64_t first, int64_t end) {
    int64_t result = 1;
    for (int64_t d = first; d < end; ++d) result *= dims[d];
    return result;
}

#endif
