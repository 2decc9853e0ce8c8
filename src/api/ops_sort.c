/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of ops_sort.h. */
#include <gantry/ops.h>

#include "run/call_op.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

static tensor *call_sort(gantry_scope_t *scope, gantry__op_id_t id, tensor *values, int32_t axis,
                         bool descending) {
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("axis", axis),
        gantry__attr_text("direction", descending ? "DESCENDING" : "ASCENDING")};
    return gantry__call_op(scope, id, &values, 1, attrs, 2, NULL);
}

tensor *gantry_sort(gantry_scope_t *scope, tensor *values, int32_t axis, bool descending) {
    return call_sort(scope, GANTRY__OP_ID_Sort, values, axis, descending);
}

tensor *gantry_argsort(gantry_scope_t *scope, tensor *values, int32_t axis, bool descending) {
    return call_sort(scope, GANTRY__OP_ID_ArgSort, values, axis, descending);
}

gantry_status_t gantry_sort_by_keys(gantry_scope_t *scope, tensor *const *operands, size_t count,
                                    size_t num_keys, int32_t axis, const bool *descending,
                                    tensor **outputs) {
    int64_t directions[GANTRY__MAX_INPUTS];
    if (!gantry__is_given(scope, outputs, count, "gantry_sort_by_keys: outputs") ||
        !gantry__is_given(scope, operands, count, "gantry_sort_by_keys: operands"))
        return scope ? scope->status : GANTRY_INVALID_ARGUMENT;
    const uint64_t keys = num_keys;
    const bool are_few = num_keys <= GANTRY__MAX_INPUTS; /* else the op refuses them */
    for (size_t i = 0; are_few && descending && i < num_keys; ++i) directions[i] = descending[i];
    const gantry_attr_value_t attrs[] = {
        gantry__attr_int("num_keys", keys > INT64_MAX ? INT64_MAX : (int64_t)keys),
        gantry__attr_int("axis", axis), gantry__attr_ints("descending", directions, num_keys)};
    return gantry__call_op_into(scope, GANTRY__OP_ID_SortByKeys, operands, count, attrs,
                                descending && are_few ? 3 : 2, NULL, outputs, &count);
}

tensor *gantry_top_k(gantry_scope_t *scope, tensor *input, int32_t k, tensor **out_indices) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {input, gantry__add_host_i32(&extras, scope, k)};
    tensor *outputs[2] = {NULL, NULL};
    size_t output_count = 2;
    (void)gantry__call_op_into(scope, GANTRY__OP_ID_TopK, inputs, 2, NULL, 0, &extras, outputs,
                               &output_count);
    if (out_indices) *out_indices = outputs[1];
    return outputs[0];
}

tensor *gantry_in_top_k(gantry_scope_t *scope, tensor *predictions, tensor *targets, int32_t k) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[] = {predictions, targets,
                        gantry__add_host_int_like(&extras, scope, targets, k)};
    return gantry__call_op(scope, GANTRY__OP_ID_InTopK, inputs, 3, NULL, 0, &extras);
}

tensor *gantry_lower_bound(gantry_scope_t *scope, tensor *sorted_inputs, tensor *values) {
    tensor *inputs[] = {sorted_inputs, values};
    return gantry__call_op(scope, GANTRY__OP_ID_LowerBound, inputs, 2, NULL, 0, NULL);
}

tensor *gantry_upper_bound(gantry_scope_t *scope, tensor *sorted_inputs, tensor *values) {
    tensor *inputs[] = {sorted_inputs, values};
    return gantry__call_op(scope, GANTRY__OP_ID_UpperBound, inputs, 2, NULL, 0, NULL);
}
