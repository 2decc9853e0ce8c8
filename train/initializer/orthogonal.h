/* SPDX-License-Identifier: Apache-2.0 */
/* The orthogonal initialiser: Q of a random normal matrix. Externally synchronised. */
#ifndef GANTRY_TRAIN_ORTHOGONAL_H
#define GANTRY_TRAIN_ORTHOGONAL_H

#include <gantry/gantry.h>

/* shape has two dimensions or more, dtype is a float. Waits for the numbers. */
const gantry_tensor_t *gantry__train_orthogonal(gantry_scope_t *scope, int64_t seed0, int64_t seed1,
                                                double gain, gantry_dtype_t dtype,
                                                gantry_shape_t shape);

#endif
