/* SPDX-License-Identifier: Apache-2.0 */
/* The orthogonal initialiser: Q of a random normal matrix. Owner: the scope has the result.
 * Threads: externally synchronised, as the scope. */
#ifndef GANTRY_TRAIN_ORTHOGONAL_H
#define GANTRY_TRAIN_ORTHOGONAL_H

#include <gantry/gantry.h>

/* Makes the values of a weight. shape must have two dimensions or more. Types other than float32
 * and float64 are refused. The call waits for the random numbers, because the host orthogonalises
 * them. */
const gantry_tensor_t *gantry__train_orthogonal(gantry_scope_t *scope, int64_t seed0, int64_t seed1,
                                                double gain, gantry_dtype_t dtype,
                                                gantry_shape_t shape);

#endif
