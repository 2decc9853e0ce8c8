/* SPDX-License-Identifier: Apache-2.0 */
/* The transformations that choose among items and their order: take, skip, repeat and shuffle. They
 * hand on what their input gives, rows or elements. */
#include <inttypes.h>

#include "train/base/fail.h"
#include "shared/memory.h"
#include "train/data/dataset_random.h"
#include "train/data/stage.h"

/* ---- take, skip and repeat ---- */

typedef struct counted_t {
    gantry_dataset_t base;
    int64_t count; /* -1: without bound */
} counted_t;

typedef struct counted_stage_t {
    gantry__train_stage_t base;
    int64_t done;
    gantry_element_t skipped;
    bool gave_item; /* in the present repetition */
} counted_stage_t;

static int64_t dataset_order_count_of(const gantry__train_stage_t *stage) {
    return ((const counted_t *)stage->dataset)->count;
}

static gantry_dataset_t *counted_make(const gantry__train_kind_t *kind, gantry_dataset_t *input,
                                      int64_t count, int64_t cardinality) {
    if (!input) return NULL;
    if (count < -1) {
        (void)gantry__train_refuse(
            NULL, "gantry_dataset_%s: the count is %" PRId64 "; 0 and more are accepted, and -1",
            kind->name, count);
        return gantry__train_dataset_refuse(input);
    }
    counted_t *self = gantry__train_dataset_make(kind, sizeof *self, input, cardinality);
    if (!self) return NULL;
    self->count = count;
    return &self->base;
}

static gantry_status_t take_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                 bool *out_end) {
    counted_stage_t *self = (counted_stage_t *)stage;
    *out_end = self->done == dataset_order_count_of(stage);
    if (*out_end) return GANTRY_OK;
    ++self->done;
    return gantry__train_stage_next(stage->input, item, out_end);
}

static const gantry__train_kind_t take_kind = {
    .name = "take", .stage_bytes = sizeof(counted_stage_t), .gives_rows = true, .next = take_next};

gantry_dataset_t *gantry_dataset_take(gantry_dataset_t *input, int64_t count) {
    const int64_t known = gantry_dataset_cardinality(input);
    const bool all = count < 0 || (known >= 0 && known < count);
    const bool is_open = known == GANTRY_UNKNOWN_CARDINALITY && count != 0;
    return counted_make(&take_kind, input, count, all || is_open ? known : count);
}

/* Skips when the first item is requested, so that the thread of a prefetch does it. */
static gantry_status_t skip_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                 bool *out_end) {
    counted_stage_t *self = (counted_stage_t *)stage;
    *out_end = dataset_order_count_of(stage) < 0;
    while (!*out_end && self->done < dataset_order_count_of(stage)) {
        gantry__train_item_t ignored = {.element = &self->skipped};
        GANTRY__TRY(gantry__train_stage_next(stage->input, &ignored, out_end));
        ++self->done;
    }
    return *out_end ? GANTRY_OK : gantry__train_stage_next(stage->input, item, out_end);
}

static void skip_close(gantry__train_stage_t *stage) {
    gantry__train_element_deinit(&((counted_stage_t *)stage)->skipped);
}

static const gantry__train_kind_t skip_kind = {.name = "skip",
                                               .stage_bytes = sizeof(counted_stage_t),
                                               .gives_rows = true,
                                               .next = skip_next,
                                               .close = skip_close};

gantry_dataset_t *gantry_dataset_skip(gantry_dataset_t *input, int64_t count) {
    const int64_t known = gantry_dataset_cardinality(input);
    const int64_t skipped = count < 0 ? INT64_MAX : count;
    const int64_t left = known < 0 ? known : known > skipped ? known - skipped : 0;
    return counted_make(&skip_kind, input, count, count < 0 ? 0 : left);
}

/* Ends when the count is reached, and also after a repetition without items, which would never
 * end. */
static gantry_status_t repeat_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                   bool *out_end) {
    counted_stage_t *self = (counted_stage_t *)stage;
    for (;;) {
        if (!stage->input) {
            *out_end = self->done == dataset_order_count_of(stage);
            if (*out_end) return GANTRY_OK;
            GANTRY__TRY(
                gantry__train_stage_open(stage->dataset->input, stage->pass, &stage->input));
            self->gave_item = false;
        }
        bool input_ends;
        GANTRY__TRY(gantry__train_stage_next(stage->input, item, &input_ends));
        if (!input_ends) {
            self->gave_item = true;
            return GANTRY_OK;
        }
        gantry__train_stage_close(stage->input);
        stage->input = NULL;
        ++self->done;
        *out_end = !self->gave_item;
        if (*out_end) return GANTRY_OK;
    }
}

static const gantry__train_kind_t repeat_kind = {.name = "repeat",
                                                 .stage_bytes = sizeof(counted_stage_t),
                                                 .gives_rows = true,
                                                 .opens_input = true,
                                                 .next = repeat_next};

static int64_t repeated_cardinality(int64_t known, int64_t times) {
    if (known == 0 || times == 0) return 0;
    if (known == GANTRY_UNKNOWN_CARDINALITY) return known;
    if (known < 0 || times < 0) return GANTRY_INFINITE_CARDINALITY;
    return known > INT64_MAX / times ? GANTRY_INFINITE_CARDINALITY : known * times;
}

