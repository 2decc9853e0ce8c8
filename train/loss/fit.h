/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of labels, predictions and weights: how they are made to fit, and what is said where they
 * do not. A size that depends on data (-1, in a trace) fits any other. */
#ifndef GANTRY_TRAIN_FIT_H
#define GANTRY_TRAIN_FIT_H

#include <gantry/gantry.h>

/* The text of a shape, with room for any. */
typedef struct gantry__train_shape_text_t {
    char text[GANTRY_MAX_RANK * 21 + 3];
} gantry__train_shape_text_t;

gantry__train_shape_text_t gantry__train_shape_text(const gantry_tensor_t *x);

/* Keras's rule for two ranks that differ by one, where the larger one ends with a size of 1: if the
 * smaller is 1 and expands, that tensor gets such an end, else the other loses its own. */
void gantry__train_fit_ranks(gantry_scope_t *scope, const gantry_tensor_t **a,
                             const gantry_tensor_t **b, bool expands);
/* Whether the first `rank` dimensions of both are the same. */
bool gantry__train_dims_fit(const gantry_tensor_t *a, const gantry_tensor_t *b, int32_t rank);
bool gantry__train_shapes_fit(const gantry_tensor_t *a, const gantry_tensor_t *b);
/* Whether the two broadcast. */
bool gantry__train_broadcasts(const gantry_tensor_t *a, const gantry_tensor_t *b);
/* x, which broadcasts to `like`, repeated to its shape. */
const gantry_tensor_t *gantry__train_spread(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            const gantry_tensor_t *like);
/* The last dimension; 0 of a scalar. */
int64_t gantry__train_last_dim(const gantry_tensor_t *x);
/* x as a matrix with its last dimension as columns; x itself if it is one. */
const gantry_tensor_t *gantry__train_rows(gantry_scope_t *scope, const gantry_tensor_t *x);

/* NULL in a scope that has not failed is refused: "call: the labels are NULL". */
bool gantry__train_is_given(gantry_scope_t *scope, const char *call, const char *what,
                            const gantry_tensor_t *x);
/* Refuses labels that do not have the shape of predictions. */
bool gantry__train_same_shape(gantry_scope_t *scope, const char *call,
                              const gantry_tensor_t *labels, const gantry_tensor_t *predictions);
/* Labels of one number for each row of predictions, as predictions without the last dimension: a
 * last dimension of 1 is removed. Refuses others, then NULL. */
const gantry_tensor_t *gantry__train_row_labels(gantry_scope_t *scope, const char *call,
                                                const gantry_tensor_t *labels,
                                                const gantry_tensor_t *predictions);

#endif
