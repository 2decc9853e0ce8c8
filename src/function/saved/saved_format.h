/* SPDX-License-Identifier: Apache-2.0 */
/* The saved form of a graph: the bytes of the tensor "gantry.graph", and what is around it.
 *
 *     __metadata__   format "gantry_function", gantry_format "1", gantry_version, user:KEY
 *     gantry.graph   U8, the rows below
 *     NAME           the elements of a weight: a constant of more than 64 bytes, or a variable
 *
 * Numbers are little-endian and packed. A text is a u16 length, its bytes, and a zero.
 *
 *     graph    "GTRYGRPH", u32 format, u8 flags, table of ops, of weights, of streams, body
 *     ops      u32 count; each: text name, u32 version, u8 count of attributes; each: text name
 *     weights  u32 count; each: text name, u8 flags, type and shape
 *     streams  u32 count; each: u64 counter, counter, key where it begins; the same of the next
 *              draw; u8 flags
 *     body     text name, u32 count of nodes, the nodes, u32 count of outputs; each: text name,
 *              u32 value
 *     node     u8 kind, u8 flags, text name; with flags: text device, list of controls, list of
 *              colocated; then by kind:
 *       input     type and shape
 *       constant  u32 weight; or, with a flag, type and shape, the elements
 *       op        u32 op, list of inputs, u8 count of attributes; each: u8 number in the op's list,
 *                 u8 kind, value
 *       read      u32 weight
 *       assign    u32 weight, u8 mode, u32 value
 *       case      list of inputs, u8 count of bodies, the bodies
 *       while     list of inputs, u64 most steps, two bodies
 *       draw      u32 stream, u64 blocks
 *     list     u32 count, u32 each
 *     type and shape: u8 type, u8 rank, i64 sizes
 *     value of an attribute: i64; f64; text; or u32 count, i64 each
 *
 * Values are numbered in the order of the rows; a block's values follow those of its bodies. A new
 * row, flag or meaning is a new format; the reader keeps all old ones.
 *
 * Owner: the caller has what is written. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_SAVED_FORMAT_H
#define GANTRY_FUNCTION_SAVED_FORMAT_H

#include <gantry/saved_function.h>

#include "base/arena.h"
#include "base/id_map.h"
#include "function/build/graph_description.h"

#define GANTRY__SAVED_MAGIC "GTRYGRPH"
#define GANTRY__SAVED_TENSOR "gantry.graph"
#define GANTRY__SAVED_KIND "gantry_function"
#define GANTRY__SAVED_USER "user:"
/* The most bytes of a constant that is a part of the graph. */
#define GANTRY__SAVED_INLINE_BYTES 64

enum {
    GANTRY__SAVED_BATCH_INVARIANT = 1 << 0, /* of the graph: the option of its function was on */
    GANTRY__SAVED_IS_VARIABLE = 1 << 0,     /* of a weight */
    GANTRY__SAVED_ON_HOST = 1 << 1,         /* of a weight: it was in the host's memory */
    GANTRY__SAVED_RESTARTS = 1 << 0,        /* of a stream: gantry_set_seed begins it again */
    GANTRY__SAVED_HAS_DEVICE = 1 << 0,      /* of a node */
    GANTRY__SAVED_HAS_CONTROLS = 1 << 1,
    GANTRY__SAVED_HAS_COLOCATED = 1 << 2,
    GANTRY__SAVED_IS_INLINE = 1 << 3 /* of a constant */
};

/* A weight: its value is a tensor of the file. */
typedef struct gantry__saved_weight_t {
    const char *name;
    gantry_tensor_t *tensor;     /* a reference to its value */
    gantry_variable_t *variable; /* no reference; NULL: a constant */
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    uint32_t flags;
} gantry__saved_weight_t;

/* A graph as bytes, with its weights. */
typedef struct gantry__saved_graph_t {
    const gantry__heap_t *heap;
    gantry__arena_t arena; /* names */
    unsigned char *bytes;
    size_t size, capacity;
    gantry__saved_weight_t *weights;
    size_t weight_count, weight_capacity;
} gantry__saved_graph_t;

/* Writes a graph that does not change, with its flags. Takes the present values of variables. The
 * caller must call deinit, also after a failure. */
gantry_status_t gantry__saved_write(const gantry_graph_t *graph, uint32_t flags,
                                    gantry__saved_graph_t *out);
void gantry__saved_graph_deinit(gantry__saved_graph_t *saved);

/* Gives the reader a weight: fills in tensor, and variable where the flags say that it is one; the
 * references are the reader's. It must fail unless the weight has this type and shape. */
typedef gantry_status_t (*gantry__saved_weight_fn)(void *user, gantry__saved_weight_t *weight);

/* Reads a graph, and its flags, from bytes that nobody has checked. */
gantry_status_t gantry__saved_read(gantry_runtime_t *runtime, const unsigned char *bytes,
                                   size_t size, gantry__saved_weight_fn load, void *user,
                                   gantry_graph_t **out_graph, uint32_t *out_flags);

#endif
