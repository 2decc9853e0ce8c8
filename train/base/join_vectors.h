/* SPDX-License-Identifier: Apache-2.0 */
/* Concat of any number of tensors: one op takes at most GANTRY_MAX_OP_INPUTS of them. Owner: the
 * scope has the result. Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_JOIN_VECTORS_H
#define GANTRY_TRAIN_JOIN_VECTORS_H

#include <gantry/gantry.h>

/* Joins the `count` tensors of `list`, which must have one type, along dimension 0. The caller must
 * not use the list afterwards, because the call overwrites it. It returns NULL after a failure,
 * which the scope keeps. */
const gantry_tensor_t *gantry__join_vectors(gantry_scope_t *scope, const gantry_tensor_t **list,
                                            size_t count);

#endif
