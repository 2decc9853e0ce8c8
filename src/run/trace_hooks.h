/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a trace that ops, constants and variables need; the functions that it declares are
 * defined in src/function/trace.
 *
 * In a scope with a trace, nothing runs: an op becomes a node, and its results are symbolic
 * tensors, which have a type, a shape and no elements. The scope belongs to the calling thread. */
#ifndef GANTRY_RUN_TRACE_HOOKS_H
#define GANTRY_RUN_TRACE_HOOKS_H

#include "op/op_def.h"
#include "run/draws.h"
#include "run/scope_state.h"

/* Records an inferred op. Writes call->output_count symbolic tensors, which belong to the caller;
 * NULLs after a failure. */
gantry_status_t gantry__trace_op(gantry_scope_t *scope, const gantry__infer_t *call,
                                 const gantry_tensor_t *const *inputs, gantry_tensor_t **outputs);
/* Whether an op is recorded as one node that each call runs at once, by the eager path: a shape
 * depends on data, or the op reads elements that are symbolic. */
bool gantry__trace_is_whole(const gantry__infer_t *call);
/* The elements of a symbolic tensor that follows from small constants, computed at once; NULL: they
 * are not known, or could not be computed. It belongs to the trace. */
const gantry_tensor_t *gantry__trace_known(gantry_scope_t *scope, const gantry_tensor_t *tensor);
/* Reads one element of a symbolic tensor of int32 or int64, whose others may not be known: it
 * follows from a constant, or from a size that is known. False: it is not known. */
bool gantry__trace_number(gantry_scope_t *scope, const gantry_tensor_t *tensor, int64_t position,
                          int64_t *out);
/* Checks an op that draws: Unimplemented if the count of the numbers that it draws depends on this
 * input's data. */
gantry_status_t gantry__trace_check_draw(const gantry__op_def_t *op, const gantry_tensor_t *input);
/* Records a tensor in host memory as a constant, by reference. It stays readable. */
gantry_status_t gantry__trace_constant(gantry_scope_t *scope, gantry_tensor_t *tensor);
/* Records a read of a variable. */
gantry_status_t gantry__trace_read(gantry_scope_t *scope, gantry_variable_t *variable,
                                   gantry_tensor_t **out_tensor);
/* gantry__random_draws for a scope with a trace: without an op's own seed, one more trace of a body
 * gets the streams of the one before; FailedPrecondition if that has none of this kind there. */
gantry_status_t gantry__trace_draws(const gantry_scope_t *scope, const gantry__infer_t *call,
                                    gantry__draws_t **own, gantry__draws_t **out_draws);
/* Records a draw of `blocks` counter steps from a stream, for each call: its key, uint64[1], and
 * its counter, uint64[2], which the scope owns. */
gantry_status_t gantry__trace_draw(gantry_scope_t *scope, gantry__draws_t *draws, uint64_t blocks,
                                   const gantry_tensor_t *out_place[2]);
/* Records an assignment of value, or of the result of `update` on the present value and value. */
gantry_status_t gantry__trace_assign(gantry_scope_t *scope, const gantry__op_def_t *op,
                                     gantry_variable_t *variable, const gantry_tensor_t *value,
                                     const gantry__op_def_t *update);

/* The number of times that the traces of the scope assign to a variable so far. */
uint64_t gantry__trace_assignments(const gantry_scope_t *scope, const gantry_variable_t *variable);

/* InvalidArgument if an op of the scope cannot take this symbolic tensor, because another trace, or
 * a finished one, made it. */
gantry_status_t gantry__trace_check_input(const gantry_scope_t *scope,
                                          const gantry_tensor_t *tensor, const char *op,
                                          uint32_t index);

#endif
