/* SPDX-License-Identifier: Apache-2.0 */
/* Concat of any number of tensors. Externally synchronised. */
#ifndef GANTRY_TRAIN_JOIN_VECTORS_H
#define GANTRY_TRAIN_JOIN_VECTORS_H

#include <gantry/gantry.h>

/* Joins tensors of one type along dimension 0, any number of them, in `list`, which it overwrites.
 * NULL after a failure, which the scope keeps. */
const gantry_tensor_t *gantry__join_vectors(gantry_scope_t *scope, const gantry_tensor_t **list,
                                            size_t count);

#endif
