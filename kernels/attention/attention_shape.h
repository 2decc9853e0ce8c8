/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of one call of _Attention or _AttentionGrad, for the CPU and for devices. Owner:
 * plain values. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_ATTENTION_SHAPE_H
#define GANTRY_KERNELS_ATTENTION_SHAPE_H

#include <stdbool.h>

#include "kernels/common/kernel_definition.h"

/* Must have the same fields as attention_t of attention.cl. */
typedef struct gantry__attention_t {
    int64_t batch, heads, key_heads;
    int64_t queries, keys, dim, value_dim;
    int64_t offset; /* query i sees the keys up to i + offset; with `keys`, all of them */
    int64_t mask_kind;
    int64_t mask_batch, mask_head, mask_query, mask_key; /* strides, in elements */
    uint64_t scale, softcap;                             /* the bits of the type of sums */
} gantry__attention_t;

enum { GANTRY_MASK_NONE = 0, GANTRY_MASK_BOOL = 1, GANTRY_MASK_ADDED = 2 };

gantry__attention_t gantry__attention_of(const gantry_op_call_t *call);

/* float32, or float64 */
static inline int32_t gantry__attention_sum_type(int32_t dtype) {
    return dtype == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
}

static const gantry_type_constraint_t gantry__k_attention_types[] = {
    {"T", GANTRY_DTYPES_FLOATING},
    {"Tmask", GANTRY_DTYPES_FLOATING | GANTRY_DTYPE_BIT(GANTRY_BOOL)}};

#define GANTRY_ATTENTION_OPS(X)                                                       \
    X(attention, "_Attention", compute_attention, gantry__k_attention_types, NULL, 0) \
    X(attention_grad, "_AttentionGrad", compute_attention_grad, gantry__k_attention_types, NULL, 0)

#endif
