/* SPDX-License-Identifier: Apache-2.0 */
#include "place/plan_cache.h"

#include <string.h>

#include "base/hash.h"

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

gantry__kept_plan_t *gantry__plan_cache_find(gantry__plan_cache_t *cache,
                                             const gantry__plan_key_t *key) {
    return find_in(atomic_load_explicit(&cache->buckets[bucket_of(key)], memory_order_acquire),
                   key);
}

gantry_status_t gantry__plan_cache_add(gantry__plan_cache_t *cache, const gantry__plan_key_t *key,
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
