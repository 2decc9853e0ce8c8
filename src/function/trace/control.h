/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of branches and loops: checking them, calling them, and recording them as a node of a
 * trace (trace_body.c).
 *
 * Owner: a gantry__block_call_t and what it points to are the caller's, and must live until the
 * call returns. Threads: a call belongs to the thread of its scope. */
#ifndef GANTRY_FUNCTION_CONTROL_H
#define GANTRY_FUNCTION_CONTROL_H

#include <gantry/control.h>

#include "function/trace/trace.h"

/* A branch or a loop, while it is checked, recorded or run. */
typedef struct gantry__block_call_t {
    const gantry__op_def_t *op;
    const gantry_function_body_fn *bodies; /* a loop has two: the condition, then the body */
    uint32_t body_count;
    void *user;
    const gantry_tensor_t *selector; /* the input that selects a branch's body; NULL: a loop */
    const gantry_tensor_t *const *inputs;
    const gantry_tensor_t **outputs;
    uint32_t input_count, output_count;
    uint64_t most_steps;
} gantry__block_call_t;

/* The API's name of a body: "then_body", "condition", "bodies[2]". */
typedef struct gantry__body_name_t {
    char text[24];
} gantry__body_name_t;
gantry__body_name_t gantry__body_name(const gantry__op_def_t *op, uint32_t body);

/* InvalidArgument for an output that `body` leaves out, with the last error of a call in it: in a
 * scope from outside. failures: the thread's count when the body began. */
gantry_status_t gantry__body_lacks_output(const char *body, uint32_t output, uint32_t failures);
/* Calls a body in a scope; an error if the scope failed or an output is not set. */
gantry_status_t gantry__block_run_body(const gantry__block_call_t *call, uint32_t body,
                                       gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                       const gantry_tensor_t **outputs, uint32_t output_count);
/* InvalidArgument unless the condition's output is one bool. */
gantry_status_t gantry__block_check_condition(const gantry_tensor_t *output);
/* InvalidArgument unless an output of a body has this type and shape. */
gantry_status_t gantry__block_check_output(const gantry__block_call_t *call, uint32_t body,
                                           uint32_t output, const gantry_tensor_t *given,
                                           gantry_dtype_t dtype, const gantry_shape_t *shape);

/* Records the block as a node of the scope's trace. */
gantry_status_t gantry__block_record(gantry_scope_t *scope, const gantry__block_call_t *call);

#endif
