/* SPDX-License-Identifier: Apache-2.0 */
/* Joins updates of variables that are the same program: an optimizer's step becomes one launch.
 *
 *     w0, m0 = program(w0, g0, m0, rate)
 *     w0/Assign, m0/Assign                       w0, m0, w1, m1 = program of both parts
 *     w1, m1 = program(w1, g1, m1, rate)   ->    w0/Assign, m0/Assign
 *     w1/Assign, m1/Assign                       w1/Assign, m1/Assign
 *
 * An update is a fused elementwise node whose results are assigned to variables and used by nothing
 * else. A batch has updates of one device and one program. It runs in the place of its last member.
 * Views and assignments of its results in front of that place wait for it; a node of another kind
 * that needs one of them closes the batch. So does a use of a variable whose assignment waits.
 *
 * Earlier members hold their gradients longer. A batch closes where that, and what runs in between,
 * could take memory that counts. */
#include <string.h>

#include "base/id_map.h"
#include "function/pass/fused_node.h"
#include "function/place/place_parts.h"

#define NONE UINT32_MAX
/* More memory than that must not be held longer while as much is made. */
#define MOST_HELD_BYTES ((uint64_t)1 << 20)

typedef struct update_batch_t {
    const gantry_logical_device_t *device;
    uint32_t members[GANTRY__FUSED_MOST_PARTS];
    uint32_t count;
    uint64_t held_bytes;  /* temporary inputs that end with a member */
    uint64_t made_before; /* bytes that nodes made before the first member */
    bool is_closed;
} batch_t;

typedef struct updates_t {
    gantry__fusing_t fusing;
    batch_t *batches;
    size_t batch_count;
    uint32_t *batch_of;       /* by node: the batch of a member, or for which it waits; NONE */
    bool *is_assigned;        /* by value: assignments use it, and nothing else */
    gantry__id_map_t waiting; /* by variable: the batch for which its assignment waits, + 1 */
    uint64_t made_bytes;
    uint32_t *order;
} updates_t;

/* How the inputs of some members of a batch become those of its node. */
typedef struct layout_t {
    uint32_t members[GANTRY__FUSED_MOST_PARTS];
    uint32_t count;
    uint32_t shared, own;                      /* inputs of the program */
    uint32_t place[GANTRY__FUSED_MOST_INPUTS]; /* of an input of the program: shared ones first */
    uint32_t inputs[GANTRY__MAX_INPUTS];       /* values */
    int64_t words[GANTRY__FUSED_MOST_INSTRUCTIONS * GANTRY__FUSED_WORDS];
    int64_t outputs[GANTRY__MAX_OUTPUTS];
} layout_t;

/* ---- updates ---- */

static const gantry__value_t *updates_input(const updates_t *u, uint32_t node, uint32_t i) {
    const gantry__graph_t *graph = u->fusing.graph;
    return &graph->values[graph->nodes[node].inputs[i]];
}

static int64_t updates_elements(const updates_t *u, uint32_t node) {
    return gantry__fusing_result(&u->fusing, node)->elements;
}

/* Finds uses backwards, so that a view passes on what uses it. */
static void updates_find_uses(const updates_t *u) {
    const gantry__graph_t *graph = u->fusing.graph;
    for (size_t i = 0; i < u->fusing.value_count; ++i) u->is_assigned[i] = true;
    for (uint32_t i = 0; i < graph->output_count; ++i) u->is_assigned[graph->outputs[i]] = false;
    for (uint32_t i = (uint32_t)u->fusing.node_count; i-- > 0;) {
        const gantry__node_t *node = &graph->nodes[i];
        const bool is_alias = gantry__node_is_alias(node);
        for (uint32_t k = 0; k < node->input_count; ++k) {
            const uint32_t value = node->inputs[k];
            uint32_t *last = &u->fusing.last_use[value];
            const uint32_t use = is_alias ? u->fusing.last_use[node->first_output] : i;
            if (*last < use) *last = use;
            if (is_alias ? !u->is_assigned[node->first_output] : node->kind != GANTRY__NODE_ASSIGN)
                u->is_assigned[value] = false;
        }
        for (uint32_t k = 0; k < node->colocated_count; ++k)
            u->fusing.is_colocated[i] = u->fusing.is_colocated[node->colocated[k]] = true;
    }
}

