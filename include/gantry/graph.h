/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Graphs from outside: functions that are built of nodes, without a body. For importers (ONNX,
 * StableHLO and others), tools and saved functions.
 *
 * A graph is a description: nodes with names, and the values between them. It has no types and
 * shapes of results, which each trace of its function infers. A node must use only values that were
 * there before it, of its graph or of a graph around it; nodes run in the order in which they were
 * added, where the order matters: reads and assignments of variables, draws. Branches and loops
 * have subgraphs, which the graph owns.
 *
 *     gantry_graph_create(runtime, "affine", &graph);
 *     gantry_graph_add_input(graph, &(gantry_input_spec_t){"x", GANTRY_FLOAT32, shape}, &x);
 *     gantry_graph_add_constant(graph, "weights", weights, &w);
 *     gantry_graph_add_node(graph, &product, &y, &count);
 *     gantry_graph_add_output(graph, "y", y);
 *     gantry_function_from_graph(graph, NULL, &function);
 *
 * What a graph can know is checked at once: ops, attributes, counts, values. Types and shapes are
 * checked when the function is traced, with the node's name in the message.
 *
 * Names may be any text of up to GANTRY_MAX_GRAPH_TEXT bytes, also several times the same one; the
 * nodes of a trace have unique names made of them. NULL and "" are no name.
 *
 * Owner: the caller that created a graph releases it; texts and lists that are read from it are the
 * graph's. Threads: externally synchronised; a graph of a function does not change, and any thread
 * may read it. */
#ifndef GANTRY_GRAPH_H
#define GANTRY_GRAPH_H

#include <gantry/function.h>
#include <gantry/op.h>
#include <gantry/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A graph, or a subgraph of one. */
typedef struct gantry_graph_t gantry_graph_t;

/** A value of a graph: what a node makes. Its number is unique in the graph with all its
 * subgraphs. */
typedef uint32_t gantry_graph_value_t;

/** The most bytes of a name, and of a key of metadata. */
#define GANTRY_MAX_GRAPH_TEXT 65535
/** The most subgraphs of one branch. */
#define GANTRY_MAX_GRAPH_BRANCHES 64

/** Creates an empty graph. name NULL: "graph"; it is the name of its functions. */
GANTRY_API gantry_status_t gantry_graph_create(gantry_runtime_t *runtime, const char *name,
                                               gantry_graph_t **out_graph);
/** Adds a reference, which gantry_graph_release ends, and returns the graph; NULL for NULL. A
 * subgraph is not counted: it lives as long as its graph. */
GANTRY_API gantry_graph_t *gantry_graph_retain(gantry_graph_t *graph);
/** Releases a reference; NULL, and a subgraph, do no harm. */
GANTRY_API void gantry_graph_release(gantry_graph_t *graph);

/* ---- making: FailedPrecondition once a function is made of the graph, and for a subgraph that a
 * branch, a loop or another node has ---- */

/** Adds an input, in the order of calls. Of a subgraph, the inputs are those that its branch or
 * loop gives; dtype GANTRY_DTYPE_NONE takes each of them, and another one, with its shape, is
 * checked in each trace. */
GANTRY_API gantry_status_t gantry_graph_add_input(gantry_graph_t *graph,
                                                  const gantry_input_spec_t *spec,
                                                  gantry_graph_value_t *out_value);
/** Adds a tensor with elements, of which the graph keeps a reference: weights that are bound once.
 * name may be NULL. */
GANTRY_API gantry_status_t gantry_graph_add_constant(gantry_graph_t *graph, const char *name,
                                                     const gantry_tensor_t *tensor,
                                                     gantry_graph_value_t *out_value);
/** Adds a read of a variable, of which the graph keeps a reference. name may be NULL. */
GANTRY_API gantry_status_t gantry_graph_add_read(gantry_graph_t *graph, const char *name,
                                                 gantry_variable_t *variable,
                                                 gantry_graph_value_t *out_value);

/** What an assignment does with its value. */
typedef enum gantry_assign_mode_t {
    GANTRY_ASSIGN_SET = 0, /**< The variable becomes the value. */
    GANTRY_ASSIGN_ADD = 1, /**< The value is added to it. */
    GANTRY_ASSIGN_SUB = 2  /**< The value is subtracted from it. */
} gantry_assign_mode_t;

/** Adds an assignment to a variable, of which the graph keeps a reference. name may be NULL. */
GANTRY_API gantry_status_t gantry_graph_add_assign(gantry_graph_t *graph, const char *name,
                                                   gantry_variable_t *variable,
                                                   gantry_assign_mode_t mode,
                                                   gantry_graph_value_t value);

