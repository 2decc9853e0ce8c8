/* SPDX-License-Identifier: Apache-2.0 */
/* The eager path in a scope that is traced: an op is inferred and becomes a node, or its parts
 * do. */
#include "run/composed.h"
#include "run/eager_state.h"
#include "run/traced.h"

/* Inputs may have open sizes, or no elements. */
gantry_status_t gantry__eager_infer_in_trace(gantry__eager_t *eager) {
    gantry__infer_t *call = &eager->infer;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        call->symbolic |= (uint64_t)eager->inputs[i]->is_symbolic << i;
        call->is_open |= eager->inputs[i]->elements < 0;
    }
    return gantry__op_infer(call, eager->attrs, eager->attr_count);
}

gantry_status_t gantry__eager_record(gantry__eager_t *eager) {
    const bool is_composed = eager->op->flags & GANTRY__OP_COMPOSED;
    eager->made_count = eager->infer.output_count;
    return is_composed && !gantry__trace_is_whole(&eager->infer, eager->inputs)
               ? gantry__compose(eager->scope, &eager->infer, eager->inputs, eager->made)
               : gantry__trace_op(eager->scope, &eager->infer, eager->inputs, eager->made);
}
