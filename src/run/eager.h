/* SPDX-License-Identifier: Apache-2.0 */
/* Running one op now: inferred, placed, inputs brought there, results allocated, kernel called.
 *
 * One way for every op but constants and variables. The scope belongs to the calling thread. */
#ifndef GANTRY_RUN_EAGER_H
#define GANTRY_RUN_EAGER_H

#include "op/op_def.h"
#include "run/scope_state.h"

/* inputs are flat (a list input's tensors lie in its place). Writes op->output_count tensors of the
 * scope, or NULLs after a failure, which the scope keeps. pinned: run on that device whatever is
 * asked (variables), or NULL. For ops without a list output. */
gantry_status_t gantry__run_op(gantry_scope_t *scope, const gantry__op_def_t *op,
                               const gantry_tensor_t *const *inputs, size_t input_count,
                               const gantry_attr_value_t *attrs, size_t attr_count,
                               const gantry_logical_device_t *pinned,
                               const gantry_tensor_t **outputs);

/* The same for every op. *output_count: on entry the room in outputs, all of which is written; on
 * return how many tensors there are, 0 after a failure. */
gantry_status_t gantry__run_op_into(gantry_scope_t *scope, const gantry__op_def_t *op,
                                    const gantry_tensor_t *const *inputs, size_t input_count,
                                    const gantry_attr_value_t *attrs, size_t attr_count,
                                    const gantry_logical_device_t *pinned,
                                    const gantry_tensor_t **outputs, size_t *output_count);

#endif
