/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass/pass.h"

#include "device/device_open.h"
#include "function/place/place_graph.h"
#include "run/dispatch.h"
#include "run/tensor_state.h"

static bool is_on(const gantry__graph_t *graph, gantry_pass_t pass) {
    return !(graph->passes_off & (uint32_t)pass);
}

/* The bodies of branches and loops. */
static gantry_status_t run_inside(gantry_runtime_t *runtime, const gantry__graph_t *graph) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->body_count; ++k) {
            node->bodies[k].graph.passes_off = graph->passes_off;
            node->bodies[k].graph.is_never_replayed = graph->is_never_replayed;
            node->bodies[k].graph.is_batch_invariant |= graph->is_batch_invariant;
            GANTRY__TRY(gantry__passes_run(runtime, &node->bodies[k].graph));
        }
    }
    return GANTRY_OK;
}

/* Constants whose axes get another order are computed again; equal nodes become one. */
static gantry_status_t run_layout(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    bool is_changed = false, is_shuffled = false;
    if (!is_on(graph, GANTRY_PASS_LAYOUT)) return GANTRY_OK;
    GANTRY__TRY(gantry__pass_layout(runtime, graph, &is_changed));
    GANTRY__TRY(gantry__pass_shuffle(runtime, graph, &is_shuffled));
    if (!is_changed && !is_shuffled) return GANTRY_OK;
    if (is_on(graph, GANTRY_PASS_CONSTANT_FOLDING)) GANTRY__TRY(gantry__pass_fold(runtime, graph));
    if (is_on(graph, GANTRY_PASS_COMMON_SUBEXPRESSIONS)) GANTRY__TRY(gantry__pass_common(graph));
    return is_on(graph, GANTRY_PASS_DEAD_NODES) ? gantry__pass_dead(graph) : GANTRY_OK;
}

/* The last convolutions give results whose channels come first. */
static gantry_status_t run_planes(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    bool is_changed = false;
    if (!is_on(graph, GANTRY_PASS_LAYOUT)) return GANTRY_OK;
    GANTRY__TRY(gantry__pass_give_planes(runtime, graph, &is_changed));
    return is_changed && is_on(graph, GANTRY_PASS_DEAD_NODES) ? gantry__pass_dead(graph)
                                                              : GANTRY_OK;
}

gantry_status_t gantry__passes_run(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    const gantry__graph_place_t request = {
        .graph = graph,
        .rules =
            gantry__dispatch_request(runtime, NULL, NULL, NULL, NULL, graph->is_batch_invariant),
        .plans = &runtime->plans};
    GANTRY__TRY(run_inside(runtime, graph));
    GANTRY__TRY(gantry__place_check_constants(&request));
    if (is_on(graph, GANTRY_PASS_CONSTANT_FOLDING)) GANTRY__TRY(gantry__pass_fold(runtime, graph));
    if (is_on(graph, GANTRY_PASS_COMMON_SUBEXPRESSIONS)) GANTRY__TRY(gantry__pass_common(graph));
    if (is_on(graph, GANTRY_PASS_EPILOGUES)) GANTRY__TRY(gantry__pass_pool(graph));
    if (is_on(graph, GANTRY_PASS_DEAD_NODES)) GANTRY__TRY(gantry__pass_dead(graph));
    GANTRY__TRY(run_layout(runtime, graph));
    if (is_on(graph, GANTRY_PASS_EPILOGUES)) GANTRY__TRY(gantry__pass_epilogues(runtime, graph));
    if (is_on(graph, GANTRY_PASS_ELEMENTWISE_FUSION))
        GANTRY__TRY(gantry__pass_fuse(runtime, graph));
    GANTRY__TRY(run_planes(runtime, graph));
    if (is_on(graph, GANTRY_PASS_JOINED_UPDATES)) GANTRY__TRY(gantry__pass_updates(runtime, graph));
    return GANTRY_OK;
}

void gantry__pass_count_uses(const gantry__graph_t *graph, uint32_t *uses) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k) ++uses[node->inputs[k]];
    }
    for (uint32_t i = 0; i < graph->output_count; ++i) ++uses[graph->outputs[i]];
}

gantry_status_t gantry__pass_add_constant(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                          const gantry__node_t *user, const char *name,
                                          gantry_dtype_t dtype, const gantry_shape_t *shape,
                                          const void *data, uint32_t *out_value) {
    gantry__node_t node = {.kind = GANTRY__NODE_CONST,
                           .op = gantry__op_get(GANTRY__OP_ID_Const),
                           .name = name,
                           .part_of = user->part_of,
                           .wish = user->wish,
                           .tag = user->tag,
                           .output_count = 1};
    uint32_t index;
    GANTRY__TRY(gantry__logical_device_open(runtime->host));
    GANTRY__TRY(gantry__tensor_from_host(runtime, runtime->host, dtype, shape, data, user->tag,
                                         &node.tensor));
    GANTRY__TRY(gantry__graph_add(graph, &node, &dtype, shape, &index));
    *out_value = graph->nodes[index].first_output;
    return GANTRY_OK;
}
