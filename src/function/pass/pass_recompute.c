/* SPDX-License-Identifier: Apache-2.0 */
/* Computes cheap values again where they are used late, so that they need not be held meanwhile.
 * For a function whose memory budget no order meets (rematerialisation: Chen et al. 2016).
 *
 *     big = Exp(x)            big lives              big = Exp(x)
 *     a = MatMul(big, w)      through all            a = MatMul(big, w)
 *     b = MatMul(a, w)        products               b = MatMul(a, w)
 *     y = Add(b, big)                                again = Exp(x)
 *                                                    y = Add(b, again)
 *
 * Each step finds the node where most bytes live at a time. A value is a candidate there if it is
 * made before and used later, and if it is cheap: an elementwise op whose inputs live that long
 * anyway or take fewer bytes. The candidate that saves most is made again in front of its next use.
 * The steps end when enough is saved, when that node has no candidate, or when the graph has as
 * many nodes as it may. The same op of the same inputs has the same bits.
 *
 * The bytes are a model: of all devices together, and without the padding of blocks. The caller
 * plans again and requests more. The time is steps times the size of the graph. */
#include <stdio.h>
#include <string.h>

#include "function/pass/pass.h"
#include "function/place/place_parts.h"
#include "function/trace/trace.h"
#include "op/fused_program.h"

#define NONE UINT32_MAX

typedef struct recompute_t {
    gantry__graph_t *graph;
    gantry__arena_t memory;
    uint32_t *order;     /* node at each position */
    uint32_t *positions; /* for each node, its position */
    int64_t *live;       /* bytes at each position */
    /* one entry for each value */
    uint32_t *roots; /* the value in whose memory it is */
    uint32_t *lasts; /* for each root, the last position that uses it */
    uint32_t *nexts; /* for each root, the next use at the peak or after it; NONE */
    bool *stays;     /* for each root: it is a result of the function */
    bool *is_shown;  /* for each root: an alias from before the peak is used there or later */
    size_t count, room;
    uint32_t made, peak; /* peak: the position where most bytes live */
} recompute_t;

/* ---- facts ---- */

static const gantry__node_t *value_maker(const recompute_t *recompute, uint32_t value) {
    return &recompute->graph->nodes[recompute->graph->values[value].node];
}

/* Whether the op costs little compared with a pass over memory, cannot fail, and always gives the
 * same bits. */
static bool is_cheap(const gantry__graph_t *graph, const gantry__node_t *node) {
    if (!gantry__node_is_pure(node) || node->output_count != 1 || node->colocated_count > 0 ||
        gantry__node_is_alias(node))
        return false;
    if (node->op->id == GANTRY__OP_ID__FusedElementwise || node->op->id == GANTRY__OP_ID_Fill)
        return true;
    const gantry__fused_id_t id = gantry__fused_id(node->op, node->attrs);
    const uint32_t which = id == GANTRY__FUSED_Select ? 1 : 0;
    return id != GANTRY__FUSED_COUNT &&
           gantry__fused_takes(id, graph->values[node->inputs[which]].dtype);
}

/* Whether its bytes are taken for a part of the call. */
static bool comes_and_goes(const recompute_t *recompute, uint32_t value) {
    const gantry__node_t *maker = value_maker(recompute, value);
    return maker->kind == GANTRY__NODE_OP && recompute->roots[value] == value &&
           !recompute->stays[value];
}

static void find_lives(recompute_t *recompute) {
    const gantry__graph_t *graph = recompute->graph;
    for (uint32_t p = 0; p < recompute->count; ++p) {
        const gantry__node_t *node = &graph->nodes[recompute->order[p]];
        recompute->positions[recompute->order[p]] = p;
        for (uint32_t k = 0; k < node->input_count; ++k)
            recompute->lasts[recompute->roots[node->inputs[k]]] = p;
        for (uint32_t k = 0; k < node->output_count; ++k) {
            const uint32_t value = node->first_output + k;
            recompute->roots[value] =
                gantry__node_is_alias(node) ? recompute->roots[node->inputs[0]] : value;
            recompute->lasts[value] = p;
        }
    }
    memset(recompute->stays, 0, graph->value_count * sizeof *recompute->stays);
    for (uint32_t i = 0; i < graph->output_count; ++i)
        recompute->stays[recompute->roots[graph->outputs[i]]] = true;
}

