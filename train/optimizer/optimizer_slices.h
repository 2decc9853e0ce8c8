/* SPDX-License-Identifier: Apache-2.0 */
/* When a model gives an optimizer slices. */
#ifndef GANTRY_TRAIN_OPTIMIZER_SLICES_H
#define GANTRY_TRAIN_OPTIMIZER_SLICES_H

#include <gantry_train/optimizer.h>

/* The least elements of a variable whose gradient a model gives as slices: a dense gradient of
 * fewer is written and read at once. */
#define GANTRY__TRAIN_LEAST_SPARSE (INT64_C(1) << 20)

/* Whether it pays to give slices of the variable's gradient, and whether slices of one row must be
 * added before, so that the numbers are those of a dense gradient. */
bool gantry__train_profits_by_slices(const gantry_optimizer_t *optimizer,
                                     const gantry_variable_t *variable, bool *out_adds_rows);

#endif