/** A node of an op, a branch or a loop. Fields that stay 0 say nothing. */
typedef struct gantry_graph_node_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** The op's name, as for gantry_op_call: "MatMul". Of a branch or a loop NULL; of
     * gantry_graph_add_join the call's name. */
    const char *op;
    const char *name;                   /**< Its name; NULL: the op's. */
    const char *device;                 /**< A request, as for gantry_scope_begin; NULL: none. */
    const gantry_graph_value_t *inputs; /**< Its inputs. */
    size_t input_count;                 /**< Entries of inputs. */
    const gantry_attr_value_t *attrs;   /**< Attributes of an op, which are copied. */
    size_t attr_count;                  /**< Entries of attrs. */
    /** The node runs after the nodes that make these values. */
    const gantry_graph_value_t *controls;
    size_t control_count; /**< Entries of controls. */
    /** The node runs on the device of the nodes that make these values, as in
     * gantry_scope_begin_with. */
    const gantry_graph_value_t *colocated;
    size_t colocated_count; /**< Entries of colocated. */
    /** Of an op: a gradient through it is Unimplemented, with the node's name. A description of a
     * trace has it where the body gave a gradient of its own (gantry_custom_gradient), which a
     * graph does not have. A graph that is made without it has the gradients of its ops. */
    bool refuses_gradient;
    bool any_order; /**< It runs with the option any_order, as gantry_scope_set_any_order. */
} gantry_graph_node_t;

/** Adds an op. On entry *output_count is the room in outputs, on return the number of the op's
 * outputs, which may follow from an attribute; their values follow each other. outputs may be NULL
 * if there is no room. Ops of variables, and Const, have calls of their own. */
GANTRY_API gantry_status_t gantry_graph_add_node(gantry_graph_t *graph,
                                                 const gantry_graph_node_t *node,
                                                 gantry_graph_value_t *outputs,
                                                 size_t *output_count);
/** Adds a subgraph, for a branch or a loop that is added to this graph later. It may use values of
 * this graph and of those around it. name may be NULL. ResourceExhausted inside
 * GANTRY_MAX_NESTING subgraphs. */
GANTRY_API gantry_status_t gantry_graph_add_subgraph(gantry_graph_t *graph, const char *name,
                                                     gantry_graph_t **out_subgraph);
/** Adds a branch. inputs[0] of the node selects the subgraph: an int32 of one element its number,
 * as gantry_case; a bool, as gantry_cond, the first of two for true. The others are the inputs of
 * each subgraph. All subgraphs have as many inputs and outputs; they are of this graph, and in no
 * other branch or loop. outputs gets as many values as they have outputs, and may be NULL if these
 * are none. */
GANTRY_API gantry_status_t gantry_graph_add_case(
    gantry_graph_t *graph, const gantry_graph_node_t *node, gantry_graph_t *const *subgraphs,
    size_t subgraph_count, gantry_graph_value_t *outputs, size_t output_count);
/** Adds a loop, as gantry_while. The node's inputs are the first values of the loop's variables;
 * condition and body have as many inputs, condition one output, a bool, and body as many outputs as
 * inputs. most_steps: a loop of more steps fails; 0: no limit. outputs gets input_count values. */
GANTRY_API gantry_status_t gantry_graph_add_while(gantry_graph_t *graph,
                                                  const gantry_graph_node_t *node,
                                                  gantry_graph_t *condition, gantry_graph_t *body,
                                                  uint64_t most_steps,
                                                  gantry_graph_value_t *outputs);
/** Adds a node whose elements body joins (gantry/join.h). The node's op names the call: "Reduce",
 * "ReduceWindow", "Scan", "Scatter" or "ScatterElements". Its inputs are the call's operands, then
 * inits, which Scan may lack, or indices and updates; its attributes are the other arguments and
 * the options of the call, by their names. body has two inputs for each operand, the left elements
 * and then the right ones, whose types and shapes are best left out, and an output for each, as
 * has the node. It is called with tensors of many elements. */
GANTRY_API gantry_status_t gantry_graph_add_join(gantry_graph_t *graph,
                                                 const gantry_graph_node_t *node,
                                                 gantry_graph_t *body,
                                                 gantry_graph_value_t *outputs);
/** Adds an output, in the order of calls. A value may be several outputs. name may be NULL. */
GANTRY_API gantry_status_t gantry_graph_add_output(gantry_graph_t *graph, const char *name,
                                                   gantry_graph_value_t value);
/** Sets a text of metadata under a key, which is not empty; it replaces the former one. text NULL
 * removes it. Only a graph, not a subgraph, has metadata. */
GANTRY_API gantry_status_t gantry_graph_set_metadata(gantry_graph_t *graph, const char *key,
                                                     const char *text);

/* ---- functions ---- */

/** Makes a function of a graph, with the graph's name, inputs, outputs and metadata, as
 * gantry_function_trace makes one of a body. The function keeps a reference; the graph does not
 * change from now on, and several functions may be made of it. options may be NULL.
 *
 * InvalidArgument for a subgraph, and for a graph with a subgraph that no branch or loop has; else
 * as gantry_function_trace. */
