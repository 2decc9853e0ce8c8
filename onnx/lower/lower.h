/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: a node of ONNX becomes calls of Gantry's ops.
 *
 * A row of the table names a function, which gets a gantry__onnx_call_t: the node, its inputs as
 * tensors and places for its outputs. It calls ops in call->scope and sets the outputs. The same
 * function serves three cases, and does not know which it is in: all inputs are known, and scope is
 * an eager one on the host (constants and sizes); scope records a trace; scope runs op by op.
 *
 * A tensor is known if it has elements that can be read at once. Arguments that an op wants as
 * numbers (axes, shapes, counts) are read by gantry__onnx_get_ints and its kin. Where such an
 * argument is not known, they fail the call as NEEDS_VALUE, and the model runs again with that
 * input of the model bound by its value, or op by op. A lowering function must then return; it
 * need not report anything itself.
 *
 * Owner: scope owns what ops return. Threads: a call belongs to one thread. */
#ifndef GANTRY_ONNX_LOWER_H
#define GANTRY_ONNX_LOWER_H

#include "onnx/graph/graph.h"
#include "onnx/table/rows.h"
#include "shared/fail.h"

/* What is being lowered: the model's values so far, its constants. */
typedef struct gantry__onnx_run_t gantry__onnx_run_t;

/* A node that is being lowered. */
typedef struct gantry__onnx_call_t {
    gantry_scope_t *scope; /* Where ops are called. */
    /* An eager scope of /CPU:0 for numbers that are made of known ones: shapes, constants. What it
     * returns may be an input of ops in scope, and an output. */
    gantry_scope_t *host;
    const gantry__onnx_node_t *node;
    const gantry__onnx_row_t *row;
    size_t input_count, output_count;
    const gantry_tensor_t *const *inputs; /* NULL: left out. */
    const gantry_tensor_t **outputs;      /* To be set; those that are not wanted may stay NULL. */
    gantry__onnx_run_t *run;
    const char *origin; /* What failures in scope say: the file and the node. */
    /* For the library's own use: the inputs that were taken in a prepared form, as bits, and the
     * last tensors that were made of numbers. */
    uint64_t prepared;
    const gantry_tensor_t *made[4];
    size_t made_count;
} gantry__onnx_call_t;

/* ---- inputs and outputs ---- */

/* Input i; NULL: it is left out. */
const gantry_tensor_t *gantry__onnx_input(const gantry__onnx_call_t *call, size_t i);
/* Whether input i is given; the same in a check of table/checks.def, whose call has no inputs. */
bool gantry__onnx_has_input(const gantry__onnx_call_t *call, size_t i);
/* Whether output i is wanted. */
bool gantry__onnx_wants(const gantry__onnx_call_t *call, size_t i);
/* Sets output i, if it is wanted, and returns the status of the scope: a failure of the op that
 * returned NULL is handed on. */
gantry_status_t gantry__onnx_set(gantry__onnx_call_t *call, size_t i,
                                 const gantry_tensor_t *tensor);
/* The same for output 0: `return gantry__onnx_give(call, gantry_relu(call->scope, x));` */
gantry_status_t gantry__onnx_give(gantry__onnx_call_t *call, const gantry_tensor_t *tensor);
/* Calls an op by its name and returns its first output; NULL after a failure. */
const gantry_tensor_t *gantry__onnx_op(gantry__onnx_call_t *call, const char *op,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_attr_value_t *attrs, size_t attr_count);
/* One and two inputs, no attributes; NULL for NULL. */
const gantry_tensor_t *gantry__onnx_op1(gantry__onnx_call_t *call, const char *op,
                                        const gantry_tensor_t *x);
const gantry_tensor_t *gantry__onnx_op2(gantry__onnx_call_t *call, const char *op,
                                        const gantry_tensor_t *x, const gantry_tensor_t *y);

/* ---- what is known ---- */

/* Whether the elements of input i can be read now. */
bool gantry__onnx_is_known(const gantry__onnx_call_t *call, const gantry_tensor_t *tensor);
/* Reads all elements of a vector of integers or bools, or of a scalar, as int64; the array is the
 * call's. A tensor without elements gives count 0. Fails as NEEDS_VALUE if they are not known.
 * name: the argument's, for messages: "axes". */
gantry_status_t gantry__onnx_get_ints(gantry__onnx_call_t *call, size_t i, const char *name,
                                      const int64_t **out_values, size_t *out_count);
/* The same of a tensor of any rank. */
gantry_status_t gantry__onnx_get_all_ints(gantry__onnx_call_t *call, size_t i, const char *name,
                                          const int64_t **out_values, size_t *out_count);
/* Reads one integer, a tensor of one element of any rank; fallback if the input is left out. */
gantry_status_t gantry__onnx_get_int(gantry__onnx_call_t *call, size_t i, const char *name,
                                     int64_t fallback, int64_t *out_value);
/* Reads all elements of a tensor of numbers as double, as the two above. */
gantry_status_t gantry__onnx_get_doubles(gantry__onnx_call_t *call, size_t i, const char *name,
                                         const double **out_values, size_t *out_count);
