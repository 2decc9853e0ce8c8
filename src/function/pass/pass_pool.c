/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the gradient of a max pool and that of the Relu in front of it:
 *
 *     h = Relu(x), y = MaxPool(h)
 *     ReluGrad(MaxPoolGrad(h, y, dy), h)      becomes      _ReluMaxPoolGrad(h, dy)
 *
 * This is one pass over memory in place of two, and its result may be in the memory of h: networks
 * of convolutions wait for both here. Each element is the product of the same two numbers, so the
 * bits stay. Only windows side by side are joined: an element of several windows is a sum, and the
 * kernel clears the elements between windows before it reads h. */
#include <string.h>

#include "function/pass/pass.h"
#include "function/place/place_parts.h"

typedef struct pool_pass_t {
    gantry__graph_t *graph;
    uint32_t *uses;   /* by value */
    uint32_t *values; /* what replaces a value: itself, or an earlier one */
} pool_pass_t;

static bool is_op(const gantry__node_t *node, gantry__op_id_t id) {
    return gantry__node_is_pure(node) && node->op->id == id;
}

static gantry__node_t *pool_pass_maker_of(const pool_pass_t *pass, uint32_t value) {
    return &pass->graph->nodes[pass->graph->values[value].node];
}

/* The value whose elements it has. */
static uint32_t pool_pass_root_of(const pool_pass_t *pass, uint32_t value) {
    while (gantry__node_is_reshape(pool_pass_maker_of(pass, value)))
        value = pool_pass_maker_of(pass, value)->inputs[0];
    return value;
}

/* The node that makes a value or the views before it, none of which has another use; or NULL. */
static gantry__node_t *only_maker_of(const pool_pass_t *pass, uint32_t value) {
    for (; pass->uses[value] == 1; value = pool_pass_maker_of(pass, value)->inputs[0]) {
        if (!gantry__node_is_reshape(pool_pass_maker_of(pass, value)))
            return pool_pass_maker_of(pass, value);
    }
    return NULL;
}

static const gantry_attr_t *attr_of(const gantry__node_t *node, const char *name) {
    const gantry_attr_t *attr = node->attrs;
    while (strcmp(attr->name, name) != 0) ++attr;
    return attr;
}

static bool has_windows_side_by_side(const gantry__node_t *pool) {
    const gantry_attr_t *sizes = attr_of(pool, "ksize"), *steps = attr_of(pool, "strides"),
                        *spreads = attr_of(pool, "dilations");
    for (int64_t i = 0; i < sizes->i; ++i) {
        if (sizes->list[i] != steps->list[i]) return false;
    }
    for (int64_t i = 0; i < spreads->i; ++i) {
        if (spreads->list[i] != 1) return false;
    }
    return true;
}

/* The features of a ReluGrad whose last part is this node; UINT32_MAX: it is none. */
static uint32_t features_of(const pool_pass_t *pass, const gantry__node_t *node) {
    if (!is_op(node, GANTRY__OP_ID_Mul) || !node->part_of ||
        node->part_of->id != GANTRY__OP_ID_ReluGrad || node->colocated_count > 0)
        return UINT32_MAX;
    const gantry__node_t *cast = pool_pass_maker_of(pass, node->inputs[1]);
    if (!is_op(cast, GANTRY__OP_ID_Cast)) return UINT32_MAX;
    const gantry__node_t *greater = pool_pass_maker_of(pass, cast->inputs[0]);
    return is_op(greater, GANTRY__OP_ID_Greater) ? greater->inputs[0] : UINT32_MAX;
}

/* The pool's node whose result this node multiplies; or NULL. */
static gantry__node_t *find_pool(const pool_pass_t *pass, const gantry__node_t *node) {
    const uint32_t features = features_of(pass, node);
    gantry__node_t *pool = features == UINT32_MAX ? NULL : only_maker_of(pass, node->inputs[0]);
    if (!pool || !is_op(pool, GANTRY__OP_ID_MaxPoolGrad)) return NULL;
    const gantry_dtype_t dtype = pass->graph->values[pool->first_output].dtype;
    return (dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64) && pool->wish == node->wish &&
                   pool_pass_root_of(pass, features) == pool_pass_root_of(pass, pool->inputs[0]) &&
                   has_windows_side_by_side(pool)
               ? pool
               : NULL;
}

static gantry_status_t join_pool(const pool_pass_t *pass, gantry__node_t *pool,
                                 const gantry__node_t *node) {
    const char *const names[] = {pool->name, node->name};
    const gantry__op_def_t *const ops[] = {pool->op, node->part_of};
    gantry__arena_t *arena = &pass->graph->arena;
    pool->fused = gantry__arena_copy(arena, names, 2, sizeof *names);
    pool->fused_ops = gantry__arena_copy(arena, ops, 2, sizeof(gantry__op_def_t *));
    if (!pool->fused || !pool->fused_ops) return GANTRY_RESOURCE_EXHAUSTED;
    pool->fused_count = 2;
    pool->op = gantry__op_get(GANTRY__OP_ID__ReluMaxPoolGrad); /* it has the same attributes */
    pool->inputs[1] = pool->inputs[2];
    pool->input_count = 2;
    pass->values[node->first_output] = node->inputs[0];
    return GANTRY_OK;
}

static gantry_status_t pool_pass_walk(const pool_pass_t *pass) {
    gantry__graph_t *graph = pass->graph;
    for (uint32_t i = 0; i < graph->value_count; ++i) pass->values[i] = i;
    gantry__pass_count_uses(graph, pass->uses);
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; ++k)
            node->inputs[k] = pass->values[node->inputs[k]];
        gantry__node_t *pool = find_pool(pass, node);
        if (pool) GANTRY__TRY(join_pool(pass, pool, node));
    }
    for (uint32_t i = 0; i < graph->output_count; ++i)
        graph->outputs[i] = pass->values[graph->outputs[i]];
    return GANTRY_OK;
}

gantry_status_t gantry__pass_pool(gantry__graph_t *graph) {
    const size_t bytes = (graph->value_count + 1) * sizeof(uint32_t);
    const pool_pass_t pass = {.graph = graph,
                              .uses = gantry__heap_zalloc(graph->heap, bytes),
                              .values = gantry__heap_zalloc(graph->heap, bytes)};
    const gantry_status_t status =
        pass.uses && pass.values ? pool_pass_walk(&pass) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__heap_free(graph->heap, pass.uses, bytes);
    gantry__heap_free(graph->heap, pass.values, bytes);
    return status;
}