/* Inputs have as many elements as the results, or one. */
static bool updates_is_candidate(const updates_t *u, uint32_t index) {
    const gantry__node_t *node = &u->fusing.graph->nodes[index];
    if (node->kind != GANTRY__NODE_OP || node->op->id != GANTRY__OP_ID__FusedElementwise ||
        u->fusing.is_colocated[index])
        return false;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (!u->is_assigned[node->first_output + i]) return false;
    }
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const int64_t elements = updates_input(u, index, i)->elements;
        if (elements != 1 && elements != updates_elements(u, index)) return false;
    }
    return true;
}

static bool are_same_lists(const gantry_attr_t *a, const gantry_attr_t *b) {
    return a->i == b->i && memcmp(a->list, b->list, (size_t)a->i * sizeof *a->list) == 0;
}

static bool are_same_programs(const updates_t *u, uint32_t a, uint32_t b) {
    const gantry__node_t *x = &u->fusing.graph->nodes[a], *y = &u->fusing.graph->nodes[b];
    bool same = x->input_count == y->input_count && are_same_lists(&x->attrs[0], &y->attrs[0]) &&
                are_same_lists(&x->attrs[1], &y->attrs[1]);
    for (uint32_t i = 0; same && i < x->input_count; ++i)
        same = updates_input(u, a, i)->dtype == updates_input(u, b, i)->dtype;
    return same;
}

/* ---- the node of a batch ---- */

/* An input of the program has one element in every part, or as many as each part. Sets whether it
 * is the same one for all. Returns false if it is neither. */
static bool classify_input(const updates_t *u, const layout_t *layout, uint32_t i,
                           bool *out_is_shared) {
    bool is_single = true, is_whole = true, is_same = true;
    for (uint32_t k = 0; k < layout->count; ++k) {
        const uint32_t member = layout->members[k];
        const int64_t elements = updates_input(u, member, i)->elements;
        is_single = is_single && elements == 1;
        is_whole = is_whole && elements == updates_elements(u, member);
        is_same = is_same && updates_input(u, member, i) == updates_input(u, layout->members[0], i);
    }
    *out_is_shared = is_single && is_same;
    return is_single || is_whole;
}

static bool place_inputs(const updates_t *u, layout_t *layout) {
    const uint32_t count = u->fusing.graph->nodes[layout->members[0]].input_count;
    bool is_shared[GANTRY__FUSED_MOST_INPUTS];
    layout->shared = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!classify_input(u, layout, i, &is_shared[i])) return false;
        if (is_shared[i]) layout->place[i] = layout->shared++;
    }
    layout->own = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!is_shared[i]) layout->place[i] = layout->shared + layout->own++;
    }
    return layout->shared + layout->count * layout->own <= GANTRY__MAX_INPUTS;
}

static void updates_write_inputs(const updates_t *u, layout_t *layout) {
    for (uint32_t k = 0; k < layout->count; ++k) {
        const gantry__node_t *member = &u->fusing.graph->nodes[layout->members[k]];
        for (uint32_t i = 0; i < member->input_count; ++i) {
            const uint32_t place = layout->place[i];
            layout->inputs[place < layout->shared ? place : place + k * layout->own] =
                member->inputs[i];
        }
        for (uint32_t i = 0; i < member->output_count; ++i)
            layout->outputs[k * member->output_count + i] = member->attrs[1].list[i];
    }
}

static void updates_write_words(const updates_t *u, layout_t *layout) {
    const gantry_attr_t *program = &u->fusing.graph->nodes[layout->members[0]].attrs[0];
    memcpy(layout->words, program->list, (size_t)program->i * sizeof *layout->words);
    for (int64_t at = 0; at < program->i; at += GANTRY__FUSED_WORDS) {
        int64_t *words = &layout->words[at];
        for (uint32_t i = 0; i < gantry__fused_operands((gantry__fused_id_t)words[0]); ++i) {
            if (words[2 + i] >= 0) words[2 + i] = layout->place[words[2 + i]];
        }
    }
}

/* Returns false if one node may not have all members. */
static bool write_layout(const updates_t *u, layout_t *layout) {
    const gantry__node_t *first = &u->fusing.graph->nodes[layout->members[0]];
    if (layout->count * first->output_count > GANTRY__MAX_OUTPUTS || !place_inputs(u, layout))
        return false;
    updates_write_inputs(u, layout);
    updates_write_words(u, layout);
    return true;
}