gantry_status_t gantry__onnx_get_double(gantry__onnx_call_t *call, size_t i, const char *name,
                                        double fallback, double *out_value);
/* Fails as NEEDS_VALUE if a size of the tensor is open (-1). */
gantry_status_t gantry__onnx_need_shape(gantry__onnx_call_t *call, const gantry_tensor_t *tensor);

/* The same where no input is to be bound: the model runs op by op. what: "the steps of the
 * loop". */
gantry_status_t gantry__onnx_need_values(gantry__onnx_call_t *call, const char *what);
/* ONNX's number of an input's element type as the file has it, also of integers of 2 and 4 bits; 0:
 * it says none. */
int32_t gantry__onnx_input_type(const gantry__onnx_call_t *call, size_t i);

/* Numbers as tensors of the host scope. */
const gantry_tensor_t *gantry__onnx_make_ints(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                              const int64_t *values, size_t count);
/* A scalar of this type in the host scope. */
const gantry_tensor_t *gantry__onnx_make_scalar(gantry__onnx_call_t *call, gantry_dtype_t dtype,
                                                double value);
/* Memory of count items for the time of this call; NULL after a failure. */
void *gantry__onnx_scratch(gantry__onnx_call_t *call, size_t count, size_t item_bytes);

/* ---- attributes ---- */

/* Of another kind than the file has: InvalidArgument by the table before the call. */
int64_t gantry__onnx_attr_int(const gantry__onnx_call_t *call, const char *name, int64_t fallback);
float gantry__onnx_attr_float(const gantry__onnx_call_t *call, const char *name, float fallback);
/* The text's place; fallback if it is not given. Texts with a zero inside are refused earlier. */
const char *gantry__onnx_attr_text(const gantry__onnx_call_t *call, const char *name,
                                   const char *fallback);
/* NULL, and *out_count 0: it is not given. */
const int64_t *gantry__onnx_attr_ints(const gantry__onnx_call_t *call, const char *name,
                                      size_t *out_count);
const float *gantry__onnx_attr_floats(const gantry__onnx_call_t *call, const char *name,
                                      size_t *out_count);
/* A tensor of an attribute in the host scope; NULL with OK: it is not given. */
gantry_status_t gantry__onnx_attr_tensor(gantry__onnx_call_t *call, const char *name,
                                         const gantry_tensor_t **out_tensor);
const gantry__onnx_graph_t *gantry__onnx_attr_graph(const gantry__onnx_call_t *call,
                                                    const char *name);

/* ---- axes ---- */

/* Makes an axis of a rank, which may count from the end, one from 0 on; InvalidArgument with the
 * axis and the rank outside. */
gantry_status_t gantry__onnx_axis(gantry__onnx_call_t *call, int64_t axis, uint32_t rank,
                                  int64_t *out_axis);
/* Axes of the attribute or, from version from_input on, of input i; sorted, without repetition.
 * *out_given false: they are left out. */
gantry_status_t gantry__onnx_axes(gantry__onnx_call_t *call, int64_t from_input, size_t i,
                                  uint32_t rank, const int64_t **out_axes, size_t *out_count,
                                  bool *out_given);

/* ---- failures ---- */

/* The node's version of its operator set. */
int64_t gantry__onnx_version(const gantry__onnx_call_t *call);
/* What Gantry does not have, as the reason that `explain` prints: "auto_pad SAME_LOWER with a size
 * that is not known". Returns Unimplemented; file, node, op and version are added. */
gantry_status_t gantry__onnx_unsupported(gantry__onnx_call_t *call, const char *format, ...)
    GANTRY__PRINTF(2, 3);
/* What ONNX does not allow. Returns InvalidArgument; as above. */
gantry_status_t gantry__onnx_invalid(gantry__onnx_call_t *call, const char *format, ...)
    GANTRY__PRINTF(2, 3);

/* Returns Unimplemented if an integer attribute has another value than `wanted`, which is also its
 * value where it is not given. */
gantry_status_t gantry__onnx_need_attr(gantry__onnx_call_t *call, const char *name, int64_t wanted);

/* ---- constants of the model, made once for all traces ---- */

/* A tensor that is made of a constant input (of the same elements in all calls of the model), such
 * as a filter with its axes in another order: make is called once for a model, node, input and key,
 * with a host scope, and its result is kept. An input that is no constant is given to make in
 * call->scope each time. */
typedef const gantry_tensor_t *(*gantry__onnx_make_fn)(gantry__onnx_call_t *call,
                                                       gantry_scope_t *scope,
                                                       const gantry_tensor_t *input);
const gantry_tensor_t *gantry__onnx_prepared(gantry__onnx_call_t *call, size_t i, uint32_t key,
                                             gantry__onnx_make_fn make);

/* ---- subgraphs ---- */

/* Lowers a subgraph in scope, with tensors for its inputs, and sets outputs, one for each output of
 * the subgraph. Values of graphs around it that are captured come from the run; where scope is that
 * of a branch or a loop, ops may use tensors of the scopes around it. */
gantry_status_t gantry__onnx_lower_subgraph(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                            const gantry__onnx_graph_t *graph,
                                            const gantry_tensor_t *const *inputs,
                                            const gantry_tensor_t **outputs);

#endif
