/* SPDX-License-Identifier: Apache-2.0 */
#include "place/plan_cache.h"

#include <string.h>

#include "base/hash.h"
#include "device/device_table.h"
#include "device/logical_device.h"

gantry_status_t gantry__plan_cache_init(gantry__plan_cache_t *cache, const gantry__heap_t *heap) {
    cache->heap = heap;
    cache->kept = NULL;
    for (size_t i = 0; i < GANTRY__PLAN_BUCKETS; ++i) atomic_init(&cache->buckets[i], NULL);
    if (gantry__mutex_init(&cache->lock) != 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

void gantry__plan_cache_deinit(gantry__plan_cache_t *cache) {
    while (cache->kept) {
        gantry__kept_plan_t *kept = cache->kept;
        cache->kept = kept->next_kept;
        gantry__heap_free(cache->heap, kept, sizeof *kept);
    }
    gantry__mutex_deinit(&cache->lock);
}

/* A few multiplications: every op computes it. */
static size_t bucket_of(const gantry__plan_key_t *key) {
    uint64_t mix = (uint64_t)(uintptr_t)key->op * UINT64_C(0x9e3779b97f4a7c15);
    mix ^= key->types * UINT64_C(0xc2b2ae3d27d4eb4f);
    mix ^= ((uint64_t)(uintptr_t)key->wish + key->settings) * UINT64_C(0x165667b19e3779f9);
    mix ^= (uint64_t)(uintptr_t)key->pinned * UINT64_C(0x27d4eb2f165667c5);
    return (size_t)(mix >> 40) % GANTRY__PLAN_BUCKETS;
}

static bool is_equal(const gantry__plan_key_t *a, const gantry__plan_key_t *b) {
    return a->op == b->op && a->wish == b->wish && a->pinned == b->pinned && a->types == b->types &&
           a->settings == b->settings && a->variant == b->variant;
}

static gantry__kept_plan_t *find_in(gantry__kept_plan_t *kept, const gantry__plan_key_t *key) {
    while (kept && !is_equal(&kept->key, key)) kept = kept->next;
    return kept;
}

/* Finds the kept plan of the key; NULL: there is none. */
static gantry__kept_plan_t *find_plan(gantry__plan_cache_t *cache, const gantry__plan_key_t *key) {
    return find_in(atomic_load_explicit(&cache->buckets[bucket_of(key)], memory_order_acquire),
                   key);
}

/* Adds a plan, and returns the kept plan of the key: this one, or the one that another thread added
 * first. */
static gantry_status_t add_plan(gantry__plan_cache_t *cache, const gantry__plan_key_t *key,
                                const gantry__plan_t *plan, gantry__kept_plan_t **out_kept) {
    gantry__kept_plan_t *kept = gantry__heap_zalloc(cache->heap, sizeof *kept);
    if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
    kept->key = *key;
    kept->plan = *plan;
    size_t bucket = bucket_of(key);
    gantry__mutex_lock(&cache->lock);
    gantry__kept_plan_t *head = atomic_load(&cache->buckets[bucket]);
    *out_kept = find_in(head, key);
    if (!*out_kept) {
        kept->next = head;
        kept->next_kept = cache->kept;
        cache->kept = *out_kept = kept;
        atomic_store_explicit(&cache->buckets[bucket], kept, memory_order_release);
    }
    gantry__mutex_unlock(&cache->lock);
    if (*out_kept != kept) gantry__heap_free(cache->heap, kept, sizeof *kept);
    return GANTRY_OK;
}

/* Adds to the key what few requests have. */
static GANTRY__NOINLINE void add_rest_to_key(const gantry__place_request_t *request,
                                             gantry__plan_key_t *key) {
    if (request->exhausted) key->pinned = request->exhausted;
    key->settings |= (uint32_t)request->integer_variable << 2 |
                     (uint32_t)(request->call != NULL) << 3 |
                     (uint32_t)(request->exhausted != NULL) << 4 |
                     (uint32_t)(request->allowed != NULL) << 5 | (uint32_t)request->pin_reason << 6;
    if (request->passed_over)
        key->variant = (request->passed_over->position + 1) << 4 | (uint32_t)request->passed_why;
}

/* Fills the key in place: a copy of it would wait for the stores of its fields. */
static inline void plan_key_of(const gantry__place_request_t *request, gantry__plan_key_t *key) {
    *key =
        (gantry__plan_key_t){.op = request->op, .wish = request->wish, .pinned = request->pinned};
    /* type attributes come first */
    const gantry_attr_t *attr = request->attrs, *const end = attr + request->op->attr_count;
    for (; attr < end && attr->kind == GANTRY_ATTR_TYPE; ++attr)
        key->types = key->types << 8 | (uint64_t)attr->i;
    key->settings = gantry__plan_settings(
        request->soft, request->require, request->batch_invariant, request->any_order,
        atomic_load_explicit(&request->devices->losses, memory_order_acquire));
    if (request->exhausted || request->call || request->allowed || request->passed_over ||
        request->integer_variable || request->pin_reason)
        add_rest_to_key(request, key);
}

/* Plans of equal outcome and refusals share one record. */
static uint32_t variant_of(const gantry__plan_t *plan) {
    uintptr_t outcome[3 + 2 * GANTRY_MAX_REFUSALS] = {
        (uintptr_t)plan->device, (uintptr_t)(plan->kernel_count ? plan->kernels[0] : NULL),
        (uintptr_t)plan->reason};
    for (uint32_t i = 0; i < plan->refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        outcome[3 + 2 * i] = (uintptr_t)plan->refusals[i].device;
        outcome[4 + 2 * i] = (uintptr_t)plan->refusals[i].why;
    }
    return (uint32_t)gantry__hash64(outcome, sizeof outcome, 0) | 1;
}

/* A plan that depends on shapes, or on the nodes of a group, holds for these only: it is made for
 * each call, and kept once for its records. */
static bool depends_on_more(const gantry__place_request_t *request) {
    return request->call || request->allowed;
}

/* Places now; it is apart from the look-up, because a plan takes a large frame. */
static GANTRY__NOINLINE gantry_status_t place_now(gantry__plan_cache_t *cache,
                                                  const gantry__place_request_t *request,
                                                  gantry__plan_key_t *key,
                                                  gantry__kept_plan_t **out_kept) {
    gantry__plan_t plan;
    gantry_status_t status = gantry__place(request, &plan);
    if (*out_kept) return status; /* refused before; now refused again, with a fresh message */
    if (depends_on_more(request)) key->variant = variant_of(&plan);
    gantry_status_t added = add_plan(cache, key, &plan, out_kept);
    if (status == GANTRY_OK || added == GANTRY_OK) return status == GANTRY_OK ? added : status;
    /* refused, and not kept because memory was out: the same message again */
    return gantry__place(request, &plan);
}

gantry_status_t gantry__plan_cache_place(gantry__plan_cache_t *cache,
                                         const gantry__place_request_t *request,
                                         gantry__kept_plan_t **out_kept) {
    gantry__plan_key_t key;
    plan_key_of(request, &key);
    *out_kept = depends_on_more(request) ? NULL : find_plan(cache, &key);
    if (*out_kept && (*out_kept)->plan.device) return GANTRY_OK;
    return place_now(cache, request, &key, out_kept);
}

gantry__kept_plan_t *gantry__plan_cache_ask(gantry__plan_cache_t *cache,
                                            const gantry__place_request_t *request) {
    gantry__kept_plan_t *kept = NULL;
    if (!request->call && !request->allowed) {
        gantry__plan_key_t key;
        plan_key_of(request, &key);
        kept = find_plan(cache, &key);
    }
    if (kept) return kept;
    const uint32_t before = gantry__failures();
    (void)gantry__plan_cache_place(cache, request, &kept);
    gantry__forget_since(before);
    return kept;
}

bool gantry__plan_cache_warns(gantry__plan_cache_t *cache, gantry__kept_plan_t *kept) {
    if (atomic_load(&kept->has_warned)) return false;
    bool has_warned = false;
    gantry__mutex_lock(&cache->lock);
    for (const gantry__kept_plan_t *other = cache->kept; other && !has_warned;
         other = other->next_kept) {
        has_warned = atomic_load(&other->has_warned) && other->plan.op == kept->plan.op &&
                     other->plan.reason == kept->plan.reason;
    }
    atomic_store(&kept->has_warned, true);
    gantry__mutex_unlock(&cache->lock);
    return !has_warned;
}
