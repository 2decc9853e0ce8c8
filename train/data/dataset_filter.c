/* SPDX-License-Identifier: Apache-2.0 */
/* Filter: the items that a function of the program keeps. */
#include <inttypes.h>
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/data/stage.h"

typedef struct filter_t {
    gantry_dataset_t base;
    gantry_dataset_filter_fn predicate;
    void *user;
} filter_t;

typedef struct filter_stage_t {
    gantry__train_stage_t base;
    gantry_element_t row; /* points at a row, for the predicate */
    uint64_t asked;       /* elements */
} filter_stage_t;

static gantry_status_t call_predicate(filter_stage_t *self, const gantry_element_t *element,
                                      bool *out_keep) {
    const filter_t *dataset = (const filter_t *)self->base.dataset;
    *out_keep = false;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    (void)gantry_fail(GANTRY_OK, ""); /* so that a text after the call is the callback's */
    const gantry_status_t status =
        dataset->predicate(dataset->user, element->components, element->count, out_keep);
    const uint64_t index = self->asked++;
    if (status == GANTRY_OK) return GANTRY_OK;
    char text[GANTRY__TRAIN_PROBLEM_BYTES];
    (void)snprintf(text, sizeof text, "%s", gantry_last_message());
    return gantry__train_fail(
        status, "gantry_dataset_filter: the function failed for element %" PRIu64 " with %s%s%s",
        index, gantry_status_name(status), text[0] ? ": " : "", text);
}

static gantry_status_t filter_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                   bool *out_end) {
    filter_stage_t *self = (filter_stage_t *)stage;
    const gantry__train_rows_t *rows = stage->dataset->rows;
    for (bool keeps = false; !keeps;) {
        GANTRY__TRY(gantry__train_stage_next(stage->input, item, out_end));
        if (*out_end) return GANTRY_OK;
        if (rows) GANTRY__TRY(gantry__train_point_at_row(rows, item->row, &self->row));
        GANTRY__TRY(call_predicate(self, rows ? &self->row : item->element, &keeps));
    }
    return GANTRY_OK;
}

static void filter_close(gantry__train_stage_t *stage) {
    gantry__train_element_deinit(&((filter_stage_t *)stage)->row);
}

static const gantry__train_kind_t filter_kind = {.name = "filter",
                                                 .stage_bytes = sizeof(filter_stage_t),
                                                 .gives_rows = true,
                                                 .next = filter_next,
                                                 .close = filter_close};

gantry_dataset_t *gantry_dataset_filter(gantry_dataset_t *input, gantry_dataset_filter_fn predicate,
                                        void *user) {
    if (!input) return NULL;
    if (!predicate) {
        (void)gantry__train_refuse(NULL, "gantry_dataset_filter: the function is NULL");
        return gantry__train_dataset_refuse(input);
    }
    filter_t *self =
        gantry__train_dataset_make(&filter_kind, sizeof *self, input, GANTRY_UNKNOWN_CARDINALITY);
    if (!self) return NULL;
    self->predicate = predicate;
    self->user = user;
    return &self->base;
}
