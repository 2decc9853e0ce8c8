/* SPDX-License-Identifier: Apache-2.0 */
/* A trace: the graph of a function while its body runs in a recording scope.
 *
 * run/trace_hooks.h records into it. Owner: the call that traces. Threads: a trace belongs to the
 * thread that runs the body. */
#ifndef GANTRY_FUNCTION_TRACE_H
#define GANTRY_FUNCTION_TRACE_H

#include "base/id_map.h"
#include "function/trace/draw_list.h"
#include "function/trace/graph.h"
#include "run/scope_state.h"

/* Nodes that come before all nodes of a scope, in addition to those of the outer scopes. */
typedef struct gantry__controls_t {
    const struct gantry__controls_t *outer;
    uint32_t count;
    uint32_t nodes[];
} gantry__controls_t;

/* A value of the outer trace that a body uses, and the input of the body that has its value. */
typedef struct gantry__trace_capture_t {
    uint32_t outer, inner;
} gantry__trace_capture_t;

/* What bodies of branches and loops get as user data, which an observer of the trace may run
 * again: it ends with the outermost trace. */
typedef struct gantry__trace_kept_t {
    struct gantry__trace_kept_t *next;
    void (*release)(struct gantry__trace_kept_t *kept);
} gantry__trace_kept_t;

typedef struct gantry__trace_t {
    struct gantry__trace_t *outer; /* of the body of a branch or a loop; NULL: of a function */
    gantry__trace_capture_t *captures;
    size_t capture_count, capture_capacity;
    uint64_t id; /* unique in the runtime; not 0 */
    gantry_runtime_t *runtime;
    gantry__graph_t *graph;
    gantry__id_map_t names;    /* by hash: how often a name was requested */
    gantry__id_map_t captured; /* by tensor: its value + 1 */
    gantry__id_map_t last_use; /* by variable: its last node + 1 */
    gantry__id_map_t knowable; /* by value + 1: its place in known + 2; 1: it is not known */
    gantry_tensor_t **known;   /* values that constants decide; references of the trace's own */
    size_t known_count, known_capacity;
    gantry__trace_kept_t *kept;   /* of the outermost trace */
    gantry__trace_draws_t *draws; /* of the outermost trace; NULL: they are not listed */
} gantry__trace_t;

void gantry__trace_init(gantry__trace_t *trace, gantry_runtime_t *runtime, gantry__graph_t *graph,
                        gantry__trace_t *outer);
void gantry__trace_deinit(gantry__trace_t *trace);

/* Keeps the object until the outermost trace of the scope ends, and then calls its release. */
void gantry__trace_keep(const gantry_scope_t *scope, gantry__trace_kept_t *kept);

/* Ops of the scope come after those that made the tensors, which the trace must know; the caller
 * restores scope->related. */
gantry_status_t gantry__trace_follow(gantry_scope_t *scope, const gantry_tensor_t *const *tensors,
                                     size_t count);
/* Ops of the scope, which has no request, run on the device of the op that made the tensor, as
 * gantry_scope_begin_with; the caller restores scope->related, wish and chooser. */
gantry_status_t gantry__scope_colocate(gantry_scope_t *scope, const gantry_tensor_t *tensor);

/* Adds an argument of the function; the symbolic tensor belongs to the scope. name "": one is
 * made. */
gantry_status_t gantry__trace_input(gantry_scope_t *scope, const char *name, gantry_dtype_t dtype,
                                    const gantry_shape_t *shape,
                                    const gantry_tensor_t **out_tensor);
/* Gives the node the scope's request, which a device function may choose, and its colocations.
 * dtypes: of its outputs. */
gantry_status_t gantry__trace_ask_scope(const gantry_scope_t *scope, gantry__node_t *node,
                                        const gantry_dtype_t *dtypes);
/* The value of a tensor that an op of the scope takes: a symbolic one's own, or a constant's. */
gantry_status_t gantry__trace_value(const gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                    uint32_t *out_value);

/* The only result of a pure node of these inputs, run at once with the node's request; the scope
 * owns it. NULL: it failed. */
const gantry_tensor_t *gantry__node_compute(gantry_scope_t *scope, const gantry__node_t *node,
                                            const gantry_tensor_t *const *inputs);

/* Releases what gantry__trace_known computed. */
void gantry__trace_forget_known(gantry__trace_t *trace);

/* Adds a branch or a loop, with the scope's request, tag, name and control inputs. It follows the
 * last uses of the variables that its bodies use. */
gantry_status_t gantry__trace_block(gantry_scope_t *scope, gantry__node_t *node,
                                    const gantry_dtype_t *dtypes, const gantry_shape_t *shapes,
                                    const gantry_tensor_t **outputs);

#endif
