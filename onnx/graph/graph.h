/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX graph in memory: what a file, or another reader, says, with names resolved. Values have
 * numbers that are unique in the model with all its subgraphs, so that a table is indexed by them.
 * Functions of the model are expanded. Texts end with a zero and have none inside; elements of
 * tensors stay where they are, in the file's bytes.
 *
 * Owner: the model's arena has everything; the bytes of tensors are those of the file, which must
 * live as long. Threads: does not change once it is made, and any thread may read it then. */
#ifndef GANTRY_ONNX_GRAPH_H
#define GANTRY_ONNX_GRAPH_H

#include <gantry/gantry.h>

#include "onnx/base/bytes.h"

/* A value's number. */
typedef uint32_t gantry__onnx_value_t;
/* An input or output that a node leaves out (""). */
#define GANTRY__ONNX_NO_VALUE UINT32_MAX

/* Where a tensor has its elements. */
typedef enum gantry__onnx_data_t {
    GANTRY__ONNX_NO_DATA = 0,  /* It has no elements. */
    GANTRY__ONNX_RAW = 1,      /* raw: little-endian, packed. */
    GANTRY__ONNX_NUMBERS = 2,  /* A field of numbers: raw is made of them, in the arena. */
    GANTRY__ONNX_STRINGS = 3,  /* texts. */
    GANTRY__ONNX_EXTERNAL = 4, /* A file of the model's folder. */
    GANTRY__ONNX_SPARSE = 5    /* values at indices. */
} gantry__onnx_data_t;

/* A tensor of the file. */
typedef struct gantry__onnx_tensor_t {
    const char *name;
    int32_t type; /* ONNX's number: 1 float32, 7 int64, ... */
    uint32_t rank;
    const int64_t *dims;
    int64_t count; /* Elements. */
    gantry__onnx_data_t data;
    gantry__onnx_bytes_t raw;
    const gantry__onnx_bytes_t *texts;
    const char *location; /* EXTERNAL: a relative path, checked. */
    uint64_t offset;
    uint64_t bytes;
    uint64_t length; /* EXTERNAL: of its data in the file, bytes or more. */
    const struct gantry__onnx_tensor_t *values, *indices; /* SPARSE. */
} gantry__onnx_tensor_t;

/* A dimension of a declared shape. */
typedef struct gantry__onnx_dim_t {
    int64_t size;     /* -1: not said. */
    const char *name; /* dim_param; NULL: none. */
} gantry__onnx_dim_t;

/* Kinds of types. */
typedef enum gantry__onnx_kind_t {
    GANTRY__ONNX_UNTYPED = 0,
    GANTRY__ONNX_TENSOR = 1,
    GANTRY__ONNX_SEQUENCE = 4,
    GANTRY__ONNX_MAP = 5,
    GANTRY__ONNX_OPAQUE = 7,
    GANTRY__ONNX_SPARSE_TENSOR = 8,
    GANTRY__ONNX_OPTIONAL = 9
} gantry__onnx_kind_t;

/* A declared type, a hint for all values but inputs of the model. */
typedef struct gantry__onnx_type_t {
    gantry__onnx_kind_t kind;
    int32_t element; /* ONNX's number; 0: not said. */
    int32_t rank;    /* -1: not said. */
    const gantry__onnx_dim_t *dims;
    const struct gantry__onnx_type_t *inner; /* Of a sequence and an optional. */
} gantry__onnx_type_t;

struct gantry__onnx_graph_t;

/* Kinds of attributes: ONNX's numbers. */
typedef enum gantry__onnx_attr_kind_t {
    GANTRY__ONNX_FLOAT = 1,
    GANTRY__ONNX_INT = 2,
    GANTRY__ONNX_STRING = 3,
    GANTRY__ONNX_TENSOR_ATTR = 4,
    GANTRY__ONNX_GRAPH = 5,
    GANTRY__ONNX_FLOATS = 6,
    GANTRY__ONNX_INTS = 7,
    GANTRY__ONNX_STRING_LIST = 8,
    GANTRY__ONNX_TENSORS = 9,
    GANTRY__ONNX_GRAPHS = 10,
    GANTRY__ONNX_SPARSE_ATTR = 11,
    GANTRY__ONNX_SPARSES = 12,
    GANTRY__ONNX_TYPE = 13,
    GANTRY__ONNX_TYPES = 14
} gantry__onnx_attr_kind_t;

