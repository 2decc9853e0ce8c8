/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one op now: infers and places it, brings its inputs there, allocates results, calls the
 * kernel.
 *
 * The one path of every op except constants and variables. The scope belongs to the calling
 * thread. */
#ifndef GANTRY_RUN_EAGER_H
#define GANTRY_RUN_EAGER_H

#include "op/op_def.h"
#include "run/scope_state.h"

/* inputs must be flat: the tensors of a list input take its place. Writes op->output_count tensors
 * of the scope, or NULLs after a failure, which the scope keeps. pinned: the device to run on,
 * whatever is requested (variables), or NULL. op must not have a list output. */
gantry_status_t gantry__run_op(gantry_scope_t *scope, const gantry__op_def_t *op,
                               const gantry_tensor_t *const *inputs, size_t input_count,
                               const gantry_attr_value_t *attrs, size_t attr_count,
                               const gantry_logical_device_t *pinned,
                               const gantry_tensor_t **outputs);

/* The same for every op. *output_count: on entry the capacity of outputs, all of which is written;
 * on return the number of tensors, 0 after a failure. */
gantry_status_t gantry__run_op_into(gantry_scope_t *scope, const gantry__op_def_t *op,
                                    const gantry_tensor_t *const *inputs, size_t input_count,
                                    const gantry_attr_value_t *attrs, size_t attr_count,
                                    const gantry_logical_device_t *pinned,
                                    const gantry_tensor_t **outputs, size_t *output_count);

#endif
