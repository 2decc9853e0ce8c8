/* SPDX-License-Identifier: Apache-2.0 */
/* How a form of product is computed: the library's descriptions of it and its choice of algorithm.
 *
 * Asking the library costs tens of microseconds, more than a small product itself, so a device
 * keeps the plans that were used last. A plan is constant once made.
 * Owner: the device, which forgets all of them before its cuBLASLt handle ends; whoever took a plan
 * gives it back.
 * Threads: thread-safe; device->lock guards the list and is not held while the library is
 * called. */
#ifndef GANTRY_CUDA_CUBLAS_PLAN_H
#define GANTRY_CUDA_CUBLAS_PLAN_H

#include <stdbool.h>

#include "cuda/cublas/cuda_cublas.h"

#define GANTRY__CUBLAS_PLANS 64 /* that a device keeps */
/* no number of the library's: ResourceExhausted was stated */
#define GANTRY__CUBLAS_NO_HOST_MEMORY 0xffffu

/* One operand or the result, as the library sees it: column-major. */
typedef struct gantry__cublas_matrix_t {
    uint64_t rows;
    uint64_t columns;
    int64_t batch_stride; /* elements */
    uint32_t is_transposed;
    uint32_t alignment; /* bytes, of every batch's address: a power of two, at most 256 */
} gantry__cublas_matrix_t;

/* All that a choice depends on. Compared byte by byte: there is no padding. */
typedef struct gantry__cublas_form_t {
    gantry__cublas_matrix_t left;
    gantry__cublas_matrix_t right;
    gantry__cublas_matrix_t out;
    int32_t dtype;
    int32_t batch_count;
    uint64_t most_workspace_bytes;
} gantry__cublas_form_t;

typedef struct gantry__cublas_plan_t {
    gantry__cublas_form_t form;
    uint64_t last_use;
    uint32_t users;
    bool is_kept; /* in the device's list */
    gantry__cublas_desc_t desc;
    gantry__cublas_layout_t left;
    gantry__cublas_layout_t right;
    gantry__cublas_layout_t out;
    gantry__cublas_choice_t choice;
} gantry__cublas_plan_t;

/* The plan of a form, kept or made now, for a device whose handle is there and whose context is
 * entered. The library's number, or GANTRY__CUBLAS_NO_HOST_MEMORY, when it fails: nothing to
 * give back then. */
gantry__cublas_status_t gantry__cublas_plan_take(gantry_backend_device_t *device,
                                                 const gantry__cublas_form_t *form,
                                                 gantry__cublas_plan_t **out_plan);
void gantry__cublas_plan_give(gantry_backend_device_t *device, gantry__cublas_plan_t *plan);
/* Nobody uses one any more. */
void gantry__cublas_plans_forget(gantry_backend_device_t *device);

#endif
