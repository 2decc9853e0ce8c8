/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of composed ops that the eager path needs; their functions are above it in src/compose.
 *
 * src/compose/compose.c must define them, so that this folder includes nothing above it. The scope
 * belongs to the calling thread. */
#ifndef GANTRY_RUN_COMPOSED_H
#define GANTRY_RUN_COMPOSED_H

#include "op/op_infer.h"
#include "run/scope_state.h"

/* Runs the function of a composed op. Writes call->output_count references; after a failure some
 * may be NULL. */
gantry_status_t gantry__compose(gantry_scope_t *scope, gantry__infer_t *call,
                                const gantry_tensor_t *const *inputs, gantry_tensor_t **outputs);

/* Whether the function of a composed op takes the sizes of its inputs, some of which are open. */
bool gantry__composes_open(const gantry__infer_t *call);

/* Checks an op in a scope that runs the parts of a composed op: Internal if this op is not one of
 * them. */
gantry_status_t gantry__check_part(const gantry_scope_t *scope, const gantry__op_def_t *op);

#endif
