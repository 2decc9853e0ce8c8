/* SPDX-License-Identifier: Apache-2.0 */
/* Joins elementwise nodes into nodes that compute them in one pass over memory, first those around
 * reductions over the last axis, then the others; or into the product before them.
 *
 * A group has one device and one shape of results, or with reductions the same rows (fused_rows.c).
 * It runs in the place of its last member, so program order stays a topological order if nothing
 * outside uses a member's result before that place. One walk in program order keeps that true:
 *
 *     a node takes the groups of its operands into its own, if they are open
 *     a node that uses a group's result and does not join closes that group for good
 *
 *     a = x + y      group {a}
 *     b = exp(a)     {a, b}
 *     m = b @ w      uses b from outside: {a, b} is closed
 *     c = b * 2      {c}
 *
 * A fused node holds its inputs until it runs. An earlier member may have been the last to use one,
 * so that joining would hold more memory than the members' results took. Then the nodes stay apart,
 * unless nothing that needs memory runs in between (see holds_more).
 *
 * Linear in the number of nodes, but for the sets' trees. */
#include <string.h>

#include "function/pass/pass_fuse.h"
#include "function/place/place_parts.h"

/* More memory than that must not be held longer. */
#define MOST_HELD_BYTES ((uint64_t)64 << 10)

typedef struct groups_t {
    gantry__fusing_t fusing;
    uint32_t *parents; /* by node: of the set that is its group */
    bool *is_closed;   /* by the root of a group */
    uint32_t *lasts;   /* by root: the last member */
    int64_t *lengths;  /* by root: of its rows; 0: any */
    uint64_t *held;    /* by root: bytes of temporary inputs that end with a member */
    uint32_t *next;    /* by node: the next member of its group, in program order; 0: none */
    uint32_t *tails;   /* by root: the newest member in the list */
    uint32_t *members; /* of one group */
    uint32_t *order;
    size_t order_count;
} groups_t;

static uint32_t find_group(const groups_t *groups, uint32_t node) {
    uint32_t *parents = groups->parents;
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

/* ---- what is known before the walk ---- */

static void note_use(const groups_t *groups, uint32_t value, uint32_t node) {
    ++groups->fusing.uses[value];
    if (groups->fusing.last_use[value] < node) groups->fusing.last_use[value] = node;
}

/* Finds uses backwards, so that an alias passes on how long its result is used. */
static void find_uses(const groups_t *groups) {
    const gantry__graph_t *graph = groups->fusing.graph;
    for (uint32_t i = 0; i < graph->output_count; ++i)
        note_use(groups, graph->outputs[i], (uint32_t)groups->fusing.node_count);
    for (uint32_t i = (uint32_t)groups->fusing.node_count; i-- > 0;) {
        const gantry__node_t *node = &graph->nodes[i];
        if (!groups->fusing.is_needed[i]) continue;
        for (uint32_t k = 0; k < node->input_count; ++k) note_use(groups, node->inputs[k], i);
        if (gantry__node_is_alias(node) &&
            groups->fusing.last_use[node->first_output] > groups->fusing.last_use[node->inputs[0]])
            groups->fusing.last_use[node->inputs[0]] = groups->fusing.last_use[node->first_output];
    }
}

/* A node that shares its device with another stays a node, for the placer. */
static void fuse_leave_out_colocated(const groups_t *groups) {
    const gantry__fusing_t *fusing = &groups->fusing;
    for (uint32_t i = 0; i < fusing->node_count; ++i) {
        const gantry__node_t *node = &fusing->graph->nodes[i];
        fusing->is_colocated[i] |= node->colocated_count > 0;
        for (uint32_t k = 0; k < node->colocated_count; ++k)
            fusing->is_colocated[node->colocated[k]] = true;
    }
    for (uint32_t i = 0; i < fusing->node_count; ++i) {
        if (fusing->is_colocated[i]) fusing->devices[i] = NULL;
    }
}

static gantry_status_t find_candidates(groups_t *groups) {
    const gantry__graph_t *graph = groups->fusing.graph;
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < groups->fusing.node_count; ++i)
        GANTRY__TRY(gantry__fusing_ask(&groups->fusing, i));
    fuse_leave_out_colocated(groups);
    for (uint32_t i = 0; i < groups->fusing.node_count; ++i) {
        groups->fusing.kernels[i] = kernels;
        kernels += groups->fusing.is_needed[i] && !groups->fusing.devices[i] &&
                   graph->nodes[i].kind == GANTRY__NODE_OP &&
                   !gantry__node_is_alias(&graph->nodes[i]);
    }
    return GANTRY_OK;
}

