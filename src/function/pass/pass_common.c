/* SPDX-License-Identifier: Apache-2.0 */
/* Of nodes that compute the same, leaves the first: the later ones' values are replaced by its
 * values, and nothing needs them any more.
 *
 * One walk in program order. The inputs of a node are replaced before it is compared, so that equal
 * chains join from their beginning. A hash finds the earlier node; a second comparison makes sure.
 *
 *     ops         op, attributes, inputs, request, tag and control inputs agree
 *     constants   bits, type, shape and device agree, up to MOST_COMPARED_BYTES in host memory
 *     reads       of one variable, if there are only reads between them */
#include "function/pass/pass.h"

#include <string.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "device/logical_device.h"
#include "run/tensor_state.h"

#define MOST_COMPARED_BYTES 256

typedef struct common_t {
    gantry__graph_t *graph;
    gantry__id_map_t seen; /* by hash: node + 1 */
    uint32_t *values;      /* what replaces a value: itself, or an earlier one */
    uint32_t *nodes;
} common_t;

/* ---- attributes ---- */

static uint64_t hash_attr(const gantry_attr_t *attr, uint64_t seed) {
    seed = gantry__hash64(&attr->i, sizeof attr->i, seed);
    seed = gantry__hash64(&attr->f, sizeof attr->f, seed);
    if (attr->s) seed = gantry__hash64(attr->s, strlen(attr->s), seed);
    if (attr->list && attr->i > 0)
        seed = gantry__hash64(attr->list, (size_t)attr->i * sizeof *attr->list, seed);
    return seed;
}

