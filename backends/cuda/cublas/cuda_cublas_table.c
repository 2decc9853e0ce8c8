/* SPDX-License-Identifier: Apache-2.0 */
/* The table is buckets of chains. When it is full, the plan to drop is found by a look at every
 * plan, which costs a microsecond, while the new plan has cost tens of them. */
#include "cuda/cublas/cuda_cublas_table.h"

#include <string.h>

#include "cuda/cuda_form_hash.h"

_Static_assert(sizeof(gantry__cublas_form_t) % sizeof(uint64_t) == 0, "hashed by words");
_Static_assert((GANTRY__CUBLAS_PLANS & (GANTRY__CUBLAS_PLANS - 1)) == 0, "a power of two");

static uint32_t table_bucket(const gantry__cublas_form_t *form) {
    return gantry__cuda_form_bucket(form, sizeof *form, GANTRY__CUBLAS_PLANS);
}

gantry__cublas_plan_t *gantry__cublas_table_find(gantry__cublas_table_t *table,
                                                 const gantry__cublas_form_t *form) {
    gantry__cublas_plan_t *plan = table->buckets[table_bucket(form)];
    while (plan && memcmp(&plan->form, form, sizeof *form) != 0) plan = plan->next;
    if (!plan) return NULL;
    ++plan->users;
    plan->last_use = ++table->uses;
    return plan;
}

static void unlink_plan(gantry__cublas_table_t *table, gantry__cublas_plan_t *plan) {
    gantry__cublas_plan_t **at = &table->buckets[table_bucket(&plan->form)];
    while (*at != plan) at = &(*at)->next;
    *at = plan->next;
    plan->is_kept = false;
    --table->count;
}

/* The plan that was unused for the longest time; NULL: each is in use. */
static gantry__cublas_plan_t *find_oldest(const gantry__cublas_table_t *table) {
    gantry__cublas_plan_t *oldest = NULL;
    for (uint32_t i = 0; i < GANTRY__CUBLAS_PLANS; ++i) {
        for (gantry__cublas_plan_t *plan = table->buckets[i]; plan; plan = plan->next) {
            if (plan->users == 0 && (!oldest || plan->last_use < oldest->last_use)) oldest = plan;
        }
    }
    return oldest;
}

gantry__cublas_plan_t *gantry__cublas_table_keep(gantry__cublas_table_t *table,
                                                 gantry__cublas_plan_t *plan) {
    gantry__cublas_plan_t *former = NULL;
    plan->users = 1;
    plan->last_use = ++table->uses;
    if (table->count == GANTRY__CUBLAS_PLANS) {
        former = find_oldest(table);
        if (!former) return NULL;
        unlink_plan(table, former);
    }
    gantry__cublas_plan_t **bucket = &table->buckets[table_bucket(&plan->form)];
    plan->next = *bucket;
    *bucket = plan;
    plan->is_kept = true;
    ++table->count;
    return former;
}

gantry__cublas_plan_t *gantry__cublas_table_take(gantry__cublas_table_t *table) {
    for (uint32_t i = 0; i < GANTRY__CUBLAS_PLANS; ++i) {
        gantry__cublas_plan_t *plan = table->buckets[i];
        if (plan) {
            unlink_plan(table, plan);
            return plan;
        }
    }
    return NULL;
}