GANTRY_API gantry_status_t gantry_function_from_graph(gantry_graph_t *graph,
                                                      const gantry_function_options_t *options,
                                                      gantry_function_t **out_function);
/** The graph of a function, of which the caller gets a reference. Of a function that was made of a
 * graph, it is that one. Else it describes what the newest trace recorded, before any pass: for
 * this, the body runs once more in a trace of the same sizes, whose sizes are those of the inputs;
 * a size that was open there is GANTRY_OPEN_SIZE. Constants, variables and the streams of draws are
 * held by reference; the graph is batch-invariant as that trace is.
 *
 * The graph has no tags for memory reports. Where the program gave a gradient
 * (gantry_custom_gradient), it refuses one: refuses_gradient. FailedPrecondition before the first
 * trace, and if the body draws numbers without a seed where that trace has no such draw;
 * Unimplemented, with the node's name, for what a graph cannot say. */
GANTRY_API gantry_status_t gantry_function_get_graph(gantry_function_t *function,
                                                     gantry_graph_t **out_graph);

/* ---- reading ---- */

/** Kinds of nodes. */
typedef enum gantry_graph_kind_t {
    GANTRY_GRAPH_INPUT = 0,    /**< An input. */
    GANTRY_GRAPH_CONSTANT = 1, /**< A tensor. */
    GANTRY_GRAPH_OP = 2,       /**< An op. */
    GANTRY_GRAPH_READ = 3,     /**< A read of a variable. */
    GANTRY_GRAPH_ASSIGN = 4,   /**< An assignment to a variable. */
    GANTRY_GRAPH_CASE = 5,     /**< A branch. */
    GANTRY_GRAPH_WHILE = 6,    /**< A loop. */
    /** A draw of a function that was traced: key, uint64[1], and counter, uint64[2], of the next
     * numbers of a stream. */
    GANTRY_GRAPH_DRAW = 7,
    GANTRY_GRAPH_JOIN = 8 /**< A call whose elements a subgraph joins. */
} gantry_graph_kind_t;

/** A node, as a graph has it. */
typedef struct gantry_graph_node_info_t {
    uint32_t struct_size;     /**< Its sizeof. */
    gantry_graph_kind_t kind; /**< What it is. */
    /** Its op, attributes (those that were given), name ("" without one) and lists. The texts of op
     * and name are never NULL. */
    gantry_graph_node_t node;
    gantry_graph_value_t first_output; /**< The first of its values. */
    size_t output_count;               /**< How many there are. */
    gantry_dtype_t dtype;              /**< Of an input. */
    gantry_shape_t shape;              /**< Of an input, as it was given. */
    const gantry_tensor_t *tensor;     /**< Of a constant; else NULL. */
    gantry_variable_t *variable;       /**< Of a read and an assignment; else NULL. */
    gantry_assign_mode_t mode;         /**< Of an assignment. */
    /** Of a branch and of a joining node; of a loop the condition, then the body. */
    gantry_graph_t *const *subgraphs;
    size_t subgraph_count; /**< Entries of subgraphs. */
    uint64_t most_steps;   /**< Of a loop. */
} gantry_graph_node_info_t;

/** Its name, "" for NULL and for a subgraph without one. */
GANTRY_API const char *gantry_graph_name(const gantry_graph_t *graph);
/** The number of its nodes, inputs among them, without those of subgraphs. */
GANTRY_API size_t gantry_graph_node_count(const gantry_graph_t *graph);
/** Reads the node with this index, in the order in which they were added. out_info->struct_size
 * must be set. */
GANTRY_API gantry_status_t gantry_graph_get_node(const gantry_graph_t *graph, size_t index,
                                                 gantry_graph_node_info_t *out_info);
/** The number of inputs. */
GANTRY_API size_t gantry_graph_input_count(const gantry_graph_t *graph);
/** Reads an input: its signature, and its value. Both may be NULL. */
GANTRY_API gantry_status_t gantry_graph_get_input(const gantry_graph_t *graph, size_t index,
                                                  gantry_input_spec_t *out_spec,
                                                  gantry_graph_value_t *out_value);
/** The number of outputs. */
GANTRY_API size_t gantry_graph_output_count(const gantry_graph_t *graph);
/** Reads an output: its name, "" without one, and its value. Both may be NULL. */
GANTRY_API gantry_status_t gantry_graph_get_output(const gantry_graph_t *graph, size_t index,
                                                   const char **out_name,
                                                   gantry_graph_value_t *out_value);
/** The number of texts of metadata. */
GANTRY_API size_t gantry_graph_metadata_count(const gantry_graph_t *graph);
/** Reads a text of metadata with its key, in the order in which keys were first set. */
GANTRY_API gantry_status_t gantry_graph_get_metadata(const gantry_graph_t *graph, size_t index,
                                                     const char **out_key, const char **out_text);

#ifdef __cplusplus
}
#endif
#endif