/* The bytes of an input that ends with the node and that its result takes over. */
static int64_t bytes_in_place(const recompute_t *recompute, uint32_t position) {
    const gantry__graph_t *graph = recompute->graph;
    const gantry__node_t *node = &graph->nodes[recompute->order[position]];
    if (!is_cheap(graph, node) || !comes_and_goes(recompute, node->first_output)) return 0;
    for (uint32_t k = 0; k < node->input_count; ++k) {
        const uint32_t root = recompute->roots[node->inputs[k]];
        if (comes_and_goes(recompute, root) && recompute->lasts[root] == position &&
            graph->values[root].bytes == graph->values[node->first_output].bytes)
            return (int64_t)graph->values[root].bytes;
    }
    return 0;
}

/* Returns the bytes at the peak. */
static int64_t find_peak(recompute_t *recompute) {
    const gantry__graph_t *graph = recompute->graph;
    int64_t sum = 0, most = 0;
    find_lives(recompute);
    memset(recompute->live, 0, (recompute->count + 1) * sizeof *recompute->live);
    for (uint32_t value = 0; value < graph->value_count; ++value) {
        if (!comes_and_goes(recompute, value)) continue;
        const int64_t bytes = (int64_t)graph->values[value].bytes;
        recompute->live[recompute->positions[graph->values[value].node]] += bytes;
        recompute->live[recompute->lasts[value] + 1] -= bytes;
    }
    for (uint32_t p = 0; p < recompute->count; ++p) {
        sum += recompute->live[p];
        const int64_t bytes = sum - bytes_in_place(recompute, p);
        if (bytes > most) recompute->peak = p;
        if (bytes > most) most = bytes;
    }
    return most;
}

/* ---- one step ---- */

static void find_next_uses(const recompute_t *recompute) {
    const gantry__graph_t *graph = recompute->graph;
    for (size_t i = 0; i < graph->value_count; ++i) {
        recompute->nexts[i] = NONE;
        recompute->is_shown[i] = false;
    }
    for (uint32_t p = recompute->peak; p < recompute->count; ++p) {
        const gantry__node_t *node = &graph->nodes[recompute->order[p]];
        for (uint32_t k = 0; k < node->input_count; ++k) {
            const uint32_t value = node->inputs[k], root = recompute->roots[value];
            if (recompute->nexts[root] == NONE) recompute->nexts[root] = p;
            if (value != root && recompute->positions[graph->values[value].node] < recompute->peak)
                recompute->is_shown[root] = true;
        }
    }
}

/* The bytes that an input must be held longer, so that it is there at a position. -1: it may be
 * another value by then. */
static int64_t bytes_to_hold(const recompute_t *recompute, uint32_t value, uint32_t position) {
    const uint32_t root = recompute->roots[value];
    const gantry__node_t *maker = value_maker(recompute, root);
    if (maker->kind == GANTRY__NODE_INPUT || maker->kind == GANTRY__NODE_CONST ||
        recompute->stays[root])
        return 0;
    if (maker->kind != GANTRY__NODE_OP) return -1;
    return recompute->lasts[root] >= position ? 0 : (int64_t)recompute->graph->values[root].bytes;
}

/* The bytes that are free at the peak if the value is made again for its next use; 0 or less:
 * none. */
static int64_t bytes_saved(const recompute_t *recompute, uint32_t value) {
    const gantry__graph_t *graph = recompute->graph;
    const gantry__node_t *maker = value_maker(recompute, value);
    const uint32_t next = recompute->nexts[value];
    if (next == NONE || next == recompute->peak || recompute->is_shown[value] ||
        !comes_and_goes(recompute, value) ||
        recompute->positions[graph->values[value].node] >= recompute->peak ||
        !is_cheap(graph, maker))
        return 0;
    int64_t saved = (int64_t)graph->values[value].bytes;
    for (uint32_t k = 0; k < maker->input_count; ++k) {
        const int64_t held = bytes_to_hold(recompute, maker->inputs[k], next);
        if (held < 0) return 0;
        saved -= held;
    }
    return saved;
}

