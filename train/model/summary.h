/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a model's summary: a table whose cells are wrapped as Keras's (rich's), and the
 * order of its rows. Owner: the caller has the page, the texts and the view, and must free them.
 * Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_SUMMARY_H
#define GANTRY_TRAIN_SUMMARY_H

#include "train/model/model_state.h"

/* ---- text: summary_table.c ---- */

/* The room that the caller gave for the text. */
typedef struct gantry__page_t {
    char *out;
    size_t room, length; /* length: of the whole text */
} gantry__page_t;

void gantry__page_put(gantry__page_t *page, const char *text);

/* A text of any length, which must be freed by gantry__train_free(bytes). Zeroed, it is empty. */
typedef struct gantry__summary_text_t {
    char *bytes; /* NULL: empty */
    size_t length, capacity;
    bool has_failed; /* memory is out */
} gantry__summary_text_t;

void gantry__summary_text_add(gantry__summary_text_t *text, const char *more);

/* ---- the table: summary_table.c ---- */

enum { GANTRY__SUMMARY_COLUMNS = 4 };

typedef struct gantry__table_t {
    gantry__page_t *page;
    size_t columns, widths[GANTRY__SUMMARY_COLUMNS]; /* of the contents */
    size_t right;                                    /* the column that is justified to the right */
} gantry__table_t;

typedef enum gantry__summary_line_t {
    GANTRY__RULE_TOP = 0,
    GANTRY__RULE_HEAD = 1, /* below the head */
    GANTRY__RULE_ROW = 2,
    GANTRY__RULE_BOTTOM = 3
} gantry__summary_line_t;

void gantry__table_put_rule(const gantry__table_t *table, gantry__summary_line_t rule);
/* One row, of as many lines as its longest cell takes. */
void gantry__table_put_row(const gantry__table_t *table, const char *const *cells, bool is_head);

/* ---- rows: summary_order.c ---- */

/* The rows of a functional model, in Keras's order: for each row the first value of its layer, or
 * an input. rows must have room for value_count entries. Keras leaves out layers that the output
 * does not need; here they have rows, because they are part of the model. */
gantry_status_t gantry__summary_order(const gantry_model_t *model, size_t *rows, size_t *out_count,
                                      bool *out_is_chain);

/* ---- blocks: summary_view.c ---- */

/* A view of a model in which blocks are layers. */
typedef struct gantry__summary_view_t {
    gantry_model_t model;
    gantry_layer_t *layers; /* of blocks */
    gantry__member_t *members;
    size_t layer_count;
    int32_t *map; /* of the values of the model, those of the view */
} gantry__summary_view_t;

/* The caller must call gantry__summary_view_deinit, after a failure, too. */
gantry_status_t gantry__summary_view_init(gantry__summary_view_t *view,
                                          const gantry_model_t *model);
void gantry__summary_view_deinit(gantry__summary_view_t *view);

#endif