/* ---- the walk ---- */

bool gantry__fusing_is_temporary(const gantry__graph_t *graph, uint32_t value) {
    const gantry__node_t *node = &graph->nodes[graph->values[value].node];
    while (gantry__node_is_alias(node)) node = &graph->nodes[graph->values[node->inputs[0]].node];
    return node->kind == GANTRY__NODE_OP;
}

static void begin_group(const groups_t *groups, uint32_t index) {
    const gantry__graph_t *graph = groups->fusing.graph;
    const gantry__node_t *node = &graph->nodes[index];
    groups->lasts[index] = index;
    if (groups->fusing.what == GANTRY__FUSING_ROWS)
        groups->lengths[index] = gantry__fusing_rows_of(&groups->fusing, index).length;
    for (uint32_t k = 0; k < node->input_count; ++k) {
        const uint32_t value = node->inputs[k];
        if (groups->fusing.last_use[value] == index && gantry__fusing_is_temporary(graph, value))
            groups->held[index] += graph->values[value].bytes;
    }
}

/* Whether the group, run at this node, would hold more memory than its result that the node uses,
 * while other kernels run. */
static bool holds_more(const groups_t *groups, uint32_t group, uint32_t value, uint32_t index) {
    const gantry__graph_t *graph = groups->fusing.graph;
    return groups->fusing.kernels[index] > groups->fusing.kernels[groups->lasts[group]] &&
           groups->held[group] > graph->values[value].bytes + MOST_HELD_BYTES;
}

/* Whether the groups of both nodes can be one, by their shapes. */
static bool shapes_fit(const groups_t *groups, uint32_t maker, uint32_t index) {
    const gantry__fusing_t *fusing = &groups->fusing;
    if (fusing->what != GANTRY__FUSING_ROWS)
        return gantry_shape_equal(&gantry__fusing_result(fusing, maker)->shape,
                                  &gantry__fusing_result(fusing, index)->shape);
    const gantry__fusing_rows_t rows = gantry__fusing_rows_of(fusing, maker),
                                own_rows = gantry__fusing_rows_of(fusing, index);
    const int64_t length = groups->lengths[find_group(groups, maker)],
                  own = groups->lengths[find_group(groups, index)];
    return (length == own || length == 0 || own == 0) &&
           gantry_shape_equal(&rows.lead, &own_rows.lead);
}

static void take_group(const groups_t *groups, uint32_t value, uint32_t index) {
    const gantry__fusing_t *fusing = &groups->fusing;
    const uint32_t maker = fusing->graph->values[value].node;
    if (fusing->devices[maker] != fusing->devices[index] || !shapes_fit(groups, maker, index))
        return;
    const uint32_t group = find_group(groups, maker), own = find_group(groups, index);
    if (group != own) {
        if (groups->is_closed[group] || holds_more(groups, group, value, index)) return;
        groups->parents[group] = own;
        if (groups->lengths[group] > 0) groups->lengths[own] = groups->lengths[group];
        groups->held[own] += groups->held[group];
    }
    if (groups->fusing.last_use[value] == index &&
        groups->held[own] >= fusing->graph->values[value].bytes)
        groups->held[own] -= fusing->graph->values[value].bytes; /* it is inside now */
}

static void close_group(const groups_t *groups, uint32_t of, uint32_t user) {
    if (!groups->fusing.devices[of]) return;
    const uint32_t group = find_group(groups, of);
    if (!groups->fusing.devices[user] || group != find_group(groups, user))
        groups->is_closed[group] = true;
}

/* Closes groups whose rows a reduction ends: no member may use a reduction without a last
 * dimension, so the node must not join its group. */
static void close_ended_rows(const groups_t *groups, uint32_t of) {
    if (groups->fusing.devices[of] && gantry__fusing_ends_rows(&groups->fusing.graph->nodes[of]))
        groups->is_closed[find_group(groups, of)] = true;
}

