/* SPDX-License-Identifier: Apache-2.0 */
/* When a model gives an optimizer slices of a gradient in place of a dense gradient. Owner: nothing
 * is kept. Threads: externally synchronised, as the optimizer. */
#ifndef GANTRY_TRAIN_OPTIMIZER_SLICES_H
#define GANTRY_TRAIN_OPTIMIZER_SLICES_H

#include <gantry_train/optimizer.h>

/* The least elements of a variable whose gradient a model gives as slices, and how many times the
 * slices' elements they must be. Steps of an embedding and a Dense layer on 2 threads of a Zen 5
 * that other work shared, in microseconds, with slices and dense:
 *
 *                                              SGD             Adagrad
 *       slices   rows                    slices   dense    slices   dense
 *          320   10,000 of 7 elements        17      24        27      44
 *        9,600   10,000 of 7                102     343       440     115
 *        9,600   20,000 of 64               371     598      1117     930
 *          320   1,000,000 of 64             25  50,000        42   110,000 */
#define GANTRY__TRAIN_LEAST_SPARSE (INT64_C(1) << 20)
#define GANTRY__TRAIN_LEAST_SPARSE_TIMES 4

/* What a model does with the slices of a gradient. */
typedef enum gantry__slice_use_t {
    GANTRY__SLICES_DENSE = 0, /* makes them dense */
    GANTRY__SLICES_APART = 1, /* gives them to the optimizer */
    GANTRY__SLICES_ADDED = 2  /* first adds those of a row, which the optimizer squares */
} gantry__slice_use_t;

/* Returns what to do with a gradient of this many slices. */
gantry__slice_use_t gantry__train_use_of_slices(const gantry_optimizer_t *optimizer,
                                                const gantry_variable_t *variable, int64_t slices);

#endif
