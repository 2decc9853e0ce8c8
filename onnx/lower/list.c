/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/lower/list.h"

#include <string.h>

#include <gantry/gantry.h>

#include "shared/memory.h"
#include "onnx/lower/run.h"

const gantry__onnx_list_t *gantry__onnx_run_list(const gantry__onnx_run_t *run,
                                                 gantry__onnx_value_t value) {
    return run->lists ? run->lists[value] : NULL;
}

void gantry__onnx_run_drop_list(gantry__onnx_run_t *run, gantry__onnx_value_t value) {
    if (!run->lists) return;
    gantry__free(run->lists[value]);
    run->lists[value] = NULL;
}

const gantry__onnx_list_t *gantry__onnx_input_list(const gantry__onnx_call_t *call, size_t i) {
    if (i >= call->node->input_count || call->node->inputs[i] == GANTRY__ONNX_NO_VALUE) return NULL;
    return gantry__onnx_run_list(call->run, call->node->inputs[i]);
}

gantry_status_t gantry__onnx_need_list(gantry__onnx_call_t *call, size_t i,
                                       const gantry__onnx_list_t **out_list) {
    *out_list = gantry__onnx_input_list(call, i);
    return *out_list ? GANTRY_OK
                     : gantry__onnx_invalid(call, "input %zu is no sequence or optional", i);
}

gantry_status_t gantry__onnx_set_list(gantry__onnx_call_t *call, size_t i,
                                      const gantry_tensor_t *const *items, size_t count,
                                      bool is_absent) {
    gantry__onnx_run_t *run = call->run;
    GANTRY__TRY(gantry_scope_status(call->scope));
    if (!gantry__onnx_wants(call, i)) return GANTRY_OK;
    if (!run->lists)
        run->lists = gantry__alloc(run->constants->plan.model->value_count, sizeof *run->lists);
    if (!run->lists) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__onnx_list_t *list = gantry__alloc(sizeof *list + count * sizeof *items, 1);
    if (!list) return GANTRY_RESOURCE_EXHAUSTED;
    *list = (gantry__onnx_list_t){.is_absent = is_absent, .count = count};
    if (count > 0) memcpy(list->items, items, count * sizeof *items);
    gantry__onnx_run_drop_list(run, call->node->outputs[i]);
    run->lists[call->node->outputs[i]] = list;
    return GANTRY_OK;
}
