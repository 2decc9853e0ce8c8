/* SPDX-License-Identifier: Apache-2.0 */
/* An op with all that its caller gives and gets, for run/eager.h, which runs it.
 *
 * Owner: the caller owns a request and its arrays, until the call returns. Threads: a request
 * belongs to the calling thread. */
#ifndef GANTRY_RUN_OP_REQUEST_H
#define GANTRY_RUN_OP_REQUEST_H

#include "op/op_def.h"
#include "run/tensor_state.h"

typedef struct gantry__op_request_t {
    const gantry__op_def_t *op;
    const gantry_tensor_t *const *inputs; /* flat: the tensors of a list input take its place */
    size_t input_count;
    const gantry_attr_value_t *attrs;
    size_t attr_count;
    /* the device to run on, whatever the scope requests (variables); NULL: none */
    const gantry_logical_device_t *pinned;
    const gantry_tensor_t **outputs;
    size_t room; /* in outputs */
} gantry__op_request_t;

#endif
