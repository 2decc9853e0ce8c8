/* SPDX-License-Identifier: Apache-2.0 */
/* What the way of an op needs to know of composed ops, whose functions lie above it in src/compose.
 *
 * Implemented by src/compose/compose.c, so that nothing here includes what lies above. The scope
 * belongs to the calling thread. */
#ifndef GANTRY_RUN_COMPOSED_H
#define GANTRY_RUN_COMPOSED_H

#include "op/op_infer.h"
#include "run/scope_state.h"

/* Runs the function of a composed op. Writes call->output_count references; some may be NULL after
 * a failure. */
gantry_status_t gantry__compose(gantry_scope_t *scope, gantry__infer_t *call,
                                const gantry_tensor_t *const *inputs, gantry_tensor_t **outputs);

/* In a scope that runs the parts of a composed op: Internal when this op is not among them. */
gantry_status_t gantry__check_part(const gantry_scope_t *scope, const gantry__op_def_t *op);

#endif