static gantry_status_t infer_layout(const updates_t *u, const layout_t *layout,
                                    gantry__asked_call_t *call) {
    const gantry__node_t *first = &u->fusing.graph->nodes[layout->members[0]];
    const gantry_attr_value_t attrs[] = {
        {.name = "program",
         .kind = GANTRY_ATTR_INTS,
         .i = first->attrs[0].i,
         .list = layout->words},
        {.name = "outputs",
         .kind = GANTRY_ATTR_INTS,
         .i = (int64_t)layout->count * first->output_count,
         .list = layout->outputs},
        {.name = "parts", .kind = GANTRY_ATTR_INT, .i = layout->count},
        {.name = "shared", .kind = GANTRY_ATTR_INT, .i = layout->shared}};
    gantry__asked_init(call, GANTRY__OP_ID__FusedParts,
                       layout->shared + layout->count * layout->own);
    for (uint32_t i = 0; i < call->infer.input_count; ++i) {
        const gantry__value_t *value = &u->fusing.graph->values[layout->inputs[i]];
        call->shapes[i] = &value->shape;
        call->dtypes[i] = value->dtype;
    }
    return gantry__op_infer(&call->infer, attrs, 4);
}

/* Whether the batch's device runs a node of its members and one more. */
static gantry_status_t updates_can_take(const updates_t *u, const batch_t *batch, uint32_t index,
                                        bool *out_can) {
    layout_t layout = {.count = batch->count + 1};
    gantry__asked_call_t call;
    const gantry_kernel_def_t *kernel;
    *out_can = false;
    if (batch->count == GANTRY__FUSED_MOST_PARTS) return GANTRY_OK;
    memcpy(layout.members, batch->members, batch->count * sizeof *batch->members);
    layout.members[batch->count] = index;
    if (!write_layout(u, &layout)) return GANTRY_OK;
    GANTRY__TRY(infer_layout(u, &layout, &call));
    GANTRY__TRY(gantry__fused_find_kernel(&u->fusing, &call, u->fusing.graph->nodes[index].wish,
                                          batch->device, &kernel));
    *out_can = kernel != NULL;
    return GANTRY_OK;
}

/* ---- the walk ---- */

static uint64_t held_by(const updates_t *u, uint32_t index) {
    const gantry__graph_t *graph = u->fusing.graph;
    const gantry__node_t *node = &graph->nodes[index];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const uint32_t value = node->inputs[i];
        if (u->fusing.last_use[value] == index && gantry__fusing_is_temporary(graph, value))
            bytes += graph->values[value].bytes;
    }
    return bytes;
}

static bool updates_hold_more(const updates_t *u, const batch_t *batch) {
    return batch->held_bytes > MOST_HELD_BYTES &&
           u->made_bytes - batch->made_before > MOST_HELD_BYTES;
}

static gantry_status_t updates_find_batch(updates_t *u, uint32_t index,
                                          const gantry_logical_device_t *device,
                                          batch_t **out_batch) {
    for (size_t i = 0; i < u->batch_count; ++i) {
        batch_t *batch = &u->batches[i];
        bool can = false;
        if (batch->is_closed || batch->device != device ||
            !are_same_programs(u, batch->members[0], index))
            continue;
        if (!updates_hold_more(u, batch)) GANTRY__TRY(updates_can_take(u, batch, index, &can));
        *out_batch = batch;
        if (can) return GANTRY_OK;
        batch->is_closed = true;
    }
    *out_batch = &u->batches[u->batch_count++];
    **out_batch = (batch_t){.device = device, .made_before = u->made_bytes};
    return GANTRY_OK;
}

static gantry_status_t take_update(updates_t *u, uint32_t index) {
    const gantry_logical_device_t *device;
    batch_t *batch;
    GANTRY__TRY(gantry__fused_find_device(&u->fusing, &u->fusing.graph->nodes[index], &device));
    if (!device) return GANTRY_OK;
    GANTRY__TRY(updates_find_batch(u, index, device, &batch));
    batch->members[batch->count++] = index;
    batch->held_bytes += held_by(u, index);
    u->batch_of[index] = (uint32_t)(batch - u->batches);
    return GANTRY_OK;
}

/* The node needs what comes with the batch: it waits for it, too, or closes it. */
static void depend_on(const updates_t *u, uint32_t index, uint32_t batch) {
    const gantry__node_t *node = &u->fusing.graph->nodes[index];
    if (batch == NONE || u->batches[batch].is_closed || u->batch_of[index] == batch) return;
    if (u->batch_of[index] == NONE &&
        (node->kind == GANTRY__NODE_ASSIGN || gantry__node_is_alias(node))) {
        u->batch_of[index] = batch;
    } else {
        u->batches[batch].is_closed = true;
        if (u->batch_of[index] != NONE) u->batches[u->batch_of[index]].is_closed = true;
    }
}

