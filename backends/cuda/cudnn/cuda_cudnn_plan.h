/* SPDX-License-Identifier: Apache-2.0 */
/* A device's handle of cuDNN, and its plans: how each form is computed, or why it is not.
 *
 * The library's first list of engines costs some 100 ms, each later one 2 ms, so a device keeps the
 * plans that were used last, and refusals with them. A form that failed at its plan or its run
 * stays refused, because its callers then choose other kernels, and a form should not have the bits
 * of one way now and those of another way later.
 *
 * Owner: the device, which must begin and end its part. Threads: thread-safe; device->cudnn_lock
 * guards the table and the handle, which cuDNN allows one thread at a time. */
#ifndef GANTRY_CUDA_CUDNN_PLAN_H
#define GANTRY_CUDA_CUDNN_PLAN_H

#include "cuda/cudnn/cuda_cudnn_table.h"

/* What a run works on: addresses by operand, 0 for one that the form lacks. */
typedef struct gantry__cudnn_operands_t {
    gantry__cu_address_t at[GANTRY__CUDNN_OPERANDS + 1];
    gantry__cu_address_t workspace;
} gantry__cudnn_operands_t;

int32_t gantry__cudnn_begin(gantry_backend_device_t *device);
void gantry__cudnn_end(gantry_backend_device_t *device);

/* Whether the library computes the form on the device, with *out_workspace_bytes. If not, the log
 * says why, once for each form. */
bool gantry__cudnn_takes(gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                         uint64_t *out_workspace_bytes);
/* Submits the form's work to the stream. The device's context must be current. A failure is stated,
 * and refuses the form unless the device is lost. */
int32_t gantry__cudnn_run(gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                          const gantry__cudnn_operands_t *operands, gantry__cu_stream_t stream);
/* Refuses the form from now on, for this reason. */
void gantry__cudnn_refuse(gantry_backend_device_t *device, const gantry__cudnn_form_t *form,
                          const char *reason);

#endif
