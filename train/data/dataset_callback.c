/* SPDX-License-Identifier: Apache-2.0 */
/* A source whose elements the program's callbacks make. */
#include <inttypes.h>
#include <stdio.h>

#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/data/stage.h"

typedef struct callback_t {
    gantry_dataset_t base;
    gantry_dataset_source_t source;
} callback_t;

typedef struct callback_stage_t {
    gantry__train_stage_t base;
    void *state;
    bool has_begun;
    int64_t made;
    gantry__train_problem_t problem;
} callback_stage_t;

static const gantry_dataset_source_t *source_of(const gantry__train_stage_t *stage) {
    return &((const callback_t *)stage->dataset)->source;
}

static gantry_status_t callback_open(gantry__train_stage_t *stage) {
    callback_stage_t *self = (callback_stage_t *)stage;
    const gantry_dataset_source_t *source = source_of(stage);
    self->state = source->user;
    if (source->begin) {
        GANTRY__TRAIN_PROGRAM_FP_MODE(program);
        char text[GANTRY__TRAIN_PROBLEM_BYTES];
        (void)gantry_fail(GANTRY_OK, ""); /* so that a text after the call is the callback's */
        const gantry_status_t status = source->begin(source->user, &self->state);
        (void)snprintf(text, sizeof text, "%s", gantry_last_message());
        if (status != GANTRY_OK)
            return gantry__train_fail(status,
                                      "gantry_dataset_from_callback: begin failed with %s%s%s",
                                      gantry_status_name(status), text[0] ? ": " : "", text);
    }
    self->has_begun = true;
    return GANTRY_OK;
}

static gantry_status_t callback_check_end(const callback_stage_t *self, bool at_end) {
    const int64_t count = source_of(&self->base)->count;
    if (count == 0 || (at_end ? self->made == count : self->made < count)) return GANTRY_OK;
    return gantry__train_refuse(NULL,
                                at_end
                                    ? "gantry_dataset_from_callback: next ended after %" PRId64
                                      " elements; the source's count is %" PRId64
                                    : "gantry_dataset_from_callback: next gave more than %" PRId64
                                      " elements; the source's count is %" PRId64,
                                self->made, count);
}

static gantry_status_t callback_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                     bool *out_end) {
    callback_stage_t *self = (callback_stage_t *)stage;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    gantry__train_element_begin(item->element, &self->problem);
    gantry_status_t status = source_of(stage)->next(self->state, item->element, out_end);
    if (status == GANTRY_OK && *out_end && self->problem.status == GANTRY_OK) {
        item->element->problem = NULL;
        return callback_check_end(self, true);
    }
    GANTRY__TRAIN_TRY(gantry__train_element_end(
        item->element, status, "gantry_dataset_from_callback: next", (uint64_t)self->made));
    GANTRY__TRAIN_TRY(callback_check_end(self, false));
    ++self->made;
    return GANTRY_OK;
}

static void callback_close(gantry__train_stage_t *stage) {
    callback_stage_t *self = (callback_stage_t *)stage;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    if (self->has_begun && source_of(stage)->end) source_of(stage)->end(self->state);
}

static const gantry__train_kind_t callback_kind = {.name = "from_callback",
                                                   .stage_bytes = sizeof(callback_stage_t),
                                                   .open = callback_open,
                                                   .next = callback_next,
                                                   .close = callback_close};

static gantry_status_t callback_read(const gantry_dataset_source_t *given,
                                     gantry_dataset_source_t *out) {
    if (!given)
        return gantry__train_refuse(NULL, "gantry_dataset_from_callback: the source is NULL");
    GANTRY__TRAIN_TRY(gantry__struct_read(given, sizeof *out, out, sizeof *out,
                                          "gantry_dataset_from_callback: the source"));
    if (!out->next) return gantry__train_refuse(NULL, "gantry_dataset_from_callback: next is NULL");
    if (out->count >= 0) return GANTRY_OK;
    return gantry__train_refuse(NULL,
                                "gantry_dataset_from_callback: count is %" PRId64
                                "; the number of elements is accepted, or 0 where it is unknown",
                                out->count);
}

gantry_dataset_t *gantry_dataset_from_callback(const gantry_dataset_source_t *source) {
    gantry_dataset_source_t read;
    if (callback_read(source, &read) != GANTRY_OK) return NULL;
    callback_t *self =
        gantry__train_dataset_make(&callback_kind, sizeof *self, NULL,
                                   read.count > 0 ? read.count : GANTRY_UNKNOWN_CARDINALITY);
    if (!self) return NULL;
    self->source = read;
    return &self->base;
}
