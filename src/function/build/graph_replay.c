/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a function that is made of a graph: calls the ops of its nodes in their order, in the
 * scope of a trace, or where they run at once.
 *
 *     level     the tensors of one run of a graph or subgraph, by the values' numbers in it; those
 *               of the graphs around it are in the levels around
 *     block     user data of the bodies of a branch or a loop: level and node
 *
 * A body has no number: there is one function for each, of the same user data. In a trace, an
 * observer may run the bodies again until the outermost trace ends (gradients do). Until then the
 * trace keeps the level, which then holds references to its tensors. */
#include <stdio.h>

#include "function/build/graph_description.h"
#include "function/build/graph_join.h"
#include "function/trace/trace.h"
#include "run/eager.h"
#include "run/runtime_state.h"
#include "run/trace_hooks.h"

typedef const gantry_tensor_t tensor;

typedef struct graph_level_t graph_level_t;

typedef struct graph_block_t {
    const graph_level_t *level;
    const gantry__graph_item_t *item;
} graph_block_t;

struct graph_level_t {
    gantry__trace_kept_t kept;
    const graph_level_t *outer;
    gantry_graph_t *graph;
    tensor **tensors;      /* one for each value of the graph; NULL: not yet */
    tensor **list;         /* room for the inputs of one node */
    graph_block_t *blocks; /* one for each branch and loop */
    bool holds;            /* it has references to its tensors */
};

/* ---- levels ---- */

static size_t bytes_of_level(const gantry_graph_t *graph) {
    return sizeof(graph_level_t) +
           ((size_t)graph->value_count + graph->most_listed) * sizeof(tensor *) +
           graph->block_count * sizeof(graph_block_t);
}

static void level_release(gantry__trace_kept_t *kept) {
    graph_level_t *level = (graph_level_t *)kept;
    const gantry_graph_t *graph = level->graph;
    for (uint32_t i = 0; level->holds && i < graph->value_count; ++i)
        gantry_tensor_release((gantry_tensor_t *)level->tensors[i]);
    gantry__heap_free(&graph->root->runtime->heap, level, bytes_of_level(graph));
}

static graph_level_t *level_make(gantry_graph_t *graph, const graph_level_t *outer) {
    graph_level_t *level = gantry__heap_zalloc(&graph->root->runtime->heap, bytes_of_level(graph));
    if (!level) return NULL;
    level->kept.release = level_release;
    level->outer = outer;
    level->graph = graph;
    level->blocks = (graph_block_t *)(level + 1);
    level->tensors = (tensor **)(level->blocks + graph->block_count);
    level->list = level->tensors + graph->value_count;
    return level;
}

/* The tensor of a value that was made. */
static tensor *level_tensor(const graph_level_t *level, gantry_graph_value_t value) {
    const gantry__graph_made_t *made = &level->graph->root->values[value];
    while (level->graph != made->graph) level = level->outer;
    return level->tensors[made->local];
}

static tensor **level_list(const graph_level_t *level, const gantry_graph_value_t *values,
                           size_t count) {
    for (size_t i = 0; i < count; ++i) level->list[i] = level_tensor(level, values[i]);
    return level->list;
}

static tensor **outputs_of(const graph_level_t *level, const gantry__graph_item_t *item) {
    const gantry__graph_root_t *root = level->graph->root;
    return item->output_count > 0 ? &level->tensors[root->values[item->first_output].local] : NULL;
}

/* ---- branches and loops ---- */

static void level_run(gantry_scope_t *scope, gantry_graph_t *graph, const graph_level_t *outer,
                      tensor *const *inputs, tensor **outputs);

static void run_subgraph(uint32_t body, gantry_scope_t *scope, tensor *const *inputs,
                         tensor **outputs, void *user) {
    const graph_block_t *block = user;
    level_run(scope, block->item->subgraphs[body], block->level, inputs, outputs);
}

