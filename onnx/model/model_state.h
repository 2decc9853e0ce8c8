/* SPDX-License-Identifier: Apache-2.0 */
/* A model and its functions.
 *
 * A function is made for a signature: for each input, whether the caller passes it, leaves it out
 * (the file has its value), or whether its elements are bound, because a shape depends on them.
 * Inputs are bound when a trace needs their elements; from then on, each set of their values has
 * a function of its own. What depends on more than small inputs makes the model run op by op.
 *
 * Owner: the model has its functions; a function holds the model until it ends. Threads: what is
 * under the mutex changes under it; the rest does not change after loading. */
#ifndef GANTRY_ONNX_MODEL_STATE_H
#define GANTRY_ONNX_MODEL_STATE_H

#include <stdatomic.h>

#include <gantry_onnx/onnx.h>

#include "onnx/lower/run.h"

/* How a function gets an input. */
typedef enum onnx_passing_t {
    ONNX_PASSED = 0,
    ONNX_LEFT_OUT = 1, /* The file has its value. */
    ONNX_BOUND = 2     /* It is a constant of the function. */
} onnx_passing_t;

/* A function for one signature. */
typedef struct onnx_entry_t {
    gantry_onnx_model_t *model; /* A reference. */
    gantry_function_t *function;
    uint8_t *passing;        /* By input. */
    gantry_tensor_t **bound; /* By input; NULL: not bound. */
    uint8_t *key;
    size_t key_bytes;
    uint64_t last_use; /* Under the model's mutex, as is_eager of the model. */
    bool is_eager;
} onnx_entry_t;

/* A model. */
struct gantry_onnx_model_t {
    atomic_size_t uses;
    gantry_runtime_t *runtime;
    const char *name; /* The last part of the path; the file has it. */
    char *device;
    gantry__onnx_constants_t constants;
    const gantry__onnx_graph_model_t *graph_model;
    gantry_function_options_t function_options;
    gantry_onnx_dim_t *dims; /* Names are copies. */
    size_t dim_count;
    const char **output_names;
    const char ***dim_names; /* By input, then by output. */
    gantry_onnx_op_t *ops;
    size_t op_count;
    /* By node of the plan: what became of it in the newest trace, ONNX_NODE_... */
    atomic_uchar *node_states;

    gantry__mutex_t mutex; /* Of what follows. */
    onnx_entry_t **entries;
    size_t entry_count, entry_capacity;
    uint64_t clock;
    uint8_t *is_bound; /* By input. */
    bool is_eager;
    char *eager_reason;
    uint64_t changes; /* Of is_bound and is_eager. */
};

/* What became of a node. */
typedef enum onnx_node_state_t {
    ONNX_NODE_UNSEEN = 0,
    ONNX_NODE_TRACED = 1, /* Its ops are nodes of the function. */
    ONNX_NODE_KNOWN = 2   /* It was computed on the host, from sizes and constants. */
} onnx_node_state_t;

/* ---- info.c ---- */

/* Lists the ops of the model, when it is loaded. */
gantry_status_t gantry__onnx_list_ops(gantry_onnx_model_t *model);

/* ---- explain.c ---- */

/* The function of the newest run, of which the caller gets a reference; NULL: none. */
gantry_function_t *gantry__onnx_newest_function(gantry_onnx_model_t *model);

/* ---- signature.c ---- */

/* What is given for an input; shape NULL: nothing. */
typedef struct onnx_given_t {
    gantry_dtype_t dtype;
    const gantry_shape_t *shape;
} onnx_given_t;

/* Checks inputs: their number, types, shapes and named dimensions. */
gantry_status_t gantry__onnx_check_inputs(const gantry_onnx_model_t *model,
                                          const onnx_given_t *inputs, size_t count);
/* What the model says of a value: of an input with the sizes of the options. */
void gantry__onnx_describe_value(const gantry_onnx_model_t *model, bool is_input, size_t index,
                                 gantry_onnx_value_t *out_value);

/* ---- entry.c ---- */

/* The entry for these inputs, made if there is none; the caller gets a reference to its function.
 * *out_changes is the model's count of changes for it. */
gantry_status_t gantry__onnx_take_entry(gantry_onnx_model_t *model,
                                        const gantry_tensor_t *const *inputs,
                                        onnx_entry_t **out_entry, uint64_t *out_changes);
/* Counts the changes of how inputs are passed and of what is a constant; a run that fails while it
 * changes is made again. The mutex is held. */
uint64_t gantry__onnx_changes(const gantry_onnx_model_t *model);
/* Releases the functions of all entries. */
void gantry__onnx_drop_entries(gantry_onnx_model_t *model);

/* ---- body.c ---- */

/* The body of a function; user is its entry. */
void gantry__onnx_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user);

/* ---- model.c ---- */

/* Removes a reference. */
void gantry__onnx_model_drop(gantry_onnx_model_t *model);
/* The input's value, and the output's. */
const gantry__onnx_value_info_t *gantry__onnx_input_info(const gantry_onnx_model_t *model,
                                                         size_t index);

#endif
