/* SPDX-License-Identifier: Apache-2.0 */
#include <gantry_train/dataset.h>

#include <stdio.h>
#include <string.h>

#include "base/os/process.h"
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/data/stage.h"

/* Stages call each other as deep as their chain, so its length must have a limit. */
#define LONGEST_CHAIN 256

/* ---- data sets ---- */

void *gantry__train_dataset_make(const gantry__train_kind_t *kind, size_t bytes,
                                 gantry_dataset_t *input, int64_t cardinality) {
    return gantry__train_dataset_join(kind, bytes, input, NULL, cardinality);
}

static gantry_dataset_t *refuse_both(gantry_dataset_t *input, gantry_dataset_t *second) {
    gantry_dataset_release(second);
    return gantry__train_dataset_refuse(input);
}

void *gantry__train_dataset_join(const gantry__train_kind_t *kind, size_t bytes,
                                 gantry_dataset_t *input, gantry_dataset_t *second,
                                 int64_t cardinality) {
    const uint32_t count = 1 + (input ? input->count : 0) + (second ? second->count : 0);
    if (count > LONGEST_CHAIN) {
        (void)gantry__train_refuse(
            NULL, "gantry_dataset_%s: the chain has %u data sets; at most %d are accepted",
            kind->name, count, LONGEST_CHAIN);
        return refuse_both(input, second);
    }
    gantry_dataset_t *dataset = gantry__alloc(1, bytes);
    if (!dataset) return refuse_both(input, second);
    dataset->kind = kind;
    dataset->input = input;
    dataset->second = second;
    dataset->rows = input && kind->gives_rows ? input->rows : NULL;
    if (second && second->rows != dataset->rows) dataset->rows = NULL;
    dataset->cardinality = cardinality;
    dataset->count = count;
    atomic_init(&dataset->references, 1);
    return dataset;
}

gantry_dataset_t *gantry__train_dataset_refuse(gantry_dataset_t *input) {
    gantry_dataset_release(input);
    return NULL;
}

gantry_dataset_t *gantry_dataset_retain(gantry_dataset_t *dataset) {
    if (dataset) (void)atomic_fetch_add_explicit(&dataset->references, 1, memory_order_relaxed);
    return dataset;
}

void gantry_dataset_release(gantry_dataset_t *dataset) {
    while (dataset &&
           atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel) == 1) {
        gantry_dataset_t *input = dataset->input;
        gantry_dataset_release(dataset->second);
        if (dataset->kind->deinit) dataset->kind->deinit(dataset);
        gantry__free(dataset);
        dataset = input;
    }
}

int64_t gantry_dataset_cardinality(const gantry_dataset_t *dataset) {
    return dataset ? dataset->cardinality : 0;
}

gantry_status_t gantry_dataset_set_iteration(gantry_dataset_t *dataset, uint64_t iteration) {
    if (!dataset)
        return gantry__train_fail_null(NULL, "gantry_dataset_set_iteration", "data set", "one");
    for (; dataset; dataset = dataset->input) {
        if (dataset->kind == &gantry__train_shuffle_kind)
            gantry__train_shuffle_set_iteration(dataset, iteration);
        if (dataset->second) (void)gantry_dataset_set_iteration(dataset->second, iteration);
    }
    return GANTRY_OK;
}

/* ---- stages ---- */

gantry_status_t gantry__train_stage_open(gantry_dataset_t *dataset, gantry__train_pass_t *pass,
                                         gantry__train_stage_t **out_stage) {
    const gantry__train_kind_t *kind = dataset->kind;
    *out_stage = NULL;
    gantry__train_stage_t *stage = gantry__alloc(1, kind->stage_bytes);
    if (!stage) return GANTRY_RESOURCE_EXHAUSTED;
    stage->dataset = dataset;
    stage->pass = pass;
    gantry_status_t status = GANTRY_OK;
    if (dataset->input && !kind->opens_input)
        status = gantry__train_stage_open(dataset->input, pass, &stage->input);
    if (status == GANTRY_OK && kind->open) {
        status = kind->open(stage);
        if (status != GANTRY_OK && kind->close) kind->close(stage);
    }
    if (status != GANTRY_OK) {
        gantry__train_stage_close(stage->input);
        gantry__free(stage);
        return status;
    }
    *out_stage = stage;
    return GANTRY_OK;
}

void gantry__train_stage_close(gantry__train_stage_t *stage) {
    while (stage) {
        gantry__train_stage_t *input = stage->input;
        if (stage->dataset->kind->close) stage->dataset->kind->close(stage);
        gantry__free(stage);
        stage = input;
    }
}

gantry_status_t gantry__train_stage_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                         bool *out_end) {
    *out_end = stage->has_ended;
    if (stage->has_ended) return GANTRY_OK;
    if (atomic_load_explicit(&stage->pass->is_cancelled, memory_order_relaxed))
        return gantry__train_fail(GANTRY_CANCELLED, "the data set's iterator was released");
    GANTRY__TRY(stage->dataset->kind->next(stage, item, out_end));
    stage->has_ended = *out_end;
    return GANTRY_OK;
}

