/* SPDX-License-Identifier: Apache-2.0 */
/* The saved form of a graph: the bytes of the tensor "gantry.graph", and what is around it.
 *
 *     __metadata__   format "gantry_function", gantry_format "1" or "2", gantry_version, user:KEY
 *     gantry.graph   U8, the rows below
 *     NAME           the elements of a weight: a constant of more than 64 bytes, or a variable
 *
 * Numbers are little-endian and packed. A text is a u16 length, its bytes, and a zero.
 *
 *     graph    "GTRYGRPH", u32 format, table of ops, of weights, of streams, body
 *     ops      u32 count; each: text name, u32 version, u8 count of attributes; each: text name
 *     weights  u32 count; each: text name, u8 flags, type and shape
 *     streams  u32 count; each: u64 counter, counter, key where it begins; the same of the next
 *              draw; u8 flags
 *     body     text name, u8 flags, u32 count of inputs; each: text name, type and shape;
 *              u32 count of outputs; each: text name, u32 value; u32 count of nodes, the nodes
 *     node     u8 kind, u8 flags, text name; with flags: text device, list of controls, list of
 *              colocated; then by kind:
 *       constant  u32 weight; or, with a flag, type and shape, the elements
 *       op        u32 op, list of inputs, u8 count of attributes; each: u8 number in the op's list,
 *                 u8 kind, value
 *       read      u32 weight
 *       assign    u32 weight, u8 mode, u32 value
 *       case      list of inputs, u8 count of bodies, the bodies
 *       while     list of inputs, u64 most steps, two bodies
 *       draw      u32 stream, u64 blocks
 *       join      format 2: text call, list of inputs, u8 count of attributes; each: text name,
 *                 u8 kind, value; a body
 *     list     u32 count, u32 each
 *     type and shape: u8 type, u8 rank, i64 sizes
 *     value of an attribute: i64; f64; text; or u32 count, i64 each
 *
 * Values are numbered in the order of the rows, inputs first; a block's values follow those of its
 * bodies. Names of nodes are not empty, and unique in their body. A new row, flag or meaning is a
 * new format; the reader keeps all old ones. A file has the oldest format that says it.
 *
 * Owner: the caller has what is written. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_SAVED_FORMAT_H
#define GANTRY_FUNCTION_SAVED_FORMAT_H

#include <gantry/saved_function.h>

#include "base/arena.h"
#include "function/build/graph_description.h"
#include "function/call/function.h"
#include "function/saved/saved_cursor.h"

#define GANTRY__SAVED_MAGIC "GTRYGRPH"
#define GANTRY__SAVED_TENSOR "gantry.graph"
#define GANTRY__SAVED_KIND "gantry_function"
#define GANTRY__SAVED_USER "user:"
/* The most bytes of a constant that is a part of the graph. */
#define GANTRY__SAVED_INLINE_BYTES 64

enum {
    GANTRY__SAVED_BATCH_INVARIANT = 1 << 0, /* of a body: its trace had the option */
    GANTRY__SAVED_IS_VARIABLE = 1 << 0,     /* of a weight */
    GANTRY__SAVED_ON_HOST = 1 << 1,         /* of a weight: it was in the host's memory */
    GANTRY__SAVED_RESTARTS = 1 << 0,        /* of a stream: gantry_set_seed begins it again */
    GANTRY__SAVED_HAS_DEVICE = 1 << 0,      /* of a node */
    GANTRY__SAVED_HAS_CONTROLS = 1 << 1,
    GANTRY__SAVED_HAS_COLOCATED = 1 << 2,
    GANTRY__SAVED_IS_INLINE = 1 << 3,        /* of a constant */
    GANTRY__SAVED_REFUSES_GRADIENT = 1 << 4, /* of an op */
    GANTRY__SAVED_ANY_ORDER = 1 << 5         /* of a node */
};

/* A weight: its value is a tensor of the file. */
typedef struct gantry__saved_weight_t {
    const char *name;
    gantry_tensor_t *tensor;     /* a reference to its value; NULL: a variable that was read */
    gantry_variable_t *variable; /* a reference, unless it is written; NULL: a constant */
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    uint32_t flags;
} gantry__saved_weight_t;

/* ---- writing ---- */

