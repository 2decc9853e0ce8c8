/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of gradients: checks, joining, and sums. The functions return NULL after a failure, which
 * the scope keeps. Owner: tensors belong to the scope. Threads: externally synchronised, as the
 * scope. */
#ifndef GANTRY_TRAIN_SLICES_H
#define GANTRY_TRAIN_SLICES_H

#include <gantry_train/gradient.h>

/* Whether the gradient is slices. */
static inline bool gantry__is_sparse(const gantry_gradient_t *gradient) {
    return gradient->values != NULL || gradient->indices != NULL;
}

/* Refuses slices that do not fit the gradient's shape; `what` begins the error. */
gantry_status_t gantry__slices_check(gantry_scope_t *scope, const gantry_gradient_t *gradient,
                                     const char *what);
/* Returns zeros of the shape, with values added to the rows that indices name. */
const gantry_tensor_t *gantry__slices_add_rows(gantry_scope_t *scope, const gantry_tensor_t *values,
                                               const gantry_tensor_t *indices,
                                               const gantry_shape_t *shape);
#endif
