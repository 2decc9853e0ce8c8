/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_sort.h. */
#include <gantry/ops.h>

#include "run/call_op.h"
#include "run/tensor_state.h"

static const gantry_tensor_t *call_sort(gantry_scope_t *scope, gantry__op_id_t id,
                                        const gantry_tensor_t *values, int32_t axis,
                                        bool descending) {
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("axis", axis),
        gantry__attr_text("direction", descending ? "DESCENDING" : "ASCENDING")};
    return gantry__call_op(scope, id, &values, 1, attrs, 2, NULL);
}

const gantry_tensor_t *gantry_sort(gantry_scope_t *scope, const gantry_tensor_t *values,
                                   int32_t axis, bool descending) {
    return call_sort(scope, GANTRY__OP_ID_Sort, values, axis, descending);
}

const gantry_tensor_t *gantry_argsort(gantry_scope_t *scope, const gantry_tensor_t *values,
                                      int32_t axis, bool descending) {
    return call_sort(scope, GANTRY__OP_ID_ArgSort, values, axis, descending);
}

const gantry_tensor_t *gantry_top_k(gantry_scope_t *scope, const gantry_tensor_t *input, int32_t k,
                                    const gantry_tensor_t **out_indices) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {input, gantry__add_host_i32(&extras, scope, k)};
    const gantry_tensor_t *outputs[2] = {NULL, NULL};
    size_t output_count = 2;
    (void)gantry__call_op_into(scope, GANTRY__OP_ID_TopK, inputs, 2, NULL, 0, &extras, outputs,
                               &output_count);
    if (out_indices) *out_indices = outputs[1];
    return outputs[0];
}

const gantry_tensor_t *gantry_in_top_k(gantry_scope_t *scope, const gantry_tensor_t *predictions,
                                       const gantry_tensor_t *targets, int32_t k) {
    gantry__extras_t extras = {.count = 0};
    const gantry_tensor_t *inputs[] = {predictions, targets,
                                       gantry__add_host_int_like(&extras, scope, targets, k)};
    return gantry__call_op(scope, GANTRY__OP_ID_InTopK, inputs, 3, NULL, 0, &extras);
}

const gantry_tensor_t *gantry_lower_bound(gantry_scope_t *scope,
                                          const gantry_tensor_t *sorted_inputs,
                                          const gantry_tensor_t *values) {
    const gantry_tensor_t *inputs[] = {sorted_inputs, values};
    return gantry__call_op(scope, GANTRY__OP_ID_LowerBound, inputs, 2, NULL, 0, NULL);
}

const gantry_tensor_t *gantry_upper_bound(gantry_scope_t *scope,
                                          const gantry_tensor_t *sorted_inputs,
                                          const gantry_tensor_t *values) {
    const gantry_tensor_t *inputs[] = {sorted_inputs, values};
    return gantry__call_op(scope, GANTRY__OP_ID_UpperBound, inputs, 2, NULL, 0, NULL);
}
