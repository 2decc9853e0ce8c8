/* SPDX-License-Identifier: Apache-2.0 */
/* The cache: elements of the first complete iteration, kept in memory.
 *
 * A stage records copies while it hands elements on. At the end it gives the record to the data
 * set, unless another iterator was faster; stages that open later give elements that point into
 * that record, and do not open their input. A record that is given up may be freed at once,
 * because no element points into it. Components in stable memory are not copied. */
#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/data/dataset_thread.h"
#include "train/data/stage.h"

typedef struct record_t {
    gantry_element_t **elements;
    size_t count;
    size_t capacity;
} record_t;

typedef struct cache_t {
    gantry_dataset_t base;
    gantry__mutex_t lock; /* of the two below */
    bool is_complete;
    record_t record; /* constant once it is complete */
} cache_t;

typedef struct cache_stage_t {
    gantry__train_stage_t base;
    record_t record;         /* its own, while it records */
    const record_t *replays; /* the data set's, or NULL */
    size_t at;
} cache_stage_t;

static void record_deinit(record_t *record) {
    for (size_t i = 0; i < record->count; ++i) {
        gantry__train_element_deinit(record->elements[i]);
        gantry__free(record->elements[i]);
    }
    gantry__free(record->elements);
    *record = (record_t){.count = 0};
}

static bool dataset_cache_is_filled(cache_t *cache) {
    gantry__mutex_lock(&cache->lock);
    const bool is_complete = cache->is_complete;
    gantry__mutex_unlock(&cache->lock);
    return is_complete;
}

static gantry_status_t cache_open(gantry__train_stage_t *stage) {
    cache_t *cache = (cache_t *)stage->dataset;
    if (dataset_cache_is_filled(cache)) {
        ((cache_stage_t *)stage)->replays = &cache->record;
        return GANTRY_OK;
    }
    return gantry__train_stage_open(stage->dataset->input, stage->pass, &stage->input);
}

/* Gives the record to the data set, if that has none. */
static void cache_publish(cache_stage_t *self) {
    cache_t *cache = (cache_t *)self->base.dataset;
    gantry__mutex_lock(&cache->lock);
    if (!cache->is_complete) {
        cache->record = self->record;
        cache->is_complete = true;
        self->record = (record_t){.count = 0};
    }
    gantry__mutex_unlock(&cache->lock);
}

/* The consumer's element points at a kept one. */
static gantry_status_t point_at_element(const gantry_element_t *kept, gantry_element_t *out) {
    GANTRY__TRY(gantry__train_element_resize(out, kept->count));
    for (size_t i = 0; i < kept->count; ++i) out->components[i] = kept->components[i];
    return GANTRY_OK;
}

static gantry_status_t record_append(record_t *record, const gantry_element_t *element) {
    if (!gantry__grow(&record->elements, record->count, &record->capacity,
                      sizeof record->elements[0]))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry_element_t *kept = gantry__alloc(1, sizeof *kept);
    if (!kept) return GANTRY_RESOURCE_EXHAUSTED;
    record->elements[record->count++] = kept;
    return gantry__train_element_copy(kept, element);
}

static gantry_status_t record_next(cache_stage_t *self, gantry_element_t *out, bool *out_end) {
    GANTRY__TRY(gantry__train_stage_element(self->base.input, out, out_end));
    if (!*out_end) return record_append(&self->record, out);
    cache_publish(self);
    return GANTRY_OK;
}

static gantry_status_t cache_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                  bool *out_end) {
    cache_stage_t *self = (cache_stage_t *)stage;
    if (!self->replays) return record_next(self, item->element, out_end);
    *out_end = self->at == self->replays->count;
    return *out_end ? GANTRY_OK
                    : point_at_element(self->replays->elements[self->at++], item->element);
}

static void cache_close(gantry__train_stage_t *stage) {
    record_deinit(&((cache_stage_t *)stage)->record);
}

static void cache_deinit(gantry_dataset_t *dataset) {
    cache_t *cache = (cache_t *)dataset;
    record_deinit(&cache->record);
    gantry__mutex_deinit(&cache->lock);
}

static const gantry__train_kind_t cache_kind = {.name = "cache",
                                                .stage_bytes = sizeof(cache_stage_t),
                                                .opens_input = true,
                                                .open = cache_open,
                                                .next = cache_next,
                                                .close = cache_close,
                                                .deinit = cache_deinit};

bool gantry__train_is_filled_cache(gantry_dataset_t *dataset) {
    return dataset->kind == &cache_kind && dataset_cache_is_filled((cache_t *)dataset);
}

gantry_dataset_t *gantry_dataset_cache(gantry_dataset_t *input) {
    if (!input) return NULL;
    cache_t *self = gantry__train_dataset_make(&cache_kind, sizeof *self, input,
                                               gantry_dataset_cardinality(input));
    if (!self) return NULL;
    (void)gantry__mutex_init(&self->lock);
    return &self->base;
}
