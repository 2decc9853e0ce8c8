/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that only XLA computes: XlaCallModule of models from JAX, XlaDot and their like. TensorFlow
 * has kernels of them for each device of type GPU, which request a compiler of the platform from
 * XLA. For a plug-in's platform there is none: the op fails, and what it leaves ends the process
 * later. Without these kernels, TensorFlow places the ops on the CPU, where XLA compiles them. */
#include "register.h"
#include "variable_open.h"

void xla_ops_register(void) {
    const variable_functions_t *functions = variable_open();
    if (functions && functions->withdraw_xla) functions->withdraw_xla(REGISTER_DEVICE_TYPE);
}
