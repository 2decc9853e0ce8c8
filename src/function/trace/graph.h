/* SPDX-License-Identifier: Apache-2.0 */
/* A graph: the nodes that a trace recorded, in program order, and the values between them.
 *
 * Program order is a topological order: a node must use only values of earlier nodes. A graph is
 * plain data that knows no device; types, shapes and attributes are complete.
 *
 * Owner: the graph owns its nodes, and holds references to the tensors, variables and streams of
 * draws that they name. Threads: externally synchronised while it is made, constant afterwards. */
#ifndef GANTRY_FUNCTION_GRAPH_H
#define GANTRY_FUNCTION_GRAPH_H

#include <gantry/tensor.h>
#include <gantry/variable.h>

#include "base/arena.h"
#include "op/op_def.h"
#include "place/placer.h"
#include "run/draws.h"

typedef enum gantry__node_kind_t {
    GANTRY__NODE_INPUT = 0,  /* an argument of the function */
    GANTRY__NODE_CONST = 1,  /* a tensor that was there when the body ran */
    GANTRY__NODE_OP = 2,     /* an op with a kernel, or an alias */
    GANTRY__NODE_READ = 3,   /* of a variable */
    GANTRY__NODE_ASSIGN = 4, /* to a variable: of input 0, or of its sum or difference with it */
    GANTRY__NODE_CASE = 5,   /* the body whose number input 0 is; a bool: 1 for false */
    GANTRY__NODE_WHILE = 6,  /* body 1, as long as body 0 says so */
    GANTRY__NODE_DRAW = 7,   /* key and counter of the next numbers of a stream */
    GANTRY__NODE_EAGER = 8   /* an op that each call runs at once, by the eager path */
} gantry__node_kind_t;

/* What a pass leaves after a product, because of the kernel that computes it. */
typedef enum gantry__apart_t {
    GANTRY__APART_NOTHING,
    GANTRY__APART_PROGRAM,  /* elementwise nodes, which it does not take */
    GANTRY__APART_TRANSPOSE /* of its result, whose channels it writes last */
} gantry__apart_t;

/* Nodes that are no ops of the table: arguments, branches, loops. */
extern const gantry__op_def_t gantry__op_placeholder, gantry__op_if, gantry__op_case,
    gantry__op_while, gantry__op_draw;

typedef struct gantry__marks_t {
    bool has_state; /* a body of CASE or WHILE assigns to a variable or draws */
    bool any_order; /* the option of the scope that called it */
} gantry__marks_t;

typedef struct gantry__node_t {
    gantry__node_kind_t kind;
    const gantry__op_def_t *op;
    /* the op of ASSIGN that makes the new value from the present one and input 0; NULL: none */
    const gantry__op_def_t *update;
    const char *name;
    const gantry__op_def_t *part_of; /* the composed op that the body called, or NULL */
    const gantry__wish_t *wish;      /* NULL: none */
    const char *tag;                 /* the tag for memory reports, or NULL */
    const char *origin;              /* of what the program made it, or NULL */
    uint32_t *inputs;                /* values */
    uint32_t *controls;              /* nodes that come first */
    uint32_t *colocated;             /* nodes with which it shares its device, if that can be */
    const gantry_attr_t *attrs;      /* op->attr_count of them */
    uint32_t input_count, control_count, colocated_count;
    uint32_t first_output, output_count; /* values */
    gantry_tensor_t *tensor;             /* the constant of CONST; a reference of the graph's own */
    /* the variable of READ and ASSIGN; a reference of the graph's own */
    gantry_variable_t *variable;
    gantry_logical_device_t *home; /* for READ and ASSIGN, the device where the variable lives */
    int64_t piece_first;           /* what gantry__infer_t has under this name */
    struct gantry__body_t *bodies; /* the bodies of CASE and WHILE; the graph's own */
    uint32_t body_count;
    gantry__draws_t *draws;   /* the stream of DRAW; a reference of the graph's own */
    uint64_t steps;           /* of DRAW's counter in each call; the limit of WHILE, 0: no limit */
    const char *const *fused; /* names of the nodes that a pass joined in this one */
    uint32_t fused_count;
    const gantry__op_def_t *const *fused_ops; /* the ops of these nodes */
    gantry__apart_t apart;                    /* of a product */
    gantry__marks_t marks;
    const char *recomputes; /* the node whose result it computes again, for a budget; or NULL */
} gantry__node_t;

