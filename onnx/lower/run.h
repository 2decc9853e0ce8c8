/* SPDX-License-Identifier: Apache-2.0 */
/* One lowering of a model: the values so far, where known ones are computed, why it failed. The
 * model begins one for each trace, and for each run that goes op by op.
 *
 * A value is known if it is made of constants, of sizes and of other known values: it has elements
 * in a trace, too, and its node is computed on the host at once.
 *
 * Owner: a run has references to constants until it ends; its host scope has the known values.
 * Threads: a run belongs to one thread. */
#ifndef GANTRY_ONNX_RUN_H
#define GANTRY_ONNX_RUN_H

#include "onnx/lower/constants.h"
#include "onnx/lower/lower.h"

/* All inputs of a node, and none of them. */
#define GANTRY__ONNX_ALL_INPUTS SIZE_MAX
#define GANTRY__ONNX_NO_INPUT (SIZE_MAX - 1)

/* A run. */
struct gantry__onnx_run_t {
    gantry__onnx_constants_t *constants;
    gantry_scope_t *host;
    gantry_scope_t *scope;              /* Of the nodes of the model's graph. */
    bool is_eager;                      /* Its scope computes at once. */
    const gantry_tensor_t **values;     /* By number; NULL: not made yet. */
    uint8_t *flags;                     /* By number: GANTRY__ONNX_KNOWN, ... */
    struct gantry__onnx_list_t **lists; /* By number; NULL: no value is a list. */
    struct onnx_scratch_t *scratch;     /* Of the nodes that are lowered now. */
    size_t step_nodes;                  /* Nodes of steps that are unrolled in the trace. */
    size_t first_node;                  /* Of the graph that is lowered, in the plan's list. */
    size_t inner_graphs;                /* Subgraphs that are lowered now. */
    bool is_constant_node;              /* A node of constants is computed now. */
    bool is_too_large;                  /* The failure is that of gantry__onnx_check_folding. */
    bool is_reported;                   /* The failure names its node. */
    bool is_out_of_memory;              /* gantry__onnx_scratch has returned NULL. */
    gantry_status_t status;             /* Of the last gantry__onnx_run_get. */
    /* NEEDS_VALUE: the node, its input, and where the tensor's elements were needed. NULL: the
     * run has not failed so. */
    const gantry__onnx_node_t *needs_node;
    size_t needs_input;
    /* Is called for each node, after it; NULL: nothing is. */
    void (*watch)(void *user, const gantry__onnx_call_t *call, gantry_status_t status);
    void *watch_user;
};

enum {
    GANTRY__ONNX_KNOWN = 1 << 0, /* Computed on the host. */
    GANTRY__ONNX_OWNED = 1 << 1  /* The run has a reference. */
};

/* Begins a run: *run gets memory for all values, and a host scope. scope: that of its nodes. */
gantry_status_t gantry__onnx_run_begin(gantry__onnx_run_t *run, gantry__onnx_constants_t *constants,
                                       gantry_scope_t *scope, bool is_eager);
/* Ends it; also after a begin that failed. */
void gantry__onnx_run_end(gantry__onnx_run_t *run);
/* Sets a value: an input of the model. is_known: it has elements that do not change. */
void gantry__onnx_run_set(gantry__onnx_run_t *run, gantry__onnx_value_t value,
                          const gantry_tensor_t *tensor, bool is_known);
/* The tensor of a value, made if it is a constant; NULL after a failure. */
const gantry_tensor_t *gantry__onnx_run_get(gantry__onnx_run_t *run, gantry__onnx_value_t value);
/* Lowers the nodes of a graph whose inputs are set, those that are not constant and that its
 * outputs need. */
gantry_status_t gantry__onnx_run_graph(gantry__onnx_run_t *run, gantry_scope_t *scope,
                                       const gantry__onnx_graph_t *graph);
/* Lets go of all values that lowering a graph has set, because the scopes end that own them. */
void gantry__onnx_run_forget(gantry__onnx_run_t *run, const gantry__onnx_graph_t *graph);
/* The list that a value is (list.h); NULL: it is none. */
const struct gantry__onnx_list_t *gantry__onnx_run_list(const gantry__onnx_run_t *run,
                                                        gantry__onnx_value_t value);
void gantry__onnx_run_drop_list(gantry__onnx_run_t *run, gantry__onnx_value_t value);
/* Checks, before a node of constants is computed, that its results are not too large for the
 * tensors of the model. ResourceExhausted, and the run's is_too_large: they are. */
gantry_status_t gantry__onnx_check_folding(const gantry__onnx_call_t *call);
/* Whether the results of a node of known inputs are small enough for the host. */
bool gantry__onnx_is_small(const gantry__onnx_call_t *call);
/* Frees what gantry__onnx_scratch has given since. */
void gantry__onnx_scratch_free(gantry__onnx_run_t *run, struct onnx_scratch_t *since);

#endif