/* A graph as bytes, with its weights. */
typedef struct gantry__saved_graph_t {
    const gantry__heap_t *heap;
    gantry__arena_t arena; /* names */
    unsigned char *bytes;
    size_t size, capacity;
    gantry__saved_weight_t *weights;
    size_t weight_count, weight_capacity;
    uint32_t format;
} gantry__saved_graph_t;

/* Writes a graph that does not change. Takes the present values of variables. keeps_rows: the
 * function is batch-invariant, whatever the graph says. The caller must call deinit, also after a
 * failure. */
gantry_status_t gantry__saved_write(const gantry_graph_t *graph, bool keeps_rows,
                                    gantry__saved_graph_t *out);
void gantry__saved_graph_deinit(gantry__saved_graph_t *saved);

/* ---- reading ---- */

typedef struct gantry__saved_op_t {
    const gantry__op_def_t *op;
    const char **attrs; /* names, in the file's order */
    uint32_t attr_count;
} gantry__saved_op_t;

/* What is around the nodes of a body. */
typedef struct gantry__saved_body_t {
    const char *name;
    gantry_input_spec_t *inputs;
    const char **output_names;
    uint32_t *outputs; /* values */
    uint32_t flags, input_count, output_count, node_count;
} gantry__saved_body_t;

/* A graph that is read: what a loaded function keeps. Its traces come from the rows, by
 * saved_record.c, or, where that cannot be, from a description, which is made when it is wanted. */
typedef struct gantry__saved_t {
    gantry_runtime_t *runtime; /* the function's reference */
    gantry__arena_t arena;     /* tables and texts */
    unsigned char *bytes;
    size_t size;
    gantry__saved_op_t *ops;
    gantry__saved_weight_t *weights;
    gantry__draws_t **streams;
    uint32_t op_count, weight_count, stream_count;
    uint32_t format;            /* that of the metadata, and then of the graph: 1 or 2 */
    gantry__saved_body_t body;  /* of the function */
    const unsigned char *nodes; /* where its nodes begin */
    gantry_metadata_t *metadata;
    size_t metadata_count;
    gantry__mutex_t lock;
    gantry_graph_t *graph; /* under lock; NULL: not made yet */
} gantry__saved_t;

/* Gives the reader its weights: fills in of each tensor, or variable where the flags say that it is
 * one; the references are the reader's, also after a failure. It must fail unless each has this
 * type and shape. */
typedef gantry_status_t (*gantry__saved_weights_fn)(void *user, gantry__saved_weight_t *weights,
                                                    uint32_t count);

/* Reads the tables and the signature of saved->bytes, which nobody has checked; the host is open.
 * The caller has made an arena, and must release what is there also after a failure. */
gantry_status_t gantry__saved_read_tables(gantry__saved_t *saved, gantry__saved_weights_fn load,
                                          void *user);
/* Reads what is around the nodes of a body, whose name was taken. */
gantry_status_t gantry__saved_take_body(gantry__saved_cursor_t *cursor, gantry__saved_body_t *body);
/* Reads an attribute of a node; its list is in the cursor's arena. */
gantry_status_t gantry__saved_take_attr(gantry__saved_cursor_t *cursor,
                                        const gantry__saved_op_t *op, gantry_attr_value_t *out);
/* Reads kind and value of an attribute. */
gantry_status_t gantry__saved_take_attr_value(gantry__saved_cursor_t *cursor,
                                              gantry_attr_value_t *out);
/* Reads a constant, of which the caller gets a reference. */
gantry_status_t gantry__saved_take_constant(gantry__saved_cursor_t *cursor,
                                            const gantry__saved_t *saved, uint32_t flags,
                                            gantry_tensor_t **out_tensor);

/* The description of the graph, which saved owns; made once. */
gantry_status_t gantry__saved_describe(gantry__saved_t *saved, gantry_graph_t **out_graph);

/* Records the trace of a function for the sizes of its inputs, without a scope: from the rows,
 * whose shapes are inferred. *out_is_recorded false: its body must run: for open
 * sizes, branches, loops, control inputs, colocations, composed ops, and for all that is not
 * as it should be, whose errors the description has. */
gantry_status_t gantry__saved_record(gantry__saved_t *saved,
                                     gantry__specialization_t *specialization,
                                     bool *out_is_recorded);

#endif