gantry_dataset_t *gantry_dataset_repeat(gantry_dataset_t *input, int64_t times) {
    return counted_make(&repeat_kind, input, times,
                        repeated_cardinality(gantry_dataset_cardinality(input), times));
}

/* ---- shuffle ---- */

typedef struct shuffle_t {
    gantry_dataset_t base;
    int64_t buffer_size;
    uint64_t seed;
    bool reshuffles;
    _Atomic uint64_t next_iteration;
} shuffle_t;

typedef struct shuffle_stage_t {
    gantry__train_stage_t base;
    gantry__train_random_t random;
    gantry__train_item_t *items;
    size_t count;
    size_t capacity; /* of items */
    size_t wanted;   /* the buffer's size */
    size_t elements; /* slots that have an element, full or spare */
} shuffle_stage_t;

static gantry_status_t shuffle_open(gantry__train_stage_t *stage) {
    shuffle_stage_t *self = (shuffle_stage_t *)stage;
    shuffle_t *dataset = (shuffle_t *)stage->dataset;
    const uint64_t iteration =
        atomic_fetch_add_explicit(&dataset->next_iteration, 1, memory_order_relaxed);
    gantry__train_random_init(&self->random, dataset->seed, dataset->reshuffles ? iteration : 0);
    self->wanted =
        (uint64_t)dataset->buffer_size < SIZE_MAX ? (size_t)dataset->buffer_size : SIZE_MAX;
    return GANTRY_OK;
}

/* Makes room for one more item. */
static gantry_status_t shuffle_grow(shuffle_stage_t *self) {
    if (!gantry__grow(&self->items, self->count, &self->capacity, sizeof self->items[0]))
        return GANTRY_RESOURCE_EXHAUSTED;
    if (self->base.dataset->rows || self->count < self->elements) return GANTRY_OK;
    gantry_element_t *element = gantry__alloc(1, sizeof *element);
    if (!element) return GANTRY_RESOURCE_EXHAUSTED;
    self->items[self->elements++].element = element;
    return GANTRY_OK;
}

static gantry_status_t shuffle_fill(shuffle_stage_t *self) {
    bool input_ends = false;
    while (!input_ends && self->count < self->wanted) {
        GANTRY__TRY(shuffle_grow(self));
        GANTRY__TRY(
            gantry__train_stage_next(self->base.input, &self->items[self->count], &input_ends));
        if (!input_ends) ++self->count;
    }
    return GANTRY_OK;
}

/* Gives a random item of the full buffer; the last one takes its place. */
static gantry_status_t shuffle_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                    bool *out_end) {
    shuffle_stage_t *self = (shuffle_stage_t *)stage;
    GANTRY__TRY(shuffle_fill(self));
    *out_end = self->count == 0;
    if (*out_end) return GANTRY_OK;
    gantry__train_item_t *chosen =
        &self->items[gantry__train_random_below(&self->random, self->count)];
    gantry__train_item_t *last = &self->items[--self->count];
    if (stage->dataset->rows)
        item->row = chosen->row;
    else
        gantry__train_element_exchange(item->element, chosen->element);
    const gantry__train_item_t kept = *chosen;
    *chosen = *last;
    *last = kept; /* the spare element's slot */
    return GANTRY_OK;
}

static void shuffle_close(gantry__train_stage_t *stage) {
    shuffle_stage_t *self = (shuffle_stage_t *)stage;
    for (size_t i = 0; i < self->elements; ++i) {
        gantry__train_element_deinit(self->items[i].element);
        gantry__free(self->items[i].element);
    }
    gantry__free(self->items);
}

const gantry__train_kind_t gantry__train_shuffle_kind = {.name = "shuffle",
                                                         .stage_bytes = sizeof(shuffle_stage_t),
                                                         .gives_rows = true,
                                                         .open = shuffle_open,
                                                         .next = shuffle_next,
                                                         .close = shuffle_close};

void gantry__train_shuffle_set_iteration(gantry_dataset_t *dataset, uint64_t iteration) {
    atomic_store_explicit(&((shuffle_t *)dataset)->next_iteration, iteration, memory_order_relaxed);
}

uint64_t gantry__train_shuffle_get_iteration(gantry_dataset_t *dataset) {
    return atomic_load_explicit(&((shuffle_t *)dataset)->next_iteration, memory_order_relaxed);
}

gantry_dataset_t *gantry_dataset_shuffle(gantry_dataset_t *input, int64_t buffer_size,
                                         uint64_t seed, bool reshuffle) {
    if (!input) return NULL;
    if (buffer_size < 1) {
        (void)gantry__train_refuse(
            NULL, "gantry_dataset_shuffle: buffer_size is %" PRId64 "; 1 and more are accepted",
            buffer_size);
        return gantry__train_dataset_refuse(input);
    }
    shuffle_t *self = gantry__train_dataset_make(&gantry__train_shuffle_kind, sizeof *self, input,
                                                 gantry_dataset_cardinality(input));
    if (!self) return NULL;
    self->buffer_size = buffer_size;
    self->seed = seed;
    self->reshuffles = reshuffle;
    atomic_init(&self->next_iteration, 0);
    return &self->base;
}
