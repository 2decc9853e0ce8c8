/* SPDX-License-Identifier: Apache-2.0 */
/* _Rotary. */
#include "kernels/common/item_kernel.h"
#include "kernels/attention/rotary.cl"
#include "kernels/attention/rotary_items.h"

GANTRY_K_ITEM_TEXTS(rotary, GANTRY_ROTARY_ITEMS, gantry__text_rotary);

static int32_t compute_rotary(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0], *cosines = call->inputs[1], *out = call->outputs[0];
    const bool heads_last = x->rank == 3;
    gantry__rotary_t rotary = {
        .heads_last = heads_last,
        .heads = heads_last ? gantry__k_attr(call, "num_heads")->i : x->dims[1],
        .length = x->dims[heads_last ? 1 : 2],
        .pairs = cosines->dims[cosines->rank - 1],
        .interleaved = gantry__k_attr(call, "interleaved")->i};
    if (out->element_count == 0) return GANTRY_OK;
    rotary.size = heads_last ? x->dims[2] / rotary.heads : x->dims[3];
    rotary.cache_batch = cosines->rank == 3 ? rotary.length * rotary.pairs : 0;
    gantry__k_item_launch_t launch = {
        .item = ITEM_rotary,
        .t = x->dtype,
        .count = out->element_count / rotary.size,
        .item_bytes = rotary.size * gantry__k_size(x->dtype),
        .elements = rotary.size,
        .is_costly = true,
        .parameters = &rotary,
        .parameter_bytes = sizeof rotary,
        .spans = {x->span, cosines->span, call->inputs[2]->span, out->span},
        .span_count = 4};
    return gantry__k_run_items(call, &launch);
}

GANTRY_K_ITEM_KERNEL(rotary, rotary, "_Rotary", gantry__k_floating_type, compute_rotary);

#define OPS(OP) OP(rotary)
GANTRY_K_ITEM_PACK(rotary, OPS);
