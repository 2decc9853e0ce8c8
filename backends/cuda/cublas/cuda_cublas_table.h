/* SPDX-License-Identifier: Apache-2.0 */
/* A table of plans by their form: those that were used last, found by a hash. It keeps pointers,
 * and neither makes nor releases plans.
 *
 * Owner: the device. Threads: externally synchronised; device->lock must be held. */
#ifndef GANTRY_CUDA_CUBLAS_TABLE_H
#define GANTRY_CUDA_CUBLAS_TABLE_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

#include "cuda/cublas/cuda_cublas_api.h"

#define GANTRY__CUBLAS_PLANS 512 /* plans that a table keeps; also its buckets, a power of two */

/* One operand or the result, as the library sees it: column-major. */
typedef struct gantry__cublas_matrix_t {
    uint64_t rows;
    uint64_t columns;
    int64_t batch_stride; /* in elements */
    uint32_t is_transposed;
    uint32_t alignment; /* in bytes, for every batch's address: a power of two, at most 256 */
} gantry__cublas_matrix_t;

/* All that a choice depends on. Forms are compared byte by byte, so there must be no padding. */
typedef struct gantry__cublas_form_t {
    gantry__cublas_matrix_t left;
    gantry__cublas_matrix_t right;
    gantry__cublas_matrix_t out;
    int32_t dtype;
    int32_t batch_count;
    uint64_t epilogue; /* GANTRY__CUBLAS_EPILOGUE_... */
    uint64_t most_workspace_bytes;
} gantry__cublas_form_t;

typedef struct gantry__cublas_plan_t {
    gantry__cublas_form_t form;
    struct gantry__cublas_plan_t *next; /* the next plan of its bucket */
    uint64_t last_use;
    uint32_t users;
    bool is_kept; /* whether it is in the device's table */
    gantry__cublas_desc_t desc;
    gantry__cublas_layout_t left;
    gantry__cublas_layout_t right;
    gantry__cublas_layout_t out;
    gantry__cublas_choice_t choice;
    /* only a plan without objects: the library's answer for the form */
    gantry__cublas_status_t answer;
} gantry__cublas_plan_t;

/* Classes of forms that have a tuned choice each: thin, small, middle, large. */
#define GANTRY__CUBLAS_CLASSES 4

typedef struct gantry__cublas_table_t {
    gantry__cublas_plan_t *buckets[GANTRY__CUBLAS_PLANS];
    uint32_t count;
    uint64_t uses;
} gantry__cublas_table_t;

/* Returns the plan of the form, with one user more; NULL: the table has none. */
gantry__cublas_plan_t *gantry__cublas_table_find(gantry__cublas_table_t *table,
                                                 const gantry__cublas_form_t *form);
/* Keeps the plan, whose one user must be the caller. Returns the plan that is dropped for it, if
 * any, which the caller must release. If each is in use, the new one is not kept. */
gantry__cublas_plan_t *gantry__cublas_table_keep(gantry__cublas_table_t *table,
                                                 gantry__cublas_plan_t *plan);
/* Takes any plan out, whether it is in use or not; NULL: none is left. */
gantry__cublas_plan_t *gantry__cublas_table_take(gantry__cublas_table_t *table);

#endif
