/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that is built from outside: plain data, from which graph_replay.c calls the ops in the
 * scope of a trace.
 *
 *     root ── subgraphs (of all levels, in the order of their making)
 *       │        each: nodes, inputs, outputs, the graph around it
 *       ├ values    of all levels: the graph and the node that make each
 *       └ arena     what nodes point to: texts, lists, attributes
 *
 * A node uses only values of earlier nodes, of its graph or of one around it. A subgraph is closed
 * when a branch or a loop takes it: its nodes use only values that were there before that node.
 *
 * Owner: the root owns all subgraphs and holds references to the tensors, variables and streams of
 * draws that nodes name. Threads: externally synchronised while it is made; after the first
 * function was made of it, it is constant. */
#ifndef GANTRY_FUNCTION_GRAPH_DESCRIPTION_H
#define GANTRY_FUNCTION_GRAPH_DESCRIPTION_H

#include <stdatomic.h>

#include <gantry/graph.h>

#include "base/arena.h"
#include "base/id_map.h"
#include "function/trace/graph.h"
#include "op/op_def.h"
#include "run/draws.h"
#include "run/scope_state.h"

typedef struct gantry__graph_item_t {
    gantry_graph_kind_t kind;
    const gantry__op_def_t *op; /* of OP; else NULL */
    /* as the public struct has it, with texts and lists in the root's arena; name is never NULL,
     * device is NULL without a request, op is the op's own name, or "" */
    gantry_graph_node_t node;
    gantry_graph_value_t first_output;
    uint32_t output_count;
    gantry_dtype_t dtype; /* of INPUT */
    gantry_shape_t shape;
    gantry_tensor_t *tensor;     /* of CONSTANT; a reference */
    gantry_variable_t *variable; /* of READ and ASSIGN; a reference */
    gantry_assign_mode_t mode;
    gantry_graph_t **subgraphs; /* of CASE, WHILE and JOIN; the condition first */
    uint32_t subgraph_count;
    uint64_t most_steps;
    gantry__draws_t *draws; /* of DRAW; a reference */
    uint64_t blocks;        /* the counter steps of DRAW in each call */
    uint32_t block;         /* of CASE, WHILE and JOIN: its number among those of its graph */
} gantry__graph_item_t;

typedef struct gantry__graph_output_t {
    const char *name; /* "": none */
    gantry_graph_value_t value;
} gantry__graph_output_t;

/* Where a value is made. */
typedef struct gantry__graph_made_t {
    gantry_graph_t *graph;
    uint32_t local; /* its number among the values of that graph */
} gantry__graph_made_t;

typedef struct gantry__graph_text_t {
    char *key, *text; /* heap texts */
} gantry__graph_text_t;

/* What a graph has only once, with all its subgraphs. */
typedef struct gantry__graph_root_t {
    atomic_uint references;
    gantry_runtime_t *runtime; /* a reference */
    gantry__arena_t arena;
    gantry_graph_t *newest; /* of the subgraphs; linked by next */
    gantry__graph_made_t *values;
    size_t value_count, value_capacity;
    gantry__graph_text_t *texts; /* metadata */
    size_t text_count, text_capacity;
    gantry_variable_t **variables; /* of its nodes, each once; references */
    size_t variable_count, variable_capacity;
    gantry__id_map_t variable_numbers; /* by address: the place in variables + 1 */
    atomic_bool is_frozen;             /* a function was made of it */
} gantry__graph_root_t;

struct gantry_graph_t {
    gantry__graph_root_t *root;
    gantry_graph_t *parent; /* NULL: it is the root's own */
    gantry_graph_t *next;   /* of the root's subgraphs */
    const char *name;       /* "": none */
    gantry__graph_item_t *items;
    size_t item_count, item_capacity;
    uint32_t *inputs; /* items */
    size_t input_count, input_capacity;
    gantry__graph_output_t *outputs;
    size_t output_count, output_capacity;
    uint32_t value_count, block_count, depth;
    uint32_t most_listed; /* inputs or controls of one node */
    bool is_closed;       /* a branch or a loop has it */
    /* the body of which it is a description set the option batch_invariant in a scope */
    bool is_batch_invariant;
};

/* Fails with `call` and the graph in front, unless nodes may be added. */
gantry_status_t gantry__graph_check_open(const gantry_graph_t *graph, const char *call);
/* Copies a text into the root's arena; "" for NULL. what: "a name". */
gantry_status_t gantry__graph_copy_text(gantry_graph_t *graph, const char *call, const char *what,
                                        const char *text, const char **out_copy);

/* Adds a node of any kind to an open graph, which gantry__graph_check_open must have found: for the
 * public calls, descriptions of traces, and saved graphs. The lists and texts of item->node are
 * copied, and references to tensor, variable and draws taken. All of it is checked; `call` is put
 * in front of the messages: "gantry_graph_add_node". The caller sets kind, node, and what the kind
 * needs; of OP, node.op has the op's name. *out_item is valid until the next node. */
gantry_status_t gantry__graph_add_item(gantry_graph_t *graph, const char *call,
                                       const gantry__graph_item_t *item,
                                       const gantry__graph_item_t **out_item);
/* The value's graph is this one, or one around it. */
gantry_status_t gantry__graph_check_value(const gantry_graph_t *graph, const char *call,
                                          const char *what, gantry_graph_value_t value);

/* A name as messages and nodes of traces have it: one line in UTF-8, cut where it is long. */
typedef struct gantry__graph_label_t {
    char text[GANTRY__NODE_NAME_BYTES];
} gantry__graph_label_t;
gantry__graph_label_t gantry__graph_label(const char *name);
/* The name of a kind or of its op: "MatMul", "Case", "Reduce". */
const char *gantry__graph_item_op(const gantry__graph_item_t *item);

/* What observers see in place of an op whose node refuses a gradient. */
#define GANTRY__PREVENT_GRADIENT "PreventGradient"

/* What an observer of the trace found: tensors that are other objects over the memory of others,
 * which a tape follows, and nodes whose gradient the body gave. */
typedef struct gantry__graph_aliases_t {
    gantry__id_map_t places;      /* by tensor: its pair + 1 */
    gantry__id_map_t apart;       /* by the name of a node: 1: it refuses a gradient */
    gantry_tensor_t *(*pairs)[2]; /* the tensor, and of which it is one; references */
    size_t count, capacity;
} gantry__graph_aliases_t;

/* Adds the nodes of a traced graph, which has not gone through a pass, to an empty one, with inputs
 * of these names (NULL: none). Outputs get these names (NULL: none). */
gantry_status_t gantry__graph_describe(gantry_graph_t *graph, const gantry__graph_t *traced,
                                       const gantry_input_spec_t *inputs,
                                       const char *const *output_names,
                                       gantry__graph_aliases_t *aliases);

/* The body of functions that are made of a graph, which is user. */
void gantry__graph_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user);

#endif
