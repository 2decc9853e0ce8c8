/* SPDX-License-Identifier: Apache-2.0 */
/* The one kernel of every op of the op table: its inputs go to gantry_op_call under Gantry's name,
 * its results come back. Init-only. */
#ifndef GANTRY_TENSORFLOW_OP_KERNEL_H
#define GANTRY_TENSORFLOW_OP_KERNEL_H

/* Registers a kernel for every row of the table. */
void op_kernel_register(void);

#endif
