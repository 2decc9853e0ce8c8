/* SPDX-License-Identifier: Apache-2.0 */
/* How a form of product is computed: the library's descriptions of it and its choice of algorithm.
 *
 * Asking the library costs tens of microseconds, more than a small product itself, so a device
 * keeps the plans that were used last, and apart from them what the library said to the forms that
 * it was asked about for a placement. A plan is constant once made.
 * Owner: the device, which forgets all of them before its cuBLASLt handle ends; whoever took a plan
 * gives it back.
 * Threads: thread-safe; device->lock guards the list and is not held while the library is
 * called. */
#ifndef GANTRY_CUDA_CUBLAS_PLAN_H
#define GANTRY_CUDA_CUBLAS_PLAN_H

#include "cuda/cublas/cuda_cublas_table.h"

/* no number of the library's: ResourceExhausted was stated */
#define GANTRY__CUBLAS_NO_HOST_MEMORY 0xffffu

/* The plan of a form, kept or made now, for a device whose handle is there and whose context is
 * entered. The library's number, or GANTRY__CUBLAS_NO_HOST_MEMORY, when it fails: nothing to
 * give back then. */
gantry__cublas_status_t gantry__cublas_plan_take(gantry_backend_device_t *device,
                                                 const gantry__cublas_form_t *form,
                                                 gantry__cublas_plan_t **out_plan);
/* Whether the form's answer is known; needs no context. */
bool gantry__cublas_plan_knows(gantry_backend_device_t *device, const gantry__cublas_form_t *form,
                               gantry__cublas_status_t *out_answer);
/* What the library says to a form: SUCCESS, NOT_SUPPORTED or ARCH_MISMATCH are asked for once. For
 * the same device. */
gantry__cublas_status_t gantry__cublas_plan_ask(gantry_backend_device_t *device,
                                                const gantry__cublas_form_t *form);
/* A description of a form's operation, which the caller destroys, also after a failure if it is not
 * NULL: *out_desc is NULL before. */
gantry__cublas_status_t gantry__cublas_plan_describe(const gantry_backend_device_t *device,
                                                     const gantry__cublas_form_t *form,
                                                     gantry__cublas_desc_t *out_desc);
void gantry__cublas_plan_give(gantry_backend_device_t *device, gantry__cublas_plan_t *plan);
/* Nobody uses one any more. */
void gantry__cublas_plans_forget(gantry_backend_device_t *device);

#endif
