/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel ReverseSequence. Init-only. */
#ifndef GANTRY_TENSORFLOW_REVERSE_SEQUENCE_H
#define GANTRY_TENSORFLOW_REVERSE_SEQUENCE_H

/* Registers the kernel (kernel_sets.def). */
void reverse_sequence_register(void);

#endif
