/* SPDX-License-Identifier: Apache-2.0 */
/* A table of plans by their form: those that were used last, found by a hash.
 *
 * Keeps pointers; makes and releases nothing.
 * Owner: the device. Threads: externally synchronised, by device->lock. */
#ifndef GANTRY_CUDA_CUBLAS_TABLE_H
#define GANTRY_CUDA_CUBLAS_TABLE_H

#include <stdbool.h>

#include "cuda/cublas/cuda_cublas.h"

#define GANTRY__CUBLAS_PLANS 512 /* that a table keeps; also its buckets, a power of two */

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
    uint64_t epilogue; /* GANTRY__CUBLAS_EPILOGUE_... */
    uint64_t most_workspace_bytes;
} gantry__cublas_form_t;

typedef struct gantry__cublas_plan_t {
    gantry__cublas_form_t form;
    struct gantry__cublas_plan_t *next; /* of its bucket */
    uint64_t last_use;
    uint32_t users;
    bool is_kept; /* in the device's table */
    gantry__cublas_desc_t desc;
    gantry__cublas_layout_t left;
    gantry__cublas_layout_t right;
    gantry__cublas_layout_t out;
    gantry__cublas_choice_t choice;
    /* of a plan without objects: what the library answered to the form */
    gantry__cublas_status_t answer;
} gantry__cublas_plan_t;

typedef struct gantry__cublas_table_t {
    gantry__cublas_plan_t *buckets[GANTRY__CUBLAS_PLANS];
    uint32_t count;
    uint64_t uses;
} gantry__cublas_table_t;

/* The plan of the form, one user more; NULL: the table has none. */
gantry__cublas_plan_t *gantry__cublas_table_find(gantry__cublas_table_t *table,
                                                 const gantry__cublas_form_t *form);
/* Keeps the plan, whose one user is the caller. Returns the plan that gives way, if any, for the
 * caller to release. Where each is in use the new one is not kept. */
gantry__cublas_plan_t *gantry__cublas_table_keep(gantry__cublas_table_t *table,
                                                 gantry__cublas_plan_t *plan);
/* Takes any plan out, whether it is in use or not; NULL: none is left. */
gantry__cublas_plan_t *gantry__cublas_table_take(gantry__cublas_table_t *table);

#endif