static uint32_t find_best(const recompute_t *recompute) {
    uint32_t best = NONE;
    int64_t most = 0;
    for (uint32_t value = 0; value < recompute->graph->value_count; ++value) {
        const int64_t saved = bytes_saved(recompute, value);
        if (saved <= most) continue;
        best = value;
        most = saved;
    }
    return best;
}

/* Adds the node that makes the value again in front of its next use, for all uses from there on. */
static gantry_status_t make_again(recompute_t *recompute, uint32_t value) {
    gantry__graph_t *graph = recompute->graph;
    const uint32_t next = recompute->nexts[value];
    gantry__node_t again = *value_maker(recompute, value);
    const gantry_dtype_t dtype = graph->values[value].dtype;
    const gantry_shape_t shape = graph->values[value].shape;
    char name[GANTRY__NODE_NAME_BYTES + 32];
    if (!again.recomputes) again.recomputes = again.name;
    (void)snprintf(name, sizeof name, "%s/again_%zu", again.recomputes, graph->node_count);
    again.name = name;
    again.control_count = 0;
    uint32_t added;
    GANTRY__TRY(gantry__graph_add(graph, &again, &dtype, &shape, &added));
    const uint32_t result = graph->nodes[added].first_output;
    for (uint32_t p = next; p < recompute->count; ++p) {
        gantry__node_t *node = &graph->nodes[recompute->order[p]];
        for (uint32_t k = 0; k < node->input_count; ++k)
            if (node->inputs[k] == value) node->inputs[k] = result;
    }
    memmove(recompute->order + next + 1, recompute->order + next,
            (recompute->count - next) * sizeof *recompute->order);
    recompute->order[next] = added;
    ++recompute->count;
    ++recompute->made;
    return GANTRY_OK;
}

/* ---- all steps ---- */

static gantry_status_t recompute_allocate(recompute_t *recompute) {
    const size_t nodes = recompute->room + 1,
                 values = recompute->graph->value_count + recompute->room;
    gantry__arena_t *memory = &recompute->memory;
    recompute->order = gantry__arena_zalloc(memory, nodes, sizeof *recompute->order);
    recompute->positions = gantry__arena_zalloc(memory, nodes, sizeof *recompute->positions);
    recompute->live = gantry__arena_zalloc(memory, nodes, sizeof *recompute->live);
    recompute->roots = gantry__arena_zalloc(memory, values, sizeof *recompute->roots);
    recompute->lasts = gantry__arena_zalloc(memory, values, sizeof *recompute->lasts);
    recompute->nexts = gantry__arena_zalloc(memory, values, sizeof *recompute->nexts);
    recompute->stays = gantry__arena_zalloc(memory, values, sizeof *recompute->stays);
    recompute->is_shown = gantry__arena_zalloc(memory, values, sizeof *recompute->is_shown);
    return recompute->order && recompute->positions && recompute->live && recompute->roots &&
                   recompute->lasts && recompute->nexts && recompute->stays && recompute->is_shown
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t recompute_all(recompute_t *recompute, uint64_t wanted_bytes) {
    GANTRY__TRY(recompute_allocate(recompute));
    for (uint32_t i = 0; i < recompute->count; ++i) recompute->order[i] = i;
    const int64_t first = find_peak(recompute);
    const int64_t target = (uint64_t)first > wanted_bytes ? first - (int64_t)wanted_bytes : 0;
    for (int64_t peak = first; peak > target && recompute->count < recompute->room;
         peak = find_peak(recompute)) {
        find_next_uses(recompute);
        const uint32_t best = find_best(recompute);
        if (best == NONE) break;
        GANTRY__TRY(make_again(recompute, best));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__pass_recompute(gantry__graph_t *graph, uint64_t wanted_bytes,
                                       size_t most_nodes, uint32_t *out_made) {
    recompute_t recompute = {.graph = graph, .count = graph->node_count, .room = most_nodes};
    *out_made = 0;
    if (recompute.count >= most_nodes) return GANTRY_OK;
    gantry__arena_init(&recompute.memory, graph->heap);
    gantry_status_t status = recompute_all(&recompute, wanted_bytes);
    if (status == GANTRY_OK && recompute.made > 0)
        status = gantry__graph_rebuild(graph, recompute.order, recompute.count);
    gantry__arena_deinit(&recompute.memory);
    *out_made = recompute.made;
    return status;
}
