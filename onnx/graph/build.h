/* SPDX-License-Identifier: Apache-2.0 */
/* Making a graph of the messages of a file: what the files of this room share while they do.
 *
 *     build.c    the model: versions, operator sets, metadata
 *     scope.c    graphs and nodes: names become numbers
 *     inline.c   functions of the model are expanded where they are called
 *     capture.c  what subgraphs read of graphs around them
 *     attr.c, tensor.c, type.c   one of each
 *
 * Owner: the build has its lists, the reader's arenas the rest. Threads: externally
 * synchronised. */
#ifndef GANTRY_ONNX_BUILD_H
#define GANTRY_ONNX_BUILD_H

#include "onnx/graph/graph.h"
#include "onnx/graph/names.h"
#include "onnx/wire/messages.h"

struct gantry__onnx_frame_t;

/* A call of a function of the model that is being expanded. */
typedef struct gantry__onnx_expansion_t {
    const struct gantry__onnx_expansion_t *outer;
    const gantry__onnx_wire_function_t *function;
    size_t attr_count;
    const gantry__onnx_attr_t *attrs; /* of the calling node */
} gantry__onnx_expansion_t;

/* Where names are looked up. */
typedef struct gantry__onnx_frame_t {
    const struct gantry__onnx_frame_t *outer; /* Of a subgraph; NULL: nothing is around it. */
    uint32_t scope, depth;
    gantry__onnx_graph_t *graph;
    size_t first_node;                         /* Of the graph in build->nodes. */
    const gantry__onnx_expansion_t *expansion; /* NULL: not within a function. */
    const gantry__onnx_wire_opset_t *opsets;
    size_t opset_count;
} gantry__onnx_frame_t;

/* A model that is being made. Lists grow by doubling. */
typedef struct gantry__onnx_build_t {
    gantry__onnx_reader_t *reader;
    const gantry__onnx_wire_model_t *message;
    gantry__onnx_graph_model_t *model;
    gantry__onnx_names_t names, functions;
    gantry__onnx_value_info_t *values;
    size_t value_count, value_capacity;
    gantry__onnx_node_t *nodes; /* A stack: those of the graphs that are open. */
    size_t node_count, node_capacity;
    gantry__onnx_graph_t **graphs; /* All, those around others first. */
    size_t graph_count, graph_capacity;
    gantry__onnx_tensor_t **externals; /* All tensors with data elsewhere. */
    size_t external_count, external_capacity;
    uint32_t scopes; /* Numbers of scopes that are given. */
    uint64_t total_nodes;
} gantry__onnx_build_t;

/* Copies a name or another short text. */
gantry_status_t gantry__onnx_copy_name(gantry__onnx_build_t *build, gantry__onnx_bytes_t name,
                                       const char *what, const char **out_text);

/* type.c: *out is zero. most_rank: a declared rank above it is an error; -1: it is not said. */
gantry_status_t gantry__onnx_make_type(gantry__onnx_build_t *build,
                                       const gantry__onnx_wire_type_t *message, bool is_promise,
                                       gantry__onnx_type_t *out);
/* tensor.c */
gantry_status_t gantry__onnx_make_tensor(gantry__onnx_build_t *build,
                                         const gantry__onnx_wire_tensor_t *message,
                                         gantry__onnx_tensor_t **out_tensor);
/* Its sizes, and the count of its elements. */
gantry_status_t gantry__onnx_make_dims(gantry__onnx_build_t *build, const int64_t *sizes,
                                       size_t rank, gantry__onnx_tensor_t *tensor);
/* sparse.c */
gantry_status_t gantry__onnx_make_sparse(gantry__onnx_build_t *build,
                                         const gantry__onnx_wire_sparse_t *message,
                                         gantry__onnx_tensor_t **out_tensor);
/* The place of external data: location.c. */
gantry_status_t gantry__onnx_make_external(gantry__onnx_build_t *build,
                                           const gantry__onnx_wire_tensor_t *message,
                                           gantry__onnx_tensor_t *tensor);
/* attr.c: all attributes of a node; graphs among them are made in the frame. */
gantry_status_t gantry__onnx_make_attrs(gantry__onnx_build_t *build,
                                        const gantry__onnx_frame_t *frame,
                                        const gantry__onnx_wire_node_t *node,
                                        const gantry__onnx_attr_t **out_attrs, size_t *out_count);

/* scope.c: makes a graph; outer NULL: the model's. */
gantry_status_t gantry__onnx_make_graph(gantry__onnx_build_t *build,
                                        const gantry__onnx_wire_graph_t *message,
                                        const gantry__onnx_frame_t *outer,
                                        gantry__onnx_graph_t **out_graph);
/* Makes a node at the end of the frame's graph, or expands a function. */
gantry_status_t gantry__onnx_make_node(gantry__onnx_build_t *build, gantry__onnx_frame_t *frame,
                                       const gantry__onnx_wire_node_t *message, size_t index);
/* Finds a name that a node reads; "" is NO_VALUE. InvalidArgument if nothing made it. */
gantry_status_t gantry__onnx_look_up(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                     gantry__onnx_bytes_t name, const char *what,
                                     gantry__onnx_value_t *out_value);
/* Gives a name of the frame a number that is there. */
gantry_status_t gantry__onnx_bind(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                  gantry__onnx_bytes_t name, gantry__onnx_value_t value,
                                  const char *what);
/* Makes a value of this name. */
gantry_status_t gantry__onnx_define(gantry__onnx_build_t *build, const gantry__onnx_frame_t *frame,
                                    gantry__onnx_bytes_t name, const char *what,
                                    gantry__onnx_source_t source, gantry__onnx_value_t *out_value);
/* Types that are declared for values of the frame. */
gantry_status_t gantry__onnx_add_hints(gantry__onnx_build_t *build,
                                       const gantry__onnx_frame_t *frame,
                                       const gantry__onnx_wire_value_info_t *infos, size_t count);
/* version.c: the version that a list imports for a domain; 0: none. */
int64_t gantry__onnx_imported(const gantry__onnx_wire_opset_t *opsets, size_t count,
                              gantry__onnx_bytes_t domain);
/* "ai.onnx" is "". */
gantry__onnx_bytes_t gantry__onnx_domain(gantry__onnx_bytes_t domain);
/* Checks a list of imports. */
gantry_status_t gantry__onnx_check_opsets(const gantry__onnx_reader_t *reader,
                                          const gantry__onnx_wire_opset_t *opsets, size_t count);

/* inline.c: enters the functions of the model. */
gantry_status_t gantry__onnx_add_functions(gantry__onnx_build_t *build);
/* The function that a node calls; *out_function NULL: none. */
gantry_status_t gantry__onnx_find_function(gantry__onnx_build_t *build,
                                           const gantry__onnx_wire_node_t *node,
                                           const gantry__onnx_wire_function_t **out_function);
gantry_status_t gantry__onnx_expand(gantry__onnx_build_t *build, gantry__onnx_frame_t *frame,
                                    const gantry__onnx_wire_node_t *node,
                                    const gantry__onnx_wire_function_t *function);

/* capture.c: the captures of all graphs. */
gantry_status_t gantry__onnx_make_captures(gantry__onnx_build_t *build);

/* build.c: reads the reader's bytes. The model is in its arena; *out_externals, which the caller
 * frees, are the tensors whose data are in other files. */
gantry_status_t gantry__onnx_build_model(gantry__onnx_reader_t *reader,
                                         const gantry__onnx_graph_model_t **out_model,
                                         gantry__onnx_tensor_t ***out_externals,
                                         size_t *out_external_count);

#endif
