/* SPDX-License-Identifier: Apache-2.0 */
/* When a model gives an optimizer slices. */
#ifndef GANTRY_TRAIN_OPTIMIZER_SLICES_H
#define GANTRY_TRAIN_OPTIMIZER_SLICES_H

#include <gantry_train/optimizer.h>

/* The least elements of a variable whose gradient a model gives as slices. The number of slices is
 * not known when a step is traced. Steps of an embedding and a Dense layer on 2 threads of a Zen 5
 * that other work shared, in microseconds, with slices and dense:
 *
 *                                              SGD             Adagrad
 *       slices   rows                    slices   dense    slices   dense
 *          320   10,000 of 7 elements        17      24        27      44
 *        9,600   10,000 of 7                102     343       440     115
 *        9,600   20,000 of 64               371     598      1117     930
 *          320   1,000,000 of 64           25  50,000        42   110,000 */
#define GANTRY__TRAIN_LEAST_SPARSE (INT64_C(1) << 20)

/* Whether it pays to give slices of the variable's gradient, and whether slices of one row must be
 * added before, so that the numbers are those of a dense gradient. */
bool gantry__train_profits_by_slices(const gantry_optimizer_t *optimizer,
                                     const gantry_variable_t *variable, bool *out_adds_rows);

#endif