static bool is_same_attr(const gantry_attr_t *a, const gantry_attr_t *b) {
    /* By their bits. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    if (a->i != b->i || memcmp(&a->f, &b->f, sizeof a->f) != 0 || !a->s != !b->s ||
        !a->list != !b->list)
        return false;
    if (a->s && strcmp(a->s, b->s) != 0) return false;
    return !a->list || a->i <= 0 || memcmp(a->list, b->list, (size_t)a->i * sizeof *a->list) == 0;
}

/* ---- nodes ---- */

static bool has_comparable_bits(const gantry_tensor_t *tensor) {
    return tensor->size_bytes <= MOST_COMPARED_BYTES && tensor->data && tensor->device &&
           tensor->device->synchronous && tensor->fault_count == 0;
}

static bool can_join(const gantry__node_t *node) {
    if (node->colocated_count > 0) return false;
    if (node->kind == GANTRY__NODE_CONST) return has_comparable_bits(node->tensor);
    return gantry__node_is_pure(node);
}

static uint64_t hash_node(const gantry__node_t *node) {
    const uint64_t words[] = {(uint64_t)node->kind, node->op->id, (uint64_t)(uintptr_t)node->wish,
                              (uint64_t)(uintptr_t)node->tag, node->output_count};
    uint64_t hash = gantry__hash64(words, sizeof words, 0);
    hash = gantry__hash64(node->inputs, node->input_count * sizeof *node->inputs, hash);
    hash = gantry__hash64(node->controls, node->control_count * sizeof *node->controls, hash);
    if (node->kind == GANTRY__NODE_CONST)
        return gantry__hash64(node->tensor->data, node->tensor->size_bytes, hash) | 1;
    for (uint32_t i = 0; i < node->op->attr_count; ++i) hash = hash_attr(&node->attrs[i], hash);
    return hash | 1;
}

static bool is_same_constant(const gantry_tensor_t *a, const gantry_tensor_t *b) {
    return a->dtype == b->dtype && a->device == b->device &&
           gantry_shape_equal(&a->shape, &b->shape) && memcmp(a->data, b->data, a->size_bytes) == 0;
}

static bool is_same_list(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count) {
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

static bool is_same_node(const gantry__node_t *a, const gantry__node_t *b) {
    if (a->kind != b->kind || a->op != b->op || a->wish != b->wish || a->tag != b->tag ||
        a->marks.any_order != b->marks.any_order || a->output_count != b->output_count ||
        !is_same_list(a->inputs, a->input_count, b->inputs, b->input_count) ||
        !is_same_list(a->controls, a->control_count, b->controls, b->control_count))
        return false;
    if (a->kind == GANTRY__NODE_CONST) return is_same_constant(a->tensor, b->tensor);
    for (uint32_t i = 0; i < a->op->attr_count; ++i) {
        if (!is_same_attr(&a->attrs[i], &b->attrs[i])) return false;
    }
    return true;
}

/* ---- the walk ---- */

static void replace_inputs(const common_t *common, gantry__node_t *node) {
    for (uint32_t k = 0; k < node->input_count; ++k)
        node->inputs[k] = common->values[node->inputs[k]];
    for (uint32_t k = 0; k < node->control_count; ++k)
        node->controls[k] = common->nodes[node->controls[k]];
    for (uint32_t k = 0; k < node->colocated_count; ++k)
        node->colocated[k] = common->nodes[node->colocated[k]];
}

static void common_join(const common_t *common, uint32_t index, uint32_t first) {
    const gantry__graph_t *graph = common->graph;
    const gantry__node_t *node = &graph->nodes[index], *kept = &graph->nodes[first];
    common->nodes[index] = first;
    for (uint32_t i = 0; i < node->output_count; ++i)
        common->values[node->first_output + i] = kept->first_output + i;
}

/* A read after a read of the same variable gives the same value. */
static bool join_read(const common_t *common, uint32_t index) {
    const gantry__node_t *node = &common->graph->nodes[index];
    if (node->kind != GANTRY__NODE_READ || node->control_count != 1) return false;
    const gantry__node_t *before = &common->graph->nodes[node->controls[0]];
    if (before->kind != GANTRY__NODE_READ || before->variable != node->variable ||
        before->tag != node->tag)
        return false;
    common_join(common, index, node->controls[0]);
    return true;
}

static gantry_status_t common_visit(common_t *common, uint32_t index) {
    gantry__node_t *node = &common->graph->nodes[index];
    replace_inputs(common, node);
    if (join_read(common, index) || !can_join(node)) return GANTRY_OK;
    uint32_t *seen = gantry__id_map_at(&common->seen, hash_node(node));
    if (!seen) return GANTRY_RESOURCE_EXHAUSTED;
    if (*seen == 0) {
        *seen = index + 1;
    } else if (is_same_node(&common->graph->nodes[*seen - 1], node)) {
        common_join(common, index, *seen - 1);
    }
    return GANTRY_OK;
}

static gantry_status_t walk(common_t *common) {
    gantry__graph_t *graph = common->graph;
    for (size_t i = 0; i < graph->node_count; ++i) common->nodes[i] = (uint32_t)i;
    for (size_t i = 0; i < graph->value_count; ++i) common->values[i] = (uint32_t)i;
    for (size_t i = 0; i < graph->node_count; ++i) GANTRY__TRY(common_visit(common, (uint32_t)i));
    for (uint32_t i = 0; i < graph->output_count; ++i)
        graph->outputs[i] = common->values[graph->outputs[i]];
    return GANTRY_OK;
}

gantry_status_t gantry__pass_common(gantry__graph_t *graph) {
    const gantry__heap_t *heap = graph->heap;
    const size_t nodes = (graph->node_count + 1) * sizeof(uint32_t),
                 values = (graph->value_count + 1) * sizeof(uint32_t);
    common_t common = {.graph = graph,
                       .values = gantry__heap_zalloc(heap, values),
                       .nodes = gantry__heap_zalloc(heap, nodes)};
    gantry__id_map_init(&common.seen, heap);
    gantry_status_t status =
        common.values && common.nodes ? walk(&common) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__id_map_deinit(&common.seen);
    gantry__heap_free(heap, common.values, values);
    gantry__heap_free(heap, common.nodes, nodes);
    return status;
}
