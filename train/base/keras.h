/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of Keras. */
#ifndef GANTRY_TRAIN_KERAS_H
#define GANTRY_TRAIN_KERAS_H

/* Its epsilon: keeps divisions and logarithms finite. */
#define GANTRY__KERAS_EPSILON 1e-7

#endif