/* Program order keeps the uses of a variable apart: a control input may be gone. */
static gantry_status_t depend_on_variable(updates_t *u, uint32_t index) {
    const gantry__node_t *node = &u->fusing.graph->nodes[index];
    uint32_t *waiting = gantry__id_map_at(&u->waiting, (uint64_t)(uintptr_t)node->variable);
    if (!waiting) return GANTRY_RESOURCE_EXHAUSTED;
    if (*waiting > 0) depend_on(u, index, *waiting - 1);
    if (node->kind == GANTRY__NODE_ASSIGN && u->batch_of[index] != NONE)
        *waiting = u->batch_of[index] + 1;
    return GANTRY_OK;
}

static void updates_close_all(const updates_t *u) {
    for (size_t i = 0; i < u->batch_count; ++i) u->batches[i].is_closed = true;
}

static void updates_count_made(updates_t *u, const gantry__node_t *node) {
    if (node->kind != GANTRY__NODE_OP || gantry__node_is_alias(node)) return;
    for (uint32_t i = 0; i < node->output_count; ++i)
        u->made_bytes += u->fusing.graph->values[node->first_output + i].bytes;
}

static gantry_status_t updates_visit(updates_t *u, uint32_t index) {
    const gantry__graph_t *graph = u->fusing.graph;
    const gantry__node_t *node = &graph->nodes[index];
    for (uint32_t k = 0; k < node->input_count; ++k)
        depend_on(u, index, u->batch_of[graph->values[node->inputs[k]].node]);
    for (uint32_t k = 0; k < node->control_count; ++k)
        depend_on(u, index, u->batch_of[node->controls[k]]);
    if (node->variable) GANTRY__TRY(depend_on_variable(u, index));
    if (node->body_count > 0 || node->kind == GANTRY__NODE_EAGER) updates_close_all(u);
    if (updates_is_candidate(u, index)) return take_update(u, index);
    updates_count_made(u, node);
    return GANTRY_OK;
}

/* ---- batches to nodes ---- */

/* Lists the control inputs of all members, and the names of all nodes that they replace. */
static gantry_status_t updates_list_members(const updates_t *u, const layout_t *layout,
                                            gantry__node_t *node) {
    gantry__arena_t *arena = &u->fusing.graph->arena;
    uint32_t controls = 0, fused = 0;
    for (uint32_t k = 0; k < layout->count; ++k) {
        controls += u->fusing.graph->nodes[layout->members[k]].control_count;
        fused += u->fusing.graph->nodes[layout->members[k]].fused_count;
    }
    node->controls = gantry__arena_zalloc(arena, controls, sizeof *node->controls);
    const char **names = gantry__arena_zalloc(arena, fused, sizeof *names);
    const gantry__op_def_t **ops = gantry__arena_zalloc(arena, fused, sizeof(gantry__op_def_t *));
    if (!node->controls || !names || !ops) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t k = 0; k < layout->count; ++k) {
        const gantry__node_t *member = &u->fusing.graph->nodes[layout->members[k]];
        if (member->part_of != node->part_of) node->part_of = NULL;
        for (uint32_t i = 0; i < member->control_count; ++i)
            node->controls[node->control_count++] = member->controls[i];
        for (uint32_t i = 0; i < member->fused_count; ++i, ++node->fused_count) {
            names[node->fused_count] = member->fused[i];
            ops[node->fused_count] = member->fused_ops[i];
        }
    }
    node->fused = names;
    node->fused_ops = ops;
    return GANTRY_OK;
}

static gantry_status_t add_batch(updates_t *u, const batch_t *batch) {
    gantry__graph_t *graph = u->fusing.graph;
    layout_t layout = {.count = batch->count};
    gantry__asked_call_t call;
    uint32_t index;
    memcpy(layout.members, batch->members, batch->count * sizeof *batch->members);
    (void)write_layout(u, &layout); /* it was taken */
    GANTRY__TRY(infer_layout(u, &layout, &call));
    const gantry__node_t last = graph->nodes[batch->members[batch->count - 1]];
    gantry__node_t node = {.kind = GANTRY__NODE_OP,
                           .op = call.infer.op,
                           .name = last.name,
                           .part_of = last.part_of,
                           .wish = last.wish,
                           .tag = last.tag,
                           .origin = last.origin,
                           .marks = last.marks,
                           .inputs = layout.inputs,
                           .input_count = call.infer.input_count,
                           .attrs = call.infer.attrs,
                           .output_count = call.infer.output_count,
                           .piece_first = -1};
    GANTRY__TRY(updates_list_members(u, &layout, &node));
    GANTRY__TRY(gantry__graph_add(graph, &node, call.out_dtypes, call.out_shapes, &index));
    for (uint32_t k = 0; k < batch->count; ++k) {
        const gantry__node_t *member = &graph->nodes[batch->members[k]];
        u->fusing.new_nodes[batch->members[k]] = index;
        for (uint32_t i = 0; i < member->output_count; ++i)
            u->fusing.new_values[member->first_output + i] =
                graph->nodes[index].first_output + k * member->output_count + i;
    }
    return GANTRY_OK;
}