#define EACH_8(DO, at) \
    DO(at##0) DO(at##1) DO(at##2) DO(at##3) DO(at##4) DO(at##5) DO(at##6) DO(at##7)
/* Octal numbers, as many as GANTRY_MAX_GRAPH_BRANCHES. */
#define EACH_BODY(DO) \
    EACH_8(DO, 00)    \
    EACH_8(DO, 01)    \
    EACH_8(DO, 02) EACH_8(DO, 03) EACH_8(DO, 04) EACH_8(DO, 05) EACH_8(DO, 06) EACH_8(DO, 07)
#define DEFINE_BODY(n)                                                                         \
    static void graph_body_##n(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, \
                               void *user) {                                                   \
        run_subgraph(n, scope, inputs, outputs, user);                                         \
    }
#define NAME_BODY(n) graph_body_##n,
EACH_BODY(DEFINE_BODY)

static const gantry_function_body_fn graph_bodies[] = {EACH_BODY(NAME_BODY)};
_Static_assert(sizeof graph_bodies / sizeof graph_bodies[0] == GANTRY_MAX_GRAPH_BRANCHES,
               "each subgraph of a branch has a body");

static gantry_status_t graph_run_block(gantry_scope_t *scope, graph_level_t *level,
                                       const gantry__graph_item_t *item) {
    graph_block_t *block = &level->blocks[item->block];
    const gantry_graph_node_t *node = &item->node;
    tensor **in = level_list(level, node->inputs, node->input_count);
    tensor **out = outputs_of(level, item);
    *block = (graph_block_t){level, item};
    if (item->kind == GANTRY_GRAPH_JOIN)
        return gantry__graph_join_run(item, scope, in, out, graph_bodies[0], block);
    if (item->kind == GANTRY_GRAPH_WHILE)
        return gantry_while(scope, graph_bodies[0], graph_bodies[1], block, in, node->input_count,
                            &(gantry_while_options_t){.struct_size = sizeof(gantry_while_options_t),
                                                      .most_steps = item->most_steps},
                            out);
    if (in[0]->dtype == GANTRY_BOOL && item->subgraph_count == 2)
        return gantry_cond(scope, in[0], graph_bodies[0], graph_bodies[1], block, in + 1,
                           node->input_count - 1, out, item->output_count);
    return gantry_case(scope, in[0], graph_bodies, item->subgraph_count, block, in + 1,
                       node->input_count - 1, out, item->output_count);
}

/* ---- other nodes ---- */

static gantry_status_t graph_run_op(gantry_scope_t *scope, const graph_level_t *level,
                                    const gantry__graph_item_t *item) {
    const gantry_graph_node_t *node = &item->node;
    size_t made;
    return gantry__run_op(
        scope,
        &(gantry__op_request_t){.op = item->op,
                                .inputs = level_list(level, node->inputs, node->input_count),
                                .input_count = node->input_count,
                                .attrs = node->attrs,
                                .attr_count = node->attr_count,
                                .outputs = outputs_of(level, item),
                                .room = item->output_count},
        &made);
}

/* A tape of the scope, which does not see the op, refuses a gradient through what it sees. */
static gantry_status_t run_without_gradient(gantry_scope_t *scope, const graph_level_t *level,
                                            const gantry__graph_item_t *item) {
    gantry_observer_t *observer = scope->observer;
    scope->observer = NULL;
    const gantry_status_t status = graph_run_op(scope, level, item);
    scope->observer = observer;
    if (status != GANTRY_OK || !observer) return status;
    const gantry_graph_node_t *node = &item->node;
    const gantry_attr_value_t name = {
        .name = "node", .kind = GANTRY_ATTR_STRING, .s = *node->name ? node->name : node->op};
    return gantry_scope_tell(
        scope, &(gantry_observation_t){.struct_size = sizeof(gantry_observation_t),
                                       .op = GANTRY__PREVENT_GRADIENT,
                                       .inputs = level_list(level, node->inputs, node->input_count),
                                       .input_count = node->input_count,
                                       .outputs = outputs_of(level, item),
                                       .output_count = item->output_count,
                                       .attrs = &name,
                                       .attr_count = 1});
}

static gantry_status_t graph_run_assign(gantry_scope_t *scope, const graph_level_t *level,
                                        const gantry__graph_item_t *item) {
    tensor *value = level_tensor(level, item->node.inputs[0]);
    switch (item->mode) {
        case GANTRY_ASSIGN_ADD: return gantry_variable_assign_add(scope, item->variable, value);
        case GANTRY_ASSIGN_SUB: return gantry_variable_assign_sub(scope, item->variable, value);
        default: return gantry_variable_assign(scope, item->variable, value);
    }
}

