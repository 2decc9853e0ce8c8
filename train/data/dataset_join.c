/* SPDX-License-Identifier: Apache-2.0 */
/* The transformations of two data sets: zip, concatenate, and enumerate, a zip with a counter. A
 * zip of more than two is a chain of zips. */
#include "train/base/fail.h"
#include "train/data/stage.h"

typedef struct join_stage_t {
    gantry__train_stage_t base; /* its input is NULL after the end of a concatenation's first */
    gantry__train_stage_t *second;
    gantry_element_t element; /* zip: of the second one */
    /* concatenate: of the first one; 0: it gave none */
    size_t count;
    gantry_dtype_t types[GANTRY_MAX_COMPONENTS];
} join_stage_t;

static void join_close(gantry__train_stage_t *stage) {
    join_stage_t *self = (join_stage_t *)stage;
    gantry__train_stage_close(self->second);
    gantry__train_element_deinit(&self->element);
}

/* ---- zip ---- */

static gantry_status_t zip_open(gantry__train_stage_t *stage) {
    return gantry__train_stage_open(stage->dataset->second, stage->pass,
                                    &((join_stage_t *)stage)->second);
}

/* Appends the components; the buffers change places, so that none is copied. */
static gantry_status_t dataset_join_append(gantry_element_t *out, gantry_element_t *from,
                                           const char *name) {
    const size_t first = out->count;
    if (first + from->count > GANTRY_MAX_COMPONENTS)
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_%s: %zu and %zu components are given; at most %d together are accepted",
            name, first, from->count, GANTRY_MAX_COMPONENTS);
    GANTRY__TRY(gantry__train_element_resize(out, first + from->count));
    for (size_t i = 0; i < from->count; ++i) {
        const gantry__train_buffer_t spare = out->buffers[first + i];
        out->components[first + i] = from->components[i];
        out->buffers[first + i] = from->buffers[i];
        from->buffers[i] = spare;
    }
    return GANTRY_OK;
}

/* At the first one's end, the second one is called once more, as tf.data does, because with equal
 * numbers of elements both must reach their ends, where a cache is filled. A failure of that call
 * has no meaning. */
static gantry_status_t zip_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                bool *out_end) {
    join_stage_t *self = (join_stage_t *)stage;
    GANTRY__TRY(gantry__train_stage_element(stage->input, item->element, out_end));
    if (*out_end) {
        bool ignored;
        (void)gantry__train_stage_element(self->second, &self->element, &ignored);
        return GANTRY_OK;
    }
    GANTRY__TRY(gantry__train_stage_element(self->second, &self->element, out_end));
    return *out_end
               ? GANTRY_OK
               : dataset_join_append(item->element, &self->element, stage->dataset->kind->name);
}

static const gantry__train_kind_t zip_kind = {.name = "zip",
                                              .stage_bytes = sizeof(join_stage_t),
                                              .open = zip_open,
                                              .next = zip_next,
                                              .close = join_close};

static const gantry__train_kind_t enumerate_kind = {.name = "enumerate",
                                                    .stage_bytes = sizeof(join_stage_t),
                                                    .open = zip_open,
                                                    .next = zip_next,
                                                    .close = join_close};

static int64_t zipped_cardinality(int64_t a, int64_t b) {
    if (a == GANTRY_UNKNOWN_CARDINALITY || b == GANTRY_UNKNOWN_CARDINALITY)
        return GANTRY_UNKNOWN_CARDINALITY;
    if (a == GANTRY_INFINITE_CARDINALITY) return b;
    return b == GANTRY_INFINITE_CARDINALITY || a < b ? a : b;
}

static gantry_dataset_t *zip_pair(const gantry__train_kind_t *kind, gantry_dataset_t *first,
                                  gantry_dataset_t *second) {
    if (!first) return gantry__train_dataset_refuse(second);
    if (!second) return gantry__train_dataset_refuse(first);
    return gantry__train_dataset_join(kind, sizeof(gantry_dataset_t), first, second,
                                      zipped_cardinality(first->cardinality, second->cardinality));
}

gantry_dataset_t *gantry_dataset_zip(gantry_dataset_t *const *inputs, size_t count) {
    if (!inputs || count == 0)
        return gantry__train_refuse_pointer(
            NULL, "gantry_dataset_zip: %s; 1 data set and more are accepted",
            inputs ? "count is 0" : "inputs is NULL");
    gantry_dataset_t *zipped = inputs[0];
    for (size_t i = 1; i < count; ++i) zipped = zip_pair(&zip_kind, zipped, inputs[i]);
    return zipped;
}

/* ---- enumerate ---- */

typedef struct counter_t {
    gantry_dataset_t base;
    int64_t start;
} counter_t;

typedef struct counter_stage_t {
    gantry__train_stage_t base;
    int64_t at;
} counter_stage_t;

