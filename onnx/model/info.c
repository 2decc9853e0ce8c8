/* SPDX-License-Identifier: Apache-2.0 */
/* What a model is: facts of the file, and its ops with the number of their nodes. */
#include <stdlib.h>
#include <string.h>

#include "shared/memory.h"
#include "onnx/model/model_state.h"
#include "shared/struct_size.h"

static gantry_status_t info_check_model(const gantry_onnx_model_t *model, const char *call) {
    if (model) return GANTRY_OK;
    return gantry__refuse("%s: the model is NULL; one from gantry_onnx_model_load is accepted",
                          call);
}

static gantry_status_t info_check_index(const gantry_onnx_model_t *model, size_t index,
                                        size_t count, const char *call) {
    GANTRY__TRY(info_check_model(model, call));
    if (index < count) return GANTRY_OK;
    return gantry__fail(GANTRY_OUT_OF_RANGE, "%s: %s has %zu; %zu is not below", call, model->name,
                        count, index);
}

/* ---- ops ---- */

static int info_compare_ops(const void *a, const void *b) {
    const gantry__onnx_node_t *x = *(const gantry__onnx_node_t *const *)a;
    const gantry__onnx_node_t *y = *(const gantry__onnx_node_t *const *)b;
    const int by_domain = strcmp(x->domain, y->domain);
    if (by_domain) return by_domain;
    const int by_op = strcmp(x->op, y->op);
    return by_op ? by_op : (x->version > y->version) - (x->version < y->version);
}

/* Gives each op the reason of its first node that is refused; the ops are in order. */
static void note_reasons(gantry_onnx_model_t *model) {
    const gantry__onnx_plan_t *plan = &model->constants.plan;
    for (size_t i = 0; i < plan->refusal_count; ++i) {
        const gantry__onnx_node_t *refused = plan->refusals[i].node;
        size_t least = 0, end = model->op_count;
        while (least < end) {
            const size_t middle = least + (end - least) / 2;
            const gantry_onnx_op_t *op = &model->ops[middle];
            const gantry__onnx_node_t node = {
                .domain = op->domain, .op = op->op, .version = op->version};
            const gantry__onnx_node_t *at = &node;
            if (info_compare_ops(&at, &refused) < 0) {
                least = middle + 1;
            } else {
                end = middle;
            }
        }
        if (!model->ops[least].reason) model->ops[least].reason = plan->refusals[i].reason;
    }
}

/* Lists the ops, by all nodes in the order of their ops. */
static gantry_status_t list_ops(gantry_onnx_model_t *model, const gantry__onnx_node_t **nodes) {
    const gantry__onnx_plan_t *plan = &model->constants.plan;
    size_t count = 0, capacity = 0;
    for (size_t g = 0; g < plan->graph_count; ++g) {
        for (size_t n = 0; n < plan->graphs[g].graph->node_count; ++n)
            nodes[count++] = &plan->graphs[g].graph->nodes[n];
    }
    qsort(nodes, count, sizeof *nodes, info_compare_ops);
    for (size_t i = 0; i < count; ++i) {
        if (i > 0 && info_compare_ops(&nodes[i - 1], &nodes[i]) == 0) {
            ++model->ops[model->op_count - 1].count;
            continue;
        }
        if (!gantry__grow(&model->ops, model->op_count, &capacity, sizeof *model->ops))
            return GANTRY_RESOURCE_EXHAUSTED;
        model->ops[model->op_count++] = (gantry_onnx_op_t){
            sizeof *model->ops, nodes[i]->domain, nodes[i]->op, nodes[i]->version, 1, NULL};
    }
    note_reasons(model);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_list_ops(gantry_onnx_model_t *model) {
    const size_t count = model->constants.plan.node_count;
    const gantry__onnx_node_t **nodes = gantry__alloc(count, sizeof *nodes);
    if (!nodes) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status = list_ops(model, nodes);
    gantry__free(nodes);
    return status;
}

gantry_status_t gantry_onnx_model_get_op(const gantry_onnx_model_t *model, size_t index,
                                         gantry_onnx_op_t *out_op) {
    const char *call = "gantry_onnx_model_get_op";
    GANTRY__TRY(info_check_index(model, index, model ? model->op_count : 0, call));
    return gantry__struct_fill(out_op, &model->ops[index], sizeof *out_op, call);
}

/* ---- the file ---- */

static uint64_t bytes_of_tensor(const gantry__onnx_tensor_t *tensor) {
    if (!tensor) return 0;
    return (uint64_t)tensor->count * gantry_dtype_size(gantry__onnx_stored_dtype(tensor->type));
}

static uint64_t bytes_of_attributes(const gantry__onnx_node_t *node) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < node->attr_count; ++i) {
        for (size_t k = 0; node->attrs[i].tensors && k < node->attrs[i].count; ++k)
            bytes += bytes_of_tensor(node->attrs[i].tensors[k]);
    }
    return bytes;
}

/* Of initializers, and of tensors that are attributes. */
static uint64_t weight_bytes(const gantry__onnx_plan_t *plan) {
    uint64_t bytes = 0;
    for (size_t v = 0; v < plan->model->value_count; ++v)
        bytes += bytes_of_tensor(plan->model->values[v].tensor);
    for (size_t g = 0; g < plan->graph_count; ++g) {
        for (size_t n = 0; n < plan->graphs[g].graph->node_count; ++n)
            bytes += bytes_of_attributes(&plan->graphs[g].graph->nodes[n]);
    }
    return bytes;
}

gantry_status_t gantry_onnx_model_get_info(const gantry_onnx_model_t *model,
                                           gantry_onnx_info_t *out_info) {
    const char *call = "gantry_onnx_model_get_info";
    GANTRY__TRY(info_check_model(model, call));
    const gantry__onnx_graph_model_t *file = model->graph_model;
    const gantry_onnx_info_t info = {.ir_version = file->ir_version,
                                     .model_version = file->model_version,
                                     .producer = file->producer,
                                     .producer_version = file->producer_version,
                                     .domain = file->domain,
                                     .text = file->text,
                                     .graph_name = file->graph->name,
                                     .node_count = model->constants.plan.node_count,
                                     .opset_count = file->opset_count,
                                     .op_count = model->op_count,
                                     .metadata_count = file->property_count,
                                     .weight_bytes = weight_bytes(&model->constants.plan)};
    return gantry__struct_fill(out_info, &info, sizeof info, call);
}

gantry_status_t gantry_onnx_model_get_opset(const gantry_onnx_model_t *model, size_t index,
                                            gantry_onnx_opset_t *out_opset) {
    const char *call = "gantry_onnx_model_get_opset";
    if (!out_opset) return gantry__refuse("%s: out_opset is NULL; a place is accepted", call);
    GANTRY__TRY(info_check_index(model, index, model ? model->graph_model->opset_count : 0, call));
    const gantry__onnx_opset_t *opset = &model->graph_model->opsets[index];
    *out_opset = (gantry_onnx_opset_t){opset->domain, opset->version};
    return GANTRY_OK;
}

gantry_status_t gantry_onnx_model_get_metadata(const gantry_onnx_model_t *model, size_t index,
                                               gantry_metadata_t *out_metadata) {
    const char *call = "gantry_onnx_model_get_metadata";
    if (!out_metadata) return gantry__refuse("%s: out_metadata is NULL; a place is accepted", call);
    GANTRY__TRY(
        info_check_index(model, index, model ? model->graph_model->property_count : 0, call));
    const gantry__onnx_property_t *property = &model->graph_model->properties[index];
    *out_metadata = (gantry_metadata_t){property->key, property->text};
    return GANTRY_OK;
}