typedef struct gantry__value_t {
    uint32_t node;
    gantry_dtype_t dtype;
    gantry_shape_t shape; /* a size of -1 depends on data; only EAGER nodes, blocks and results
                             take such a value */
    int64_t elements;     /* -1: depends on data */
    uint64_t bytes;       /* 0: depends on data */
} gantry__value_t;

typedef struct gantry__graph_t {
    const gantry__heap_t *heap;
    gantry__arena_t arena; /* what the nodes point to */
    gantry__node_t *nodes;
    gantry__value_t *values;
    size_t node_count, node_capacity, value_count, value_capacity;
    uint32_t *inputs;  /* values of the INPUT nodes, in order */
    uint32_t *outputs; /* values */
    uint32_t input_count, output_count;
    uint32_t passes_off;     /* GANTRY_PASS_... */
    bool is_laid_out;        /* the layout pass changed it or a body in it */
    bool gave_layout_up;     /* the layout pass is off for a memory budget */
    bool is_never_replayed;  /* the option device_graphs is off */
    bool is_batch_invariant; /* the option batch_invariant is on, in a scope at least */
    const char **dropped;    /* names of the nodes that nothing needed, in their order */
    uint32_t dropped_count;
    const char **cancelled; /* names of the transposes that another order of axes replaces */
    uint32_t cancelled_count;
} gantry__graph_t;

/* A graph inside a node: its inputs are inputs of the node. */
typedef struct gantry__body_t {
    gantry__graph_t graph;
    uint32_t *sources; /* for each input of the graph, the position of an input of the node */
} gantry__body_t;

void gantry__graph_init(gantry__graph_t *graph, const gantry__heap_t *heap);
void gantry__graph_deinit(gantry__graph_t *graph);

/* Appends a node, whose lists are copied, and its output values. dtypes and shapes: of the
 * outputs. Takes over the references to tensor, variable and draws, also when it fails; the bodies
 * when it succeeds. */
gantry_status_t gantry__graph_add(gantry__graph_t *graph, const gantry__node_t *node,
                                  const gantry_dtype_t *dtypes, const gantry_shape_t *shapes,
                                  uint32_t *out_node);

/* The same for a node that is in its place already, graph->nodes[graph->node_count], and whose
 * lists, texts and attributes live as long as the graph. */
gantry_status_t gantry__graph_take_next(gantry__graph_t *graph, const gantry_dtype_t *dtypes,
                                        const gantry_shape_t *shapes, uint32_t *out_node);

/* The op that draws numbers, or the name of a node that assigns a variable, in a graph, or in a
 * node and its bodies; NULL: none. */
const char *gantry__graph_effect(const gantry__graph_t *graph);
const char *gantry__node_effect(const gantry__node_t *node);

/* Whether the node is an op that gives the same results for the same inputs, and does nothing
 * else. */
static inline bool gantry__node_is_pure(const gantry__node_t *node) {
    return node->kind == GANTRY__NODE_OP &&
           !(node->op->flags & (GANTRY__OP_SEQUENCED | GANTRY__OP_VARIABLE));
}

/* Marks the nodes that a result or an assignment depends on. is_needed must have node_count
 * entries, all false. */
void gantry__graph_find_needed(const gantry__graph_t *graph, bool *is_needed);
/* Marks the same nodes, arguments, and nodes that others are colocated with, which decide where
 * these run. */
void gantry__graph_find_kept(const gantry__graph_t *graph, bool *is_kept);

/* Leaves the nodes of `order`, in this order, which is topological. Nodes and values get new
 * numbers. All INPUT nodes, and all on whose values a node of `order` depends, are among them;
 * control inputs that are not fall away. */
gantry_status_t gantry__graph_rebuild(gantry__graph_t *graph, const uint32_t *order, size_t count);

#endif