/* A constant without a name is recorded with the first node that takes it. */
static gantry_status_t put_constant(gantry_scope_t *scope, const graph_level_t *level,
                                    const gantry__graph_item_t *item) {
    *outputs_of(level, item) = item->tensor;
    return scope->trace && *item->node.name ? gantry__trace_constant(scope, item->tensor)
                                            : GANTRY_OK;
}

static gantry_status_t put_draw(gantry_scope_t *scope, const graph_level_t *level,
                                const gantry__graph_item_t *item) {
    tensor **place = outputs_of(level, item);
    if (scope->trace) return gantry__trace_draw(scope, item->draws, item->blocks, place);
    const gantry__philox_t at = gantry__draws_take(item->draws, item->blocks);
    const gantry_shape_t shapes[] = {GANTRY_SHAPE(1), GANTRY_SHAPE(2)};
    const uint64_t *const words[] = {&at.key, at.counter};
    for (int i = 0; i < 2; ++i) {
        gantry_tensor_t *made;
        GANTRY__TRY(gantry__tensor_from_host_for(scope, scope->runtime->host, GANTRY_UINT64,
                                                 &shapes[i], words[i], &made));
        gantry__scope_adopt(scope, made);
        place[i] = made;
    }
    return GANTRY_OK;
}

static GANTRY__COLD gantry_status_t fail_given(const gantry__graph_item_t *item, tensor *given) {
    char got[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(&given->shape, got, sizeof got);
    (void)gantry_shape_format(&item->shape, accepted, sizeof accepted);
    return gantry__refuse("it is given %s%s; %s%s is accepted", gantry_dtype_name(given->dtype),
                          got, gantry_dtype_name(item->dtype), accepted);
}

/* What a subgraph says of an input holds for what its branch or loop gives. */
static gantry_status_t graph_check_given(const gantry__graph_item_t *item, tensor *given) {
    bool fits = item->dtype == GANTRY_DTYPE_NONE ||
                (given->dtype == item->dtype && given->shape.rank == item->shape.rank);
    for (int32_t k = 0; fits && item->dtype != GANTRY_DTYPE_NONE && k < item->shape.rank; ++k)
        fits = item->shape.dims[k] < 0 || given->shape.dims[k] < 0 ||
               item->shape.dims[k] == given->shape.dims[k];
    return fits ? GANTRY_OK : fail_given(item, given);
}

static gantry_status_t run_kind(gantry_scope_t *scope, graph_level_t *level,
                                const gantry__graph_item_t *item) {
    switch (item->kind) {
        case GANTRY_GRAPH_OP:
            return item->node.refuses_gradient ? run_without_gradient(scope, level, item)
                                               : graph_run_op(scope, level, item);
        case GANTRY_GRAPH_CONSTANT: return put_constant(scope, level, item);
        case GANTRY_GRAPH_ASSIGN: return graph_run_assign(scope, level, item);
        case GANTRY_GRAPH_DRAW: return put_draw(scope, level, item);
        case GANTRY_GRAPH_READ:
            *outputs_of(level, item) = gantry_variable_read(scope, item->variable);
            return scope->status;
        default: return graph_run_block(scope, level, item);
    }
}

/* ---- requests ---- */

static gantry_status_t ask_for_node(gantry_scope_t *scope, const graph_level_t *level,
                                    const gantry_graph_node_t *node) {
    if (node->colocated_count > 0) {
        scope->wish = NULL;
        scope->chooser = NULL;
    }
    for (size_t i = 0; i < node->colocated_count; ++i)
        GANTRY__TRY(gantry__scope_colocate(scope, level_tensor(level, node->colocated[i])));
    if (node->control_count == 0 || !scope->trace) return GANTRY_OK;
    return gantry__trace_follow(scope, level_list(level, node->controls, node->control_count),
                                node->control_count);
}

/* Runs a node with its device, its colocations and its control inputs. */
static gantry_status_t run_asked(gantry_scope_t *scope, graph_level_t *level,
                                 const gantry__graph_item_t *item) {
    const gantry_graph_node_t *node = &item->node;
    const gantry__wish_t *wish = scope->wish;
    const gantry__chooser_t *chooser = scope->chooser;
    const bool any_order = scope->order.any;
    const struct gantry__controls_t *controls = scope->related.controls,
                                    *colocated = scope->related.colocated;
    gantry_status_t status = ask_for_node(scope, level, node);
    scope->order.any |= node->any_order;
    if (status == GANTRY_OK && node->device) {
        status = gantry_device_begin(scope, node->device);
        if (status == GANTRY_OK) status = run_kind(scope, level, item);
        (void)gantry_device_end(scope);
    } else if (status == GANTRY_OK) {
        status = run_kind(scope, level, item);
    }
    scope->wish = wish;
    scope->chooser = chooser;
    scope->order.any = any_order;
    scope->related.controls = controls;
    scope->related.colocated = colocated;
    return status;
}

/* A trace cuts long names, and makes them unique. */
static void name_next(gantry_scope_t *scope, const char *name) {
    if (!scope->trace || scope->composed) return;
    (void)snprintf(scope->next_name, sizeof scope->next_name, "%s", gantry__graph_label(name).text);
}

/* The node's name in front of the message. A trace has put that of a branch or a loop there. */
static GANTRY__COLD gantry_status_t fail_node(gantry_scope_t *scope, const gantry_graph_t *graph,
                                              const gantry__graph_item_t *item,
                                              gantry_status_t status) {
    char why[GANTRY__MESSAGE_BYTES];
    (void)snprintf(why, sizeof why, "%s",
                   scope->status != GANTRY_OK ? gantry_scope_message(scope) : gantry__message());
    const bool is_named = *item->node.name != '\0';
    const bool is_block = item->subgraph_count > 0 && item->kind != GANTRY_GRAPH_JOIN;
    if (is_named && is_block && scope->trace) return status;
    gantry_scope_clear(scope);
    const uint32_t number = (uint32_t)(item - graph->items);
    if (is_named)
        (void)gantry__fail(status, "node \"%s\" (%s): %s",
                           gantry__graph_label(item->node.name).text, gantry__graph_item_op(item),
                           why);
    else
        (void)gantry__fail(status, "node %u (%s): %s", number, gantry__graph_item_op(item), why);
    return gantry__scope_fail(scope, status);
}

/* ---- one run ---- */

static gantry_status_t run_items(gantry_scope_t *scope, graph_level_t *level,
                                 tensor *const *inputs) {
    const gantry_graph_t *graph = level->graph;
    size_t next = 0;
    for (size_t i = 0; i < graph->item_count; ++i) {
        const gantry__graph_item_t *item = &graph->items[i];
        gantry_status_t status;
        if (item->kind == GANTRY_GRAPH_INPUT) {
            *outputs_of(level, item) = inputs[next];
            status = graph->parent ? graph_check_given(item, inputs[next]) : GANTRY_OK;
            ++next;
        } else {
            name_next(scope, item->node.name);
            status = run_asked(scope, level, item);
        }
        if (status != GANTRY_OK) return fail_node(scope, graph, item, status);
    }
    return GANTRY_OK;
}

/* An observer of the trace may run the bodies of its blocks again. */
static void end_level(const gantry_scope_t *scope, graph_level_t *level) {
    if (!scope->trace || level->graph->block_count == 0) {
        level_release(&level->kept);
        return;
    }
    for (uint32_t i = 0; i < level->graph->value_count; ++i)
        level->tensors[i] = gantry_tensor_retain(level->tensors[i]);
    level->holds = true;
    gantry__trace_keep(scope, &level->kept);
}

static void level_run(gantry_scope_t *scope, gantry_graph_t *graph, const graph_level_t *outer,
                      tensor *const *inputs, tensor **outputs) {
    graph_level_t *level = level_make(graph, outer);
    scope->order.batch_invariant |= graph->is_batch_invariant;
    if (!level) {
        (void)gantry__scope_fail(scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    if (run_items(scope, level, inputs) == GANTRY_OK) {
        for (size_t i = 0; i < graph->output_count; ++i)
            outputs[i] = level_tensor(level, graph->outputs[i].value);
    }
    end_level(scope, level);
}

void gantry__graph_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    gantry_graph_t *graph = user;
    level_run(scope, graph, NULL, inputs, outputs);
}