static gantry_status_t counter_open(gantry__train_stage_t *stage) {
    ((counter_stage_t *)stage)->at = ((const counter_t *)stage->dataset)->start;
    return GANTRY_OK;
}

static gantry_status_t counter_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                    bool *out_end) {
    counter_stage_t *self = (counter_stage_t *)stage;
    const gantry_shape_t scalar = GANTRY_SCALAR;
    *out_end = self->at == INT64_MAX;
    if (*out_end) return GANTRY_OK;
    item->element->count = 0;
    int64_t *number = gantry_element_component(item->element, 0, GANTRY_INT64, &scalar);
    if (!number) return GANTRY_RESOURCE_EXHAUSTED;
    *number = self->at++;
    return GANTRY_OK;
}

static const gantry__train_kind_t counter_kind = {.name = "enumerate",
                                                  .stage_bytes = sizeof(counter_stage_t),
                                                  .open = counter_open,
                                                  .next = counter_next};

/* How many numbers there are from start on. More than INT64_MAX, and 2^62 and more with an input
 * that never ends, count as no end: a program counts through the rest in some 100 years. */
static int64_t numbers_from(int64_t start, int64_t input_cardinality) {
    const bool is_far = start < INT64_C(1) << 62;
    if (start <= 0 || (is_far && input_cardinality < 0)) return GANTRY_INFINITE_CARDINALITY;
    return INT64_MAX - start;
}

gantry_dataset_t *gantry_dataset_enumerate(gantry_dataset_t *input, int64_t start) {
    if (!input) return NULL;
    counter_t *counter = gantry__train_dataset_make(&counter_kind, sizeof *counter, NULL,
                                                    numbers_from(start, input->cardinality));
    if (!counter) return gantry__train_dataset_refuse(input);
    counter->start = start;
    return zip_pair(&enumerate_kind, &counter->base, input);
}

/* ---- concatenate ---- */

static gantry_status_t dataset_join_check_types(const join_stage_t *self,
                                                const gantry_element_t *element) {
    if (self->count == 0) return GANTRY_OK;
    if (element->count != self->count)
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_concatenate: the second data set has %zu components; the first one has %zu",
            element->count, self->count);
    for (size_t i = 0; i < self->count; ++i) {
        if (element->components[i].dtype == self->types[i]) continue;
        return gantry__train_refuse(
            NULL,
            "gantry_dataset_concatenate: component %zu of the second data set is %s; that of the first one is %s",
            i, gantry_dtype_name(element->components[i].dtype), gantry_dtype_name(self->types[i]));
    }
    return GANTRY_OK;
}

/* The next item of a part, first or second. */
static gantry_status_t part_next(join_stage_t *self, gantry__train_stage_t *part,
                                 gantry__train_item_t *item, bool *out_end) {
    if (self->base.dataset->rows) return gantry__train_stage_next(part, item, out_end);
    GANTRY__TRY(gantry__train_stage_element(part, item->element, out_end));
    if (*out_end) return GANTRY_OK;
    if (part == self->second) return dataset_join_check_types(self, item->element);
    self->count = item->element->count;
    for (size_t i = 0; i < self->count; ++i) self->types[i] = item->element->components[i].dtype;
    return GANTRY_OK;
}

/* Opens the second one at the end of the first one, which is then closed. */
static gantry_status_t concatenate_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                        bool *out_end) {
    join_stage_t *self = (join_stage_t *)stage;
    if (stage->input) {
        GANTRY__TRY(part_next(self, stage->input, item, out_end));
        if (!*out_end) return GANTRY_OK;
        gantry__train_stage_close(stage->input);
        stage->input = NULL;
        GANTRY__TRY(gantry__train_stage_open(stage->dataset->second, stage->pass, &self->second));
    }
    return part_next(self, self->second, item, out_end);
}

static const gantry__train_kind_t concatenate_kind = {.name = "concatenate",
                                                      .stage_bytes = sizeof(join_stage_t),
                                                      .gives_rows = true,
                                                      .next = concatenate_next,
                                                      .close = join_close};

static int64_t concatenated_cardinality(int64_t a, int64_t b) {
    if (a == GANTRY_INFINITE_CARDINALITY || b == GANTRY_INFINITE_CARDINALITY)
        return GANTRY_INFINITE_CARDINALITY;
    if (a < 0 || b < 0) return GANTRY_UNKNOWN_CARDINALITY;
    return a > INT64_MAX - b ? GANTRY_INFINITE_CARDINALITY : a + b;
}

gantry_dataset_t *gantry_dataset_concatenate(gantry_dataset_t *input, gantry_dataset_t *second) {
    if (!input) return gantry__train_dataset_refuse(second);
    if (!second) return gantry__train_dataset_refuse(input);
    return gantry__train_dataset_join(
        &concatenate_kind, sizeof(gantry_dataset_t), input, second,
        concatenated_cardinality(input->cardinality, second->cardinality));
}
