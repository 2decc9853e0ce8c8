/* SPDX-License-Identifier: Apache-2.0 */
/* A device's part of cuDNN, and its table of plans by their form: those that were used last, found
 * by a hash. The table keeps pointers, and neither makes nor releases plans.
 *
 * Owner: the device. Threads: externally synchronised; device->cudnn_lock must be held. */
#ifndef GANTRY_CUDA_CUDNN_TABLE_H
#define GANTRY_CUDA_CUDNN_TABLE_H

#include "cuda/cudnn/cuda_cudnn_choose.h"

#define GANTRY__CUDNN_PLANS 256 /* plans that a device keeps; also its buckets, a power of two */

typedef struct gantry__cudnn_plan_t {
    gantry__cudnn_form_t form;
    struct gantry__cudnn_plan_t *next; /* the next plan of its bucket */
    uint64_t last_use;
    gantry__cudnn_parts_t parts; /* status and reason: why there is no plan */
    gantry__cudnn_choice_t choice;
} gantry__cudnn_plan_t;

/* cuDNN on one device. */
typedef struct gantry__cudnn_device_t {
    bool is_tried;
    gantry__cudnn_handle_t handle; /* NULL: not made, or refused */
    gantry__cudnn_plan_t *buckets[GANTRY__CUDNN_PLANS];
    uint32_t count;
    uint64_t uses;
} gantry__cudnn_device_t;

/* Returns the plan of the form; NULL: the table has none. */
gantry__cudnn_plan_t *gantry__cudnn_table_find(gantry__cudnn_device_t *own,
                                               const gantry__cudnn_form_t *form);
/* Keeps a plan, for which there must be room. */
void gantry__cudnn_table_keep(gantry__cudnn_device_t *own, gantry__cudnn_plan_t *plan);
/* Takes a plan out. */
void gantry__cudnn_table_take(gantry__cudnn_device_t *own, gantry__cudnn_plan_t *plan);
/* The plan that was unused for the longest time; NULL: the table is empty. */
gantry__cudnn_plan_t *gantry__cudnn_table_oldest(const gantry__cudnn_device_t *own);

#endif
