/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a call of attention. */
#include "kernels/attention/attention_shape.h"

#include "kernels/common/kernel_types.h"

enum { ALIGNED_FIRST = 1, ALIGNED_LAST = 2 };

/* The mask's strides over [batch, heads, queries, keys]: 0 along a size of 1. */
static void set_mask(gantry__attention_t *a, const gantry_arg_t *mask, int32_t rank) {
    int64_t *const strides[] = {&a->mask_key, &a->mask_query, rank == 4 ? &a->mask_head : NULL,
                                &a->mask_batch};
    int64_t stride = 1;
    int32_t place = 0;
    a->mask_kind = mask->dtype == GANTRY_BOOL ? GANTRY_MASK_BOOL : GANTRY_MASK_ADDED;
    for (int32_t d = mask->rank - 1; d >= 0; --d, ++place) {
        if (!strides[place]) ++place;
        *strides[place] = mask->dims[d] == 1 ? 0 : stride;
        stride *= mask->dims[d];
    }
}

gantry__attention_t gantry__attention_of(const gantry_op_call_t *call) {
    const gantry_arg_t *query = call->inputs[0], *key = call->inputs[1], *value = call->inputs[2];
    const int32_t rank = query->rank;
    const int64_t causal = gantry__k_attr(call, "causal")->i;
    gantry__attention_t a = {.batch = query->dims[0],
                             .heads = rank == 4 ? query->dims[1] : 1,
                             .key_heads = rank == 4 ? key->dims[1] : 1,
                             .queries = query->dims[rank - 2],
                             .keys = key->dims[rank - 2],
                             .dim = query->dims[rank - 1],
                             .value_dim = value->dims[rank - 1]};
    a.offset = causal == ALIGNED_FIRST ? 0 : causal == ALIGNED_LAST ? a.keys - a.queries : a.keys;
    a.scale = gantry__k_wide_bits(query->dtype, gantry__k_attr(call, "scale")->f);
    a.softcap = gantry__k_wide_bits(query->dtype, gantry__k_attr(call, "softcap")->f);
    if (gantry__k_attr(call, "has_mask")->i != 0) set_mask(&a, call->inputs[3], rank);
    return a;
}
