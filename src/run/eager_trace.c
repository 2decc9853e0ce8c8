/* SPDX-License-Identifier: Apache-2.0 */
/* The eager path in a scope that is traced: an op is inferred and becomes a node, or its parts
 * do. */
#include "run/composed.h"
#include "run/eager_state.h"
#include "run/trace_hooks.h"

/* A host input whose numbers constants decide becomes a constant. */
static const gantry_tensor_t *know_input(gantry__eager_t *eager, uint32_t i) {
    const gantry_tensor_t *input = eager->inputs[i], *known = NULL;
    const gantry__op_arg_t *arg = gantry__op_input_arg(eager->op, eager->input_count, i);
    if (input->is_symbolic && arg && arg->flags & GANTRY__ARG_HOST)
        known = gantry__trace_known(eager->scope, input);
    return known ? known : input;
}

static bool know_number(void *caller, uint32_t input, int64_t position, int64_t *out) {
    const gantry__eager_t *eager = caller;
    return gantry__trace_number(eager->scope, eager->inputs[input], position, out);
}

/* Inputs may have open sizes, or no elements. */
gantry_status_t gantry__eager_infer_in_trace(gantry__eager_t *eager) {
    gantry__infer_t *call = &eager->infer;
    call->known_number = know_number;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        eager->used[i] = know_input(eager, i); /* a call that is recorded runs no kernel */
        call->symbolic |= (uint64_t)eager->used[i]->is_symbolic << i;
        call->is_open |= eager->used[i]->elements < 0;
    }
    eager->inputs = eager->used;
    return gantry__op_infer(call, eager->request->attrs, eager->request->attr_count);
}

bool gantry__eager_is_whole(const gantry__eager_t *eager) {
    return !eager->scope->takes_parts && gantry__trace_is_whole(&eager->infer);
}

static gantry_status_t check_parts(const gantry__eager_t *eager) {
    if (!eager->scope->takes_parts || !gantry__trace_is_whole(&eager->infer) ||
        gantry__composes_open(&eager->infer))
        return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "op %s: its parts need sizes that depend on data; known ones are accepted",
                        eager->op->name);
}

gantry_status_t gantry__eager_record(gantry__eager_t *eager) {
    const bool is_composed = eager->op->flags & GANTRY__OP_COMPOSED;
    if (is_composed) GANTRY__TRY(check_parts(eager));
    eager->made_count = eager->infer.output_count;
    return is_composed && !gantry__eager_is_whole(eager)
               ? gantry__compose(eager->scope, &eager->infer, eager->inputs, eager->made)
               : gantry__trace_op(eager->scope, &eager->infer, eager->inputs, eager->made);
}
