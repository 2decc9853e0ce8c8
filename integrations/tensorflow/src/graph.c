/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow takes each device of type GPU for a card with cuDNN. For such a device two of its
 * passes over graphs do harm, and the plug-in turns them off:
 *
 *     remapping          puts _FusedConv2D in the place of Conv2D, BiasAdd and Relu, and
 *                        _FusedBatchNormEx in that of FusedBatchNormV3 and Relu. These have kernels
 *                        for CPUs and for cuDNN only, so the function fails.
 *     layout_optimizer   puts Transposes around convolutions to feed them NCHW.
 *
 * The settings hold for the whole graph. A plug-in that has settings must have a pass of its own,
 * too; this one returns the graph as it is. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "status.h"

static void free_bytes(void *data, size_t length) {
    (void)length;
    free(data);
}

static void copy_graph(void *optimizer, const TF_Buffer *graph, const TF_GrapplerItem *item,
                       TF_Buffer *out_graph, TF_Status *status) {
    (void)optimizer;
    (void)item;
    void *copy = malloc(graph->length ? graph->length : 1);
    if (!copy) {
        status_set_memory(status);
        return;
    }
    memcpy(copy, graph->data, graph->length);
    out_graph->data = copy;
    out_graph->length = graph->length;
    out_graph->data_deallocator = free_bytes;
    TF_SetStatus(status, TF_OK, "");
}

/* TensorFlow takes both functions or none. */
static void *create_nothing(void) { return NULL; }

static void destroy_nothing(void *optimizer) { (void)optimizer; }

void graph_fill(TP_OptimizerRegistrationParams *params, const char *device_type) {
    params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
    params->device_type = device_type;
    params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
    params->optimizer_configs->remapping = TF_TriState_Off;
    params->optimizer_configs->layout_optimizer = TF_TriState_Off;
    params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
    params->optimizer->create_func = create_nothing;
    params->optimizer->optimize_func = copy_graph;
    params->optimizer->destroy_func = destroy_nothing;
}
