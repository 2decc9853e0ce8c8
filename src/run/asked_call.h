/* SPDX-License-Identifier: Apache-2.0 */
/* A call of an op that is described to a device's kernels before it is made, so that they can be
 * asked whether they take it.
 *
 * Owner: plain values of the caller. Threads: each call is one thread's. */
#ifndef GANTRY_RUN_ASKED_CALL_H
#define GANTRY_RUN_ASKED_CALL_H

#include "run/dispatch.h"

/* A call, described without memory. */
typedef struct gantry__asked_call_t {
    gantry__infer_t infer;
    const gantry_shape_t *shapes[GANTRY__MAX_INPUTS];
    gantry_dtype_t dtypes[GANTRY__MAX_INPUTS];
    gantry_shape_t out_shapes[GANTRY__MAX_OUTPUTS];
    gantry_dtype_t out_dtypes[GANTRY__MAX_OUTPUTS];
    gantry_arg_t args[GANTRY__MAX_INPUTS + GANTRY__MAX_OUTPUTS];
    const gantry_arg_t *inputs[GANTRY__MAX_INPUTS];
    gantry_arg_t *outputs[GANTRY__MAX_OUTPUTS];
    const gantry_attr_t *attrs[GANTRY__MAX_ATTRS];
    gantry_op_call_t abi;
} gantry__asked_call_t;

/* A call of an op, whose inputs are not set yet. */
void gantry__asked_init(gantry__asked_call_t *call, gantry__op_id_t op, uint32_t input_count);

/* The first kernel that takes the inferred call under the wish, if that wish leads to the device,
 * which NULL leaves open; *out_kernel is NULL if none does, which is no error. */
gantry_status_t gantry__asked_find_kernel(gantry_runtime_t *runtime, gantry__asked_call_t *call,
                                          const gantry__wish_t *wish, bool batch_invariant,
                                          const gantry_logical_device_t *device,
                                          const gantry_kernel_def_t **out_kernel);

#endif
