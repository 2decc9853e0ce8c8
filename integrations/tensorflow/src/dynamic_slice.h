/* SPDX-License-Identifier: Apache-2.0 */
/* Slices whose place is an input: XlaDynamicSlice and XlaDynamicUpdateSlice, which Keras calls for
 * keras.ops.slice_update. TensorFlow would compile both by XLA, which has no compiler for Gantry's
 * devices. Init-only. */
#ifndef GANTRY_TENSORFLOW_DYNAMIC_SLICE_H
#define GANTRY_TENSORFLOW_DYNAMIC_SLICE_H

/* Registers both kernels. */
void dynamic_slice_register(void);

#endif
