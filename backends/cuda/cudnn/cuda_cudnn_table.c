/* SPDX-License-Identifier: Apache-2.0 */
/* The table is buckets of chains. When it is full, the plan to drop is found by a look at every
 * plan, which costs a microsecond, while the new one has cost milliseconds. */
#include "cuda/cudnn/cuda_cudnn_table.h"

#include <string.h>

#include "cuda/cuda_form_hash.h"

_Static_assert(sizeof(gantry__cudnn_form_t) % sizeof(uint64_t) == 0, "hashed by words");
_Static_assert((GANTRY__CUDNN_PLANS & (GANTRY__CUDNN_PLANS - 1)) == 0, "a power of two");

static uint32_t cudnn_table_bucket(const gantry__cudnn_form_t *form) {
    return gantry__cuda_form_bucket(form, sizeof *form, GANTRY__CUDNN_PLANS);
}

gantry__cudnn_plan_t *gantry__cudnn_table_find(gantry__cudnn_device_t *own,
                                               const gantry__cudnn_form_t *form) {
    gantry__cudnn_plan_t *plan = own->buckets[cudnn_table_bucket(form)];
    while (plan && memcmp(&plan->form, form, sizeof *form) != 0) plan = plan->next;
    if (plan) plan->last_use = ++own->uses;
    return plan;
}

void gantry__cudnn_table_keep(gantry__cudnn_device_t *own, gantry__cudnn_plan_t *plan) {
    gantry__cudnn_plan_t **bucket = &own->buckets[cudnn_table_bucket(&plan->form)];
    plan->last_use = ++own->uses;
    plan->next = *bucket;
    *bucket = plan;
    ++own->count;
}

void gantry__cudnn_table_take(gantry__cudnn_device_t *own, gantry__cudnn_plan_t *plan) {
    gantry__cudnn_plan_t **at = &own->buckets[cudnn_table_bucket(&plan->form)];
    while (*at != plan) at = &(*at)->next;
    *at = plan->next;
    --own->count;
}

gantry__cudnn_plan_t *gantry__cudnn_table_oldest(const gantry__cudnn_device_t *own) {
    gantry__cudnn_plan_t *oldest = NULL;
    for (uint32_t i = 0; i < GANTRY__CUDNN_PLANS; ++i) {
        for (gantry__cudnn_plan_t *plan = own->buckets[i]; plan; plan = plan->next) {
            if (!oldest || plan->last_use < oldest->last_use) oldest = plan;
        }
    }
    return oldest;
}
