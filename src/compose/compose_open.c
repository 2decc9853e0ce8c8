/* SPDX-License-Identifier: Apache-2.0 */
/* Which composed ops have parts that do without sizes that depend on data.
 *
 * Their functions use no size, or pass one that is not known to Reshape as -1: there may be one,
 * and then no size of 0. */
#include "op/einsum.h"
#include "op/op_infer.h"
#include "compose/compose.h"

bool gantry__takes_reshape(const gantry_shape_t *shape) {
    int32_t open = 0, zero = 0;
    for (int32_t d = 0; d < shape->rank; ++d) {
        open += shape->dims[d] < 0;
        zero += shape->dims[d] == 0;
    }
    return open == 0 || (open == 1 && zero == 0);
}

static bool is_twice(const gantry__labels_t *labels, uint8_t label) {
    int32_t count = 0;
    for (int32_t i = 0; i < labels->count; ++i) count += labels->at[i] == label;
    return count > 1;
}

/* A label of an open size must be the same in all operands, which an ellipsis does not say, and not
 * be on a diagonal. */
static bool einsum_composes_open(const gantry__infer_t *call) {
    gantry__einsum_t e;
    const uint32_t before = gantry__failures();
    const gantry_status_t status = gantry__einsum_read(gantry__infer_attr(call, "equation")->s,
                                                       call->shapes, call->input_count, &e);
    bool composes = status == GANTRY_OK;
    for (uint32_t i = 0; composes && i < e.input_count; ++i) {
        for (int32_t k = 0; k < e.inputs[i].count; ++k) {
            const uint8_t label = e.inputs[i].at[k];
            if (call->shapes[i]->dims[k] >= 0) continue;
            composes = composes && label < GANTRY__EINSUM_ELLIPSIS &&
                       !is_twice(&e.inputs[i], label) && !is_twice(&e.output, label);
        }
    }
    gantry__forget_since(before);
    return composes;
}

bool gantry__composes_open(const gantry__infer_t *call) {
    switch ((int)call->op->id) {
        case GANTRY__OP_ID_AvgPool1D:
        case GANTRY__OP_ID_BatchNorm:
        case GANTRY__OP_ID_Conv1D:
        case GANTRY__OP_ID_EluGrad:
        case GANTRY__OP_ID_MaxPool1D:
        case GANTRY__OP_ID_RMSNorm:
        case GANTRY__OP_ID_RotaryEmbedding:
        case GANTRY__OP_ID_SeluGrad:
        case GANTRY__OP_ID_SortByKeys:
        case GANTRY__OP_ID_SoftplusGrad:
        case GANTRY__OP_ID_SoftsignGrad: return true;
        case GANTRY__OP_ID_ScaledDotProductAttention:
        case GANTRY__OP_ID_ScaledDotProductAttentionGrad:
            return call->shapes[0]->dims[call->shapes[0]->rank - 1] >= 0;
        case GANTRY__OP_ID_ReciprocalGrad:
        case GANTRY__OP_ID_RsqrtGrad:
        case GANTRY__OP_ID_SigmoidGrad:
        case GANTRY__OP_ID_SqrtGrad:
        case GANTRY__OP_ID_TanhGrad: return gantry__takes_reshape(call->shapes[0]);
        case GANTRY__OP_ID_FusedBatchNormGrad:
            return gantry__takes_reshape(&call->out_shapes[0]) && call->out_shapes[1].dims[0] >= 0;
        case GANTRY__OP_ID_Einsum: return einsum_composes_open(call);
        default: return false;
    }
}
