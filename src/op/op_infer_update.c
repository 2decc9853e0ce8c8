/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of updates of variables: steps of optimizers, and rows that are scattered. */
#include "op/op_infer.h"

/* The values of variables come first, as many as there are outputs. Of the other inputs the
 * gradient has their shape, too. */
static bool is_like_var(const gantry__infer_t *call, uint32_t i) {
    const char *name = call->op->inputs[i].name;
    return i < call->op->output_count || strcmp(name, "grad") == 0 || strcmp(name, "delta") == 0;
}

gantry_status_t gantry__infer_apply(gantry__infer_t *call) {
    gantry_shape_t all = *call->shapes[0];
    for (uint32_t i = 1; i < call->input_count; ++i) {
        const char *name = call->op->inputs[i].name;
        if (!is_like_var(call, i)) {
            if (call->shapes[i]->rank == 0) continue;
            return gantry__refuse("%s is not a scalar: %s", name,
                                  gantry__shape_text(call->shapes[i]).text);
        }
        if (!gantry__merge_shapes(&all, call->shapes[i])) {
            return gantry__refuse("var and %s do not have the same shape%s %s", name,
                                  gantry__shape_text(call->shapes[0]).text,
                                  gantry__shape_text(call->shapes[i]).text);
        }
    }
    for (uint32_t k = 0; k < call->output_count; ++k) call->out_shapes[k] = all;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_resource_scatter(gantry__infer_t *call) {
    const gantry_shape_t *params = call->shapes[0], *indices = call->shapes[1],
                         *updates = call->shapes[2];
    call->out_shapes[0] = *params;
    bool fits = params->rank > 0 &&
                (updates->rank == 0 || updates->rank == indices->rank + params->rank - 1);
    if (fits && updates->rank == 0)
        return gantry__infer_rank_fits((int64_t)indices->rank + params->rank - 1);
    for (int32_t d = 0; fits && d < updates->rank; ++d)
        fits = gantry__sizes_fit(updates->dims[d], d < indices->rank
                                                       ? indices->dims[d]
                                                       : params->dims[d - indices->rank + 1]);
    if (fits) return GANTRY_OK;
    return gantry__refuse(
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape %s, indices.shape %s, params.shape %s",
        gantry__shape_text(updates).text, gantry__shape_text(indices).text,
        gantry__shape_text(params).text);
}
