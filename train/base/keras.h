/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that Keras chose and that Gantry uses, too. Owner: none; constants. Threads:
 * thread-safe. */
#ifndef GANTRY_TRAIN_KERAS_H
#define GANTRY_TRAIN_KERAS_H

/* Keras's epsilon, which keeps divisions and logarithms finite. */
#define GANTRY__KERAS_EPSILON 1e-7

#endif
