/* SPDX-License-Identifier: Apache-2.0 */
/* How the shapes of labels, predictions and weights are made to fit, and the errors where they do
 * not. A size that depends on data (-1, in a trace) fits any other.
 *
 * Owner: tensors belong to the scope. Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_FIT_H
#define GANTRY_TRAIN_FIT_H

#include <gantry/gantry.h>

/* The text of a shape, with room for any shape. */
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
/* Returns x, which must broadcast to `like`, repeated to its shape. */
const gantry_tensor_t *gantry__train_spread(gantry_scope_t *scope, const gantry_tensor_t *x,
                                            const gantry_tensor_t *like);
/* Returns the last dimension; 0 for a scalar. */
int64_t gantry__train_last_dim(const gantry_tensor_t *x);
/* Returns x as a matrix with its last dimension as columns; x itself if it is a matrix. */
const gantry_tensor_t *gantry__train_rows(gantry_scope_t *scope, const gantry_tensor_t *x);

/* Refuses a NULL in a scope that has not failed: "call: the labels are NULL". It returns whether x
 * is given. */
bool gantry__train_is_given(gantry_scope_t *scope, const char *call, const char *what,
                            const gantry_tensor_t *x);
/* Refuses labels that do not have the shape of predictions. */
bool gantry__train_same_shape(gantry_scope_t *scope, const char *call,
                              const gantry_tensor_t *labels, const gantry_tensor_t *predictions);
/* Returns labels of one number for each row of predictions, in the shape of predictions without the
 * last dimension: a last dimension of 1 is removed. Other labels are refused, and NULL is
 * returned. */
const gantry_tensor_t *gantry__train_row_labels(gantry_scope_t *scope, const char *call,
                                                const gantry_tensor_t *labels,
                                                const gantry_tensor_t *predictions);

#endif
