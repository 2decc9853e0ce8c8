/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of data sets: a chain of gantry_dataset_t describes one, and a chain of stages,
 * one for each, is one pass over it.
 *
 *     dataset   arrays <- shuffle <- batch <- prefetch      counted, immutable but for locked parts
 *     stage     arrays <- shuffle <- batch <- prefetch      of one iterator
 *
 * A stage pulls items from its input. An item is an element, or, while nothing but sources,
 * shuffle, take, skip, filter and repeat were passed, the number of a row of the arrays: batch then
 * gathers rows directly into its buffer, and a shuffle moves 8 bytes per item. Other stages get a
 * row's element by gantry__train_stage_element: components that point at the row.
 *
 * Owner: a data set owns its input, and a stage is owned by who opened it and must close it.
 * Threads: data sets are thread-safe. A stage must be used by one thread at a time: by its
 * iterator's, or by the thread of a pipeline after it. */
#ifndef GANTRY_TRAIN_STAGE_H
#define GANTRY_TRAIN_STAGE_H

#include <stdatomic.h>

#include "train/data/element.h"

typedef struct gantry__train_stage_t gantry__train_stage_t;

/* The row of a stage that gives rows; otherwise the element that the stage fills. */
typedef union gantry__train_item_t {
    int64_t row;
    gantry_element_t *element;
} gantry__train_item_t;

/* Kinds of data sets. */
typedef struct gantry__train_kind_t {
    const char *name; /* "shuffle" */
    size_t stage_bytes;
    bool gives_rows; /* as its input does */
    /* The kind's `open` opens the input by itself, if at all. */
    bool opens_input;
    /* These may be NULL, except for next, which must be given. A stage whose open failed is closed,
     * so `close` must cope with a stage that is half open. */
    gantry_status_t (*open)(gantry__train_stage_t *stage);
    gantry_status_t (*next)(gantry__train_stage_t *stage, gantry__train_item_t *item,
                            bool *out_end);
    void (*close)(gantry__train_stage_t *stage);
    void (*deinit)(gantry_dataset_t *dataset);
} gantry__train_kind_t;

/* Rows of arrays: the content of a source. */
typedef struct gantry__train_rows_t {
    size_t count; /* arrays */
    gantry_array_t arrays[GANTRY_MAX_COMPONENTS];
    gantry_shape_t row_shapes[GANTRY_MAX_COMPONENTS];
    size_t row_bytes[GANTRY_MAX_COMPONENTS];
} gantry__train_rows_t;

/* The first member of each kind's struct. */
struct gantry_dataset_t {
    const gantry__train_kind_t *kind;
    gantry_dataset_t *input;          /* owned; NULL for sources */
    gantry_dataset_t *second;         /* owned; NULL but for joins of two data sets */
    const gantry__train_rows_t *rows; /* not NULL: its items are rows of these */
    int64_t cardinality;
    uint32_t count; /* data sets of the chain so far, both sides of a join included */
    atomic_size_t references;
};

/* The pass that a chain of stages belongs to. */
typedef struct gantry__train_pass_t {
    atomic_bool is_cancelled;
} gantry__train_pass_t;

/* The first member of each kind's stage. */
struct gantry__train_stage_t {
    gantry_dataset_t *dataset;
    gantry__train_pass_t *pass;
    gantry__train_stage_t *input;
    bool has_ended;
};

/* ---- data sets ---- */

/* Makes a data set of a kind, whose struct has `bytes` and must begin with gantry_dataset_t. It
 * takes over the input, after a failure, too, when it returns NULL. */
void *gantry__train_dataset_make(const gantry__train_kind_t *kind, size_t bytes,
                                 gantry_dataset_t *input, int64_t cardinality);
/* The same for a join of two data sets. It gives rows if both inputs give rows of the same arrays.
 * The kind must open and close the stages of the second one. */
void *gantry__train_dataset_join(const gantry__train_kind_t *kind, size_t bytes,
                                 gantry_dataset_t *input, gantry_dataset_t *second,
                                 int64_t cardinality);
/* Releases input and returns NULL, for a transformation that refuses its arguments. */
gantry_dataset_t *gantry__train_dataset_refuse(gantry_dataset_t *input);

/* ---- stages ---- */

/* Opens the stages of a data set and its inputs. *out_stage is NULL after a failure. */
gantry_status_t gantry__train_stage_open(gantry_dataset_t *dataset, gantry__train_pass_t *pass,
                                         gantry__train_stage_t **out_stage);
/* NULL does no harm. */
void gantry__train_stage_close(gantry__train_stage_t *stage);
/* Gets the next item; returns Cancelled when the pass was cancelled. */
gantry_status_t gantry__train_stage_next(gantry__train_stage_t *stage, gantry__train_item_t *item,
                                         bool *out_end);
/* Makes the element's components point at a row. */
gantry_status_t gantry__train_point_at_row(const gantry__train_rows_t *rows, int64_t row,
                                           gantry_element_t *element);
/* Gets the next item as an element. */
gantry_status_t gantry__train_stage_element(gantry__train_stage_t *stage, gantry_element_t *element,
                                            bool *out_end);

extern const gantry__train_kind_t gantry__train_shuffle_kind;
/* Sets the number of the next iteration of a shuffle. */
void gantry__train_shuffle_set_iteration(gantry_dataset_t *dataset, uint64_t iteration);
uint64_t gantry__train_shuffle_get_iteration(gantry_dataset_t *dataset);
/* Whether the data set is a cache that a complete iteration has filled. */
bool gantry__train_is_filled_cache(gantry_dataset_t *dataset);

#endif
