/* SPDX-License-Identifier: Apache-2.0 */
/* The eager path in a scope that is traced: an op is inferred and becomes a node, or its parts
 * do. */
#include "run/composed.h"
#include "run/eager_state.h"
#include "run/traced.h"

/* Inputs may have open sizes, or no elements. The shape function runs with other numbers only if it
 * must. */
gantry_status_t gantry__eager_infer_in_trace(gantry__eager_t *eager) {
    gantry__infer_t *call = &eager->infer;
    uint64_t symbolic = 0;
    bool is_open = false;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        if (eager->inputs[i]->is_symbolic) symbolic |= UINT64_C(1) << i;
        is_open |= eager->inputs[i]->elements < 0;
    }
    const uint32_t before = gantry__failures();
    gantry_status_t status = GANTRY_OK;
    call->is_open = false;
    if (!is_open) {
        status = gantry__op_infer(call, eager->attrs, eager->attr_count);
        if (status == GANTRY_OK || eager->host_status != GANTRY_FAILED_PRECONDITION) return status;
        gantry__forget_since(before);
        eager->host_status = GANTRY_OK;
    }
    status = gantry__op_infer_open(call, eager->attrs, eager->attr_count, symbolic);
    if (status == GANTRY_OK) eager->host_status = GANTRY_OK;
    return status;
}

gantry_status_t gantry__eager_record(gantry__eager_t *eager) {
    const bool is_composed = eager->op->flags & GANTRY__OP_COMPOSED;
    eager->made_count = eager->infer.output_count;
    return is_composed && !gantry__trace_is_whole(&eager->infer, eager->inputs)
               ? gantry__compose(eager->scope, &eager->infer, eager->inputs, eager->made)
               : gantry__trace_op(eager->scope, &eager->infer, eager->inputs, eager->made);
}
