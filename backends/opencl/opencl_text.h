/* SPDX-License-Identifier: Apache-2.0 */
/* Device text that only this backend uses: the build turns each X.cl of backends/opencl into
 * gantry__text_X, a packed text. Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_TEXT_H
#define GANTRY_OPENCL_TEXT_H

#include <gantry/backend_abi.h>

#include "kernels/common/packed_text.h"

extern const unsigned char gantry__text_constants[];
extern const unsigned char gantry__text_opencl_cpu_types[];
extern const unsigned char gantry__text_opencl_cpu_tile[];
extern const unsigned char gantry__text_opencl_cpu_matmul[];
extern const unsigned char gantry__text_opencl_cpu_conv[];
extern const unsigned char gantry__text_opencl_cpu_filter[];
extern const unsigned char gantry__text_opencl_cpu_filter_kernels[];
extern const unsigned char gantry__text_opencl_cpu_dots[];
extern const unsigned char gantry__text_opencl_cpu_rows[];
extern const unsigned char gantry__text_opencl_tensor_matmul[];
extern const unsigned char gantry__text_pocl_builtins[];
extern const unsigned char gantry__text_pocl_builtins_rare[];

/* Defines a program of these parts after the constants of abi_types.h, only for OpenCL. */
#define GANTRY__OPENCL_PROGRAM(variable, label_, ...)              \
    GANTRY_K_TEXTS(variable, gantry__text_constants, __VA_ARGS__); \
    static const gantry_program_source_t variable = {              \
        .struct_size = sizeof(gantry_program_source_t),            \
        .kinds = GANTRY_PROGRAM_OPENCL_C,                          \
        .label = label_,                                           \
        GANTRY_K_TEXTS_SOURCE(variable)}

#endif
