/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel CheckNumerics: its input, if all numbers are finite, else TensorFlow's error. It waits
 * for the device. tf.debugging.assert_all_finite puts the op where its input is, and soft placement
 * does not move it from there. Init-only. */
#ifndef GANTRY_TENSORFLOW_CHECK_NUMERICS_H
#define GANTRY_TENSORFLOW_CHECK_NUMERICS_H

/* Registers the kernel. */
void check_numerics_register(void);

#endif
