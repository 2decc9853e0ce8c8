/* SPDX-License-Identifier: Apache-2.0 */
/* Drops the nodes on which no result and no variable depends, so that they are neither placed nor
 * listed, and releases the constants that only they used. */
#include "function/pass/pass.h"

/* Keeps the names of the nodes that are not in `order`, which goes up, for explanations. */
static gantry_status_t keep_names(gantry__graph_t *graph, const uint32_t *order, size_t left) {
    const size_t count = graph->node_count - left;
    const char **names =
        gantry__arena_zalloc(&graph->arena, graph->dropped_count + count, sizeof *names);
    if (!names) return GANTRY_RESOURCE_EXHAUSTED;
    uint32_t used = 0;
    for (; used < graph->dropped_count; ++used) names[used] = graph->dropped[used];
    for (size_t i = 0, k = 0; i < graph->node_count; ++i) {
        if (k < left && order[k] == i) {
            ++k;
        } else {
            names[used++] = graph->nodes[i].name;
        }
    }
    graph->dropped = names;
    graph->dropped_count = used;
    return GANTRY_OK;
}

gantry_status_t gantry__pass_dead(gantry__graph_t *graph) {
    const gantry__heap_t *heap = graph->heap;
    const size_t count = graph->node_count;
    size_t left = 0;
    bool *is_kept = gantry__heap_zalloc(heap, count + 1);
    uint32_t *order = gantry__heap_zalloc(heap, (count + 1) * sizeof *order);
    gantry_status_t status = is_kept && order ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (status == GANTRY_OK) gantry__graph_find_kept(graph, is_kept);
    for (size_t i = 0; i < count && status == GANTRY_OK; ++i) {
        if (is_kept[i]) order[left++] = (uint32_t)i;
    }
    if (status == GANTRY_OK && left < count) status = keep_names(graph, order, left);
    if (status == GANTRY_OK && left < count) status = gantry__graph_rebuild(graph, order, left);
    gantry__heap_free(heap, is_kept, count + 1);
    gantry__heap_free(heap, order, (count + 1) * sizeof *order);
    return status;
}