static void fuse_visit(const groups_t *groups, uint32_t index) {
    const gantry__graph_t *graph = groups->fusing.graph;
    const gantry__node_t *node = &graph->nodes[index];
    if (!groups->fusing.is_needed[index]) return;
    if (groups->fusing.devices[index]) {
        begin_group(groups, index);
        for (uint32_t k = 0; k < node->input_count; ++k)
            close_ended_rows(groups, graph->values[node->inputs[k]].node);
        for (uint32_t k = 0; k < node->input_count; ++k) {
            if (groups->fusing.devices[graph->values[node->inputs[k]].node])
                take_group(groups, node->inputs[k], index);
        }
    }
    for (uint32_t k = 0; k < node->input_count; ++k)
        close_group(groups, graph->values[node->inputs[k]].node, index);
    for (uint32_t k = 0; k < node->control_count; ++k)
        close_group(groups, node->controls[k], index);
}

/* ---- groups to nodes ---- */

/* Lists each group's members, which begin at the first one. */
static void list_members(const groups_t *groups) {
    const size_t count = groups->fusing.node_count;
    for (size_t i = 0; i < count; ++i) groups->tails[i] = UINT32_MAX;
    for (uint32_t i = 0; i < count; ++i) {
        if (!groups->fusing.devices[i]) continue;
        const uint32_t group = find_group(groups, i);
        if (groups->tails[group] != UINT32_MAX) groups->next[groups->tails[group]] = i;
        groups->tails[group] = i;
    }
}

static gantry_status_t join_group(groups_t *groups, uint32_t first) {
    uint32_t count = 0;
    for (uint32_t at = first; count == 0 || at != 0; at = groups->next[at])
        groups->members[count++] = at;
    if (groups->fusing.what == GANTRY__FUSING_PRODUCTS)
        return gantry__fusing_join_product(&groups->fusing, groups->members, count);
    for (uint32_t done = 0, taken; done + 1 < count; done += taken)
        GANTRY__TRY(
            gantry__fusing_join(&groups->fusing, groups->members + done, count - done, &taken));
    return GANTRY_OK;
}

/* A member that is the first of its group: no other one points to it. */
static gantry_status_t join_groups(groups_t *groups) {
    const size_t count = groups->fusing.node_count;
    list_members(groups);
    bool *is_listed = groups->is_closed; /* has served */
    memset(is_listed, 0, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (!groups->fusing.devices[i]) continue;
        const uint32_t group = find_group(groups, i);
        if (is_listed[group]) continue;
        is_listed[group] = true;
        if (groups->next[i] != 0 || groups->fusing.what == GANTRY__FUSING_PRODUCTS)
            GANTRY__TRY(join_group(groups, i));
    }
    return GANTRY_OK;
}

/* Puts a fused node at its last member's place, and the constants that were added to the front.
 * Nodes that nothing needs may use results that are gone: they go, too. */
static void write_order(groups_t *groups) {
    const gantry__fusing_t *fusing = &groups->fusing;
    const gantry__graph_t *graph = fusing->graph;
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        if (i >= fusing->node_count && graph->nodes[i].kind == GANTRY__NODE_CONST)
            groups->order[groups->order_count++] = i;
    }
    for (uint32_t i = 0; i < fusing->node_count; ++i) {
        const uint32_t fused = fusing->new_nodes[i];
        if (!fusing->is_needed[i]) continue;
        if (fused == i) {
            groups->order[groups->order_count++] = i;
        } else if (fusing->is_last[i]) {
            groups->order[groups->order_count++] = fused;
            if (fusing->views[i] != 0) groups->order[groups->order_count++] = fusing->views[i];
        }
    }
}

void gantry__fusing_redirect(const gantry__fusing_t *fusing) {
    gantry__graph_t *graph = fusing->graph;
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        gantry__node_t *node = &graph->nodes[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < node->input_count; ++k) {
            if (node->inputs[k] < fusing->value_count)
                node->inputs[k] = fusing->new_values[node->inputs[k]];
        }
        for (uint32_t k = 0; k < node->control_count; ++k) {
            const uint32_t control = fusing->new_nodes[node->controls[k]];
            if (control != i) node->controls[kept++] = control;
        }
        node->control_count = kept;
    }
    for (uint32_t i = 0; i < graph->output_count; ++i)
        graph->outputs[i] = fusing->new_values[graph->outputs[i]];
}