/* An attribute of a node. A single value is the first of its list. */
typedef struct gantry__onnx_attr_t {
    const char *name;
    gantry__onnx_attr_kind_t kind;
    size_t count; /* Entries of the list below that kind chooses. */
    const float *floats;
    const int64_t *ints;
    const gantry__onnx_bytes_t *texts;
    const gantry__onnx_tensor_t *const *tensors; /* Sparse ones, too. */
    const struct gantry__onnx_graph_t *const *graphs;
    const gantry__onnx_type_t *type;
    const char *refers_to; /* Inside a function of the model until it is expanded. */
} gantry__onnx_attr_t;

/* A node. */
typedef struct gantry__onnx_node_t {
    const char *name;   /* "" without one. */
    const char *op;     /* "Conv". */
    const char *domain; /* "" is ai.onnx. */
    const char *overload;
    uint32_t index;  /* Its position in its graph. */
    int64_t version; /* Of the operator set that the model imports for the domain. */
    size_t input_count, output_count, attr_count;
    const gantry__onnx_value_t *inputs; /* Those at the end that are left out are cut off. */
    const gantry__onnx_value_t *outputs;
    const gantry__onnx_attr_t *attrs;
} gantry__onnx_node_t;

/* Who makes a value. */
typedef enum gantry__onnx_source_t {
    GANTRY__ONNX_FROM_INPUT = 0,
    GANTRY__ONNX_FROM_TENSOR = 1, /* An initializer. */
    GANTRY__ONNX_FROM_NODE = 2
} gantry__onnx_source_t;

/* What is known of a value. */
typedef struct gantry__onnx_value_info_t {
    const char *name;
    gantry__onnx_source_t source;
    const struct gantry__onnx_graph_t *graph; /* The graph that has it. */
    uint32_t node;                            /* FROM_NODE: the index of its node. */
    uint32_t uses;                            /* Nodes that read it, and outputs of graphs. */
    /* An initializer; an input that has one takes it where the caller gives no value. */
    const gantry__onnx_tensor_t *tensor;
    gantry__onnx_type_t type; /* As declared. */
} gantry__onnx_value_info_t;

/* A graph, or a subgraph. */
typedef struct gantry__onnx_graph_t {
    const char *name;
    const struct gantry__onnx_graph_t *parent;
    uint32_t index; /* Its number among the graphs of the model. */
    size_t node_count, input_count, output_count, capture_count;
    const gantry__onnx_node_t *nodes;
    const gantry__onnx_value_t *inputs; /* Without those of IR 3 that are only initializers. */
    const gantry__onnx_value_t *outputs;
    /* Values of graphs around it that it, or a subgraph of it, reads. */
    const gantry__onnx_value_t *captures;
} gantry__onnx_graph_t;

/* An imported operator set. */
typedef struct gantry__onnx_opset_t {
    const char *domain;
    int64_t version;
} gantry__onnx_opset_t;

/* A text of metadata. */
typedef struct gantry__onnx_property_t {
    const char *key, *text;
} gantry__onnx_property_t;

/* A model. */
typedef struct gantry__onnx_graph_model_t {
    const char *path; /* For messages: "model.onnx". */
    int64_t ir_version, model_version;
    const char *producer, *producer_version, *domain, *text;
    const gantry__onnx_graph_t *graph;
    size_t graph_count, value_count, opset_count, property_count;
    const gantry__onnx_value_info_t *values; /* By number. */
    const gantry__onnx_opset_t *opsets;
    const gantry__onnx_property_t *properties;
    uint64_t work; /* Steps of reading it; tests compare them with the bytes. */
} gantry__onnx_graph_model_t;

/* The attribute of this name; NULL: it is not given. */
const gantry__onnx_attr_t *gantry__onnx_find_attr(const gantry__onnx_node_t *node,
                                                  const char *name);
/* Gantry's type of an ONNX number; GANTRY_DTYPE_NONE: there is none. *out_name, which may be NULL,
 * is ONNX's name: "FLOAT", or "type 99". */
gantry_dtype_t gantry__onnx_dtype(int32_t type, const char **out_name);
/* Gantry's type of a tensor's elements, as onnx/file/read.h gives them: gantry__onnx_dtype,
 * and for integers of 2 and 4 bits, which Gantry does not have, int8 and uint8.
 * GANTRY_DTYPE_NONE: there is none (texts, some types of 8 bits and less). */
gantry_dtype_t gantry__onnx_stored_dtype(int32_t type);
/* The bytes of a text's beginning that has at most so many of them and ends with a whole
 * character. */
size_t gantry__onnx_cut(const char *text, size_t most);
/* Writes "node 'Conv_12' (Conv, opset 12)", or "node 12 of the graph (...)" without a name. An op
 * of another domain than ai.onnx has it in front: "com.microsoft.FusedConv". */
void gantry__onnx_describe_node(const gantry__onnx_node_t *node, char *text, size_t size);

#endif