gantry_status_t gantry__train_point_at_row(const gantry__train_rows_t *rows, int64_t row,
                                           gantry_element_t *element) {
    GANTRY__TRY(gantry__train_element_resize(element, rows->count));
    for (size_t i = 0; i < rows->count; ++i) {
        const unsigned char *data = rows->arrays[i].data;
        if (rows->row_bytes[i] > 0) data += (size_t)row * rows->row_bytes[i];
        element->components[i] = (gantry_array_t){rows->arrays[i].dtype, rows->row_shapes[i], data};
    }
    return GANTRY_OK;
}

gantry_status_t gantry__train_stage_element(gantry__train_stage_t *stage, gantry_element_t *element,
                                            bool *out_end) {
    const gantry__train_rows_t *rows = stage->dataset->rows;
    gantry__train_item_t item = {.element = element};
    GANTRY__TRY(gantry__train_stage_next(stage, &item, out_end));
    return rows && !*out_end ? gantry__train_point_at_row(rows, item.row, element) : GANTRY_OK;
}

/* ---- iterators ---- */

struct gantry_dataset_iterator_t {
    gantry_dataset_t *dataset;
    gantry__train_stage_t *stage;
    gantry__train_pass_t pass;
    gantry_element_t element;
    int64_t process; /* threads do not survive fork */
    bool has_ended;
    gantry_status_t status; /* its failure */
    char text[GANTRY__TRAIN_MESSAGE_BYTES];
};

gantry_status_t gantry_dataset_iterator_create(gantry_dataset_t *dataset,
                                               gantry_dataset_iterator_t **out_iterator) {
    if (!out_iterator)
        return gantry__train_refuse(NULL, "gantry_dataset_iterator_create: out_iterator is NULL");
    *out_iterator = NULL;
    if (!dataset)
        return gantry__train_fail_null(NULL, "gantry_dataset_iterator_create", "data set", "one");
    gantry_dataset_iterator_t *iterator = gantry__alloc(1, sizeof *iterator);
    if (!iterator) return GANTRY_RESOURCE_EXHAUSTED;
    atomic_init(&iterator->pass.is_cancelled, false);
    iterator->process = gantry__os_process();
    const gantry_status_t status =
        gantry__train_stage_open(dataset, &iterator->pass, &iterator->stage);
    if (status != GANTRY_OK) {
        gantry__free(iterator);
        return status;
    }
    iterator->dataset = gantry_dataset_retain(dataset);
    *out_iterator = iterator;
    return GANTRY_OK;
}

static gantry_status_t iterator_check(const gantry_dataset_iterator_t *iterator,
                                      const gantry_array_t **out_components, size_t *out_count,
                                      const bool *out_end) {
    if (!iterator)
        return gantry__train_fail_null(NULL, "gantry_dataset_iterator_next", "iterator",
                                       "one from gantry_dataset_iterator_create");
    if (!out_components || !out_count || !out_end)
        return gantry__train_refuse(NULL, "gantry_dataset_iterator_next: %s is NULL",
                                    !out_components ? "out_components"
                                    : !out_count    ? "out_count"
                                                    : "out_end");
    if (iterator->process == gantry__os_process()) return GANTRY_OK;
    return gantry__train_fail(
        GANTRY_FAILED_PRECONDITION,
        "gantry_dataset_iterator_next: the iterator belongs to process %ld, before fork; a child creates iterators of its own",
        (long)iterator->process);
}

gantry_status_t gantry_dataset_iterator_next(gantry_dataset_iterator_t *iterator,
                                             const gantry_array_t **out_components,
                                             size_t *out_count, bool *out_end) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    if (out_components) *out_components = NULL;
    if (out_count) *out_count = 0;
    if (out_end) *out_end = false;
    GANTRY__TRY(iterator_check(iterator, out_components, out_count, out_end));
    if (iterator->status != GANTRY_OK) return gantry_fail(iterator->status, iterator->text);
    const gantry_status_t status =
        gantry__train_stage_element(iterator->stage, &iterator->element, out_end);
    if (status != GANTRY_OK) {
        *out_end = false;
        iterator->status = status;
        (void)snprintf(iterator->text, sizeof iterator->text, "%s", gantry_last_message());
        return status;
    }
    if (*out_end) return GANTRY_OK;
    *out_components = iterator->element.components;
    *out_count = iterator->element.count;
    return GANTRY_OK;
}

void gantry_dataset_iterator_release(gantry_dataset_iterator_t *iterator) {
    if (!iterator || iterator->process != gantry__os_process()) return;
    atomic_store_explicit(&iterator->pass.is_cancelled, true, memory_order_relaxed);
    gantry__train_stage_close(iterator->stage);
    gantry__train_element_deinit(&iterator->element);
    gantry_dataset_release(iterator->dataset);
    gantry__free(iterator);
}