static gantry_status_t fuse(groups_t *groups) {
    gantry__fusing_t *fusing = &groups->fusing;
    gantry__graph_t *graph = fusing->graph;
    for (uint32_t i = 0; i < fusing->node_count; ++i) groups->parents[i] = fusing->new_nodes[i] = i;
    for (uint32_t i = 0; i < fusing->value_count; ++i) fusing->new_values[i] = i;
    gantry__graph_find_kept(graph, fusing->is_needed);
    find_uses(groups);
    GANTRY__TRY(find_candidates(groups));
    for (uint32_t i = 0; i < fusing->node_count; ++i) fuse_visit(groups, i);
    GANTRY__TRY(join_groups(groups));
    if (graph->node_count == fusing->node_count) return GANTRY_OK;
    groups->order = gantry__arena_zalloc(&graph->arena, graph->node_count, sizeof *groups->order);
    if (!groups->order) return GANTRY_RESOURCE_EXHAUSTED;
    gantry__fusing_redirect(fusing);
    write_order(groups);
    return gantry__graph_rebuild(graph, groups->order, groups->order_count);
}

/* ---- memory of the pass ---- */

static bool groups_init(groups_t *groups, gantry__arena_t *arena) {
    gantry__fusing_t *fusing = &groups->fusing;
    const size_t nodes = fusing->node_count, values = fusing->value_count;
    fusing->devices = gantry__arena_zalloc(arena, nodes, sizeof(gantry_logical_device_t *));
    fusing->is_needed = gantry__arena_zalloc(arena, nodes, sizeof(bool));
    fusing->is_colocated = gantry__arena_zalloc(arena, nodes, sizeof(bool));
    fusing->uses = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->operands = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->uses_left = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->new_values = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->new_nodes = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    fusing->is_last = gantry__arena_zalloc(arena, nodes, sizeof(bool));
    fusing->views = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    groups->parents = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    groups->is_closed = gantry__arena_zalloc(arena, nodes, sizeof(bool));
    groups->lasts = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    groups->lengths = gantry__arena_zalloc(arena, nodes, sizeof(int64_t));
    groups->held = gantry__arena_zalloc(arena, nodes, sizeof(uint64_t));
    fusing->last_use = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->kernels = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    groups->next = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    groups->tails = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    groups->members = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    return fusing->devices && fusing->is_needed && fusing->is_colocated && fusing->uses &&
           fusing->operands && fusing->uses_left && fusing->new_values && fusing->new_nodes &&
           fusing->is_last && fusing->views && groups->parents && groups->is_closed &&
           groups->lasts && groups->lengths && groups->held && groups->fusing.last_use &&
           groups->fusing.kernels && groups->next && groups->tails && groups->members;
}

static gantry_status_t run_fusion(gantry_runtime_t *runtime, gantry__graph_t *graph,
                                  gantry__fusing_what_t what) {
    gantry__arena_t arena;
    groups_t groups = {.fusing = {.runtime = runtime,
                                  .graph = graph,
                                  .what = what,
                                  .node_count = graph->node_count,
                                  .value_count = graph->value_count}};
    gantry__arena_init(&arena, graph->heap);
    gantry_status_t status =
        groups_init(&groups, &arena) ? fuse(&groups) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__arena_deinit(&arena);
    return status;
}

static bool has_reductions(const gantry__graph_t *graph) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (gantry__node_is_pure(&graph->nodes[i]) &&
            gantry__fused_reduction(graph->nodes[i].op) != GANTRY__FUSED_COUNT)
            return true;
    }
    return false;
}

gantry_status_t gantry__pass_fuse(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    if (has_reductions(graph)) GANTRY__TRY(run_fusion(runtime, graph, GANTRY__FUSING_ROWS));
    return run_fusion(runtime, graph, GANTRY__FUSING_ELEMENTWISE);
}

gantry_status_t gantry__pass_epilogues(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    bool has_product = false;
    for (size_t i = 0; i < graph->node_count && !has_product; ++i)
        has_product = gantry__fusing_is_product(&graph->nodes[i]);
    return has_product ? run_fusion(runtime, graph, GANTRY__FUSING_PRODUCTS) : GANTRY_OK;
}
