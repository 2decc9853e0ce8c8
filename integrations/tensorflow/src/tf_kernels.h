/* SPDX-License-Identifier: Apache-2.0 */
/* TensorFlow's C API of kernels. Its header is written for C++ and defines a constant that C makes
 * global in every file; weak, the copies are one. Files must include this header instead. Owner:
 * nothing. Threads: thread-safe, because it only declares. */
#ifndef GANTRY_TENSORFLOW_TF_KERNELS_H
#define GANTRY_TENSORFLOW_TF_KERNELS_H

#pragma weak TF_InputRange_Args_STRUCT_SIZE
#include <tensorflow/c/kernels.h>

#endif
