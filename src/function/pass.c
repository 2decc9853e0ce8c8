/* SPDX-License-Identifier: Apache-2.0 */
#include "function/pass.h"

static bool is_on(const gantry__graph_t *graph, gantry_pass_t pass) {
    return !(graph->passes_off & (uint32_t)pass);
}

gantry_status_t gantry__passes_run(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    if (is_on(graph, GANTRY_PASS_CONSTANT_FOLDING)) GANTRY__TRY(gantry__pass_fold(runtime, graph));
    if (is_on(graph, GANTRY_PASS_COMMON_SUBEXPRESSIONS)) GANTRY__TRY(gantry__pass_common(graph));
    if (is_on(graph, GANTRY_PASS_DEAD_NODES)) GANTRY__TRY(gantry__pass_dead(graph));
    if (is_on(graph, GANTRY_PASS_ELEMENTWISE_FUSION))
        GANTRY__TRY(gantry__pass_fuse(runtime, graph));
    return GANTRY_OK;
}
