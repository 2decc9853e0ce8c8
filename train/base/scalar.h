/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANTRY_TRAIN_SCALAR_H
#define GANTRY_TRAIN_SCALAR_H

#include <gantry/gantry.h>

/* A scalar of the floating type of `like`. NULL after a failure, which the scope keeps. */
const gantry_tensor_t *gantry__train_scalar(gantry_scope_t *scope, const gantry_tensor_t *like,
                                            double value);

#endif
