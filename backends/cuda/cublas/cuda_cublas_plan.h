/* SPDX-License-Identifier: Apache-2.0 */
/* A device's handle of cuBLASLt, and how a form of product is computed: the library's descriptions
 * of it and its choice of algorithm.
 *
 * A query of the library costs tens of microseconds, more than a small product itself, so a device
 * keeps the plans that were used last, and in a table of their own the library's answers for forms
 * that a placement needed. A plan does not change after it was made.
 *
 * Owner: the device, which must forget all of them before its cuBLASLt handle ends; whoever took a
 * plan must give it back. Threads: thread-safe, as a handle is;
 * device->lock guards the list and is not held while the library is called. */
#ifndef GANTRY_CUDA_CUBLAS_PLAN_H
#define GANTRY_CUDA_CUBLAS_PLAN_H

#include "cuda/cublas/cuda_cublas_table.h"

/* not one of the library's numbers: ResourceExhausted was stated */
#define GANTRY__CUBLAS_NO_HOST_MEMORY 0xffffu

/* The device's handle, made on the first call; NULL when the library is missing or refuses the
 * card, which is logged once. The device must destroy it. */
gantry__cublas_handle_t gantry__cublas_handle(gantry_backend_device_t *device);

/* Takes the plan of a form, which is kept or made now. The device must have a handle, and its
 * context must be current. Returns the library's number, or GANTRY__CUBLAS_NO_HOST_MEMORY, when it
 * fails; there is then nothing to give back. */
gantry__cublas_status_t gantry__cublas_plan_take(gantry_backend_device_t *device,
                                                 const gantry__cublas_form_t *form,
                                                 gantry__cublas_plan_t **out_plan);
/* Whether the form's answer is known; it needs no context. */
bool gantry__cublas_plan_knows(gantry_backend_device_t *device, const gantry__cublas_form_t *form,
                               gantry__cublas_status_t *out_answer);
/* The library's answer for a form. SUCCESS, NOT_SUPPORTED and ARCH_MISMATCH are requested only
 * once. The same holds for the device as above. */
gantry__cublas_status_t gantry__cublas_plan_ask(gantry_backend_device_t *device,
                                                const gantry__cublas_form_t *form);
/* Writes a description of a form's operation. *out_desc must be NULL before. The caller must
 * destroy it, also after a failure if it is not NULL. */
gantry__cublas_status_t gantry__cublas_plan_describe(const gantry_backend_device_t *device,
                                                     const gantry__cublas_form_t *form,
                                                     gantry__cublas_desc_t *out_desc);
void gantry__cublas_plan_give(gantry_backend_device_t *device, gantry__cublas_plan_t *plan);
/* Ends all plans. No thread may use one any more. */
void gantry__cublas_plans_forget(gantry_backend_device_t *device);

#endif