/* The place of the batch with which the node comes; the node itself: it comes with none. */
static uint32_t updates_place_of(const updates_t *u, uint32_t index) {
    if (u->batch_of[index] == NONE) return index;
    const batch_t *batch = &u->batches[u->batch_of[index]];
    const uint32_t last = batch->members[batch->count - 1];
    return batch->count > 1 && index < last ? last : index;
}

/* Nodes that wait follow the batch in their order. */
static size_t updates_write_order(const updates_t *u) {
    const gantry__fusing_t *fusing = &u->fusing;
    size_t count = 0;
    for (uint32_t i = 0; i < fusing->node_count; ++i) {
        if (updates_place_of(u, i) != i) continue;
        u->order[count++] = fusing->new_nodes[i];
        if (fusing->new_nodes[i] == i) continue;
        for (uint32_t k = u->batches[u->batch_of[i]].members[0]; k < i; ++k) {
            if (fusing->new_nodes[k] == k && updates_place_of(u, k) == i) u->order[count++] = k;
        }
    }
    return count;
}

static gantry_status_t join_updates(updates_t *u) {
    gantry__graph_t *graph = u->fusing.graph;
    for (uint32_t i = 0; i < u->fusing.node_count; ++i) {
        u->batch_of[i] = NONE;
        u->fusing.new_nodes[i] = i;
    }
    for (uint32_t i = 0; i < u->fusing.value_count; ++i) u->fusing.new_values[i] = i;
    updates_find_uses(u);
    for (uint32_t i = 0; i < u->fusing.node_count; ++i) GANTRY__TRY(updates_visit(u, i));
    for (size_t i = 0; i < u->batch_count; ++i) {
        if (u->batches[i].count > 1) GANTRY__TRY(add_batch(u, &u->batches[i]));
    }
    if (graph->node_count == u->fusing.node_count) return GANTRY_OK;
    gantry__fusing_redirect(&u->fusing);
    return gantry__graph_rebuild(graph, u->order, updates_write_order(u));
}

/* ---- memory of the pass ---- */

static bool updates_init(updates_t *u, gantry__arena_t *arena, size_t most) {
    gantry__fusing_t *fusing = &u->fusing;
    const size_t nodes = fusing->node_count, values = fusing->value_count;
    fusing->is_colocated = gantry__arena_zalloc(arena, nodes, sizeof(bool));
    fusing->last_use = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->new_values = gantry__arena_zalloc(arena, values, sizeof(uint32_t));
    fusing->new_nodes = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    u->batches = gantry__arena_zalloc(arena, most, sizeof *u->batches);
    u->batch_of = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    u->is_assigned = gantry__arena_zalloc(arena, values, sizeof(bool));
    u->order = gantry__arena_zalloc(arena, nodes, sizeof(uint32_t));
    return fusing->is_colocated && fusing->last_use && fusing->new_values && fusing->new_nodes &&
           u->batches && u->batch_of && u->is_assigned && u->order;
}

static size_t count_fused(const gantry__graph_t *graph) {
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        count += node->kind == GANTRY__NODE_OP && node->op->id == GANTRY__OP_ID__FusedElementwise;
    }
    return count;
}

gantry_status_t gantry__pass_updates(gantry_runtime_t *runtime, gantry__graph_t *graph) {
    const size_t most = count_fused(graph);
    gantry__arena_t arena;
    updates_t u = {.fusing = {.runtime = runtime,
                              .graph = graph,
                              .node_count = graph->node_count,
                              .value_count = graph->value_count}};
    if (most < 2) return GANTRY_OK;
    gantry__arena_init(&arena, graph->heap);
    gantry__id_map_init(&u.waiting, graph->heap);
    gantry_status_t status =
        updates_init(&u, &arena, most) ? join_updates(&u) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__id_map_deinit(&u.waiting);
    gantry__arena_deinit(&arena);
    return status;
}
