/* SPDX-License-Identifier: Apache-2.0 */
/* Device text that only this backend uses: the build turns each kernels/X.cl into `const char
 * gantry__text_X[]`, a NUL-terminated string.
 * Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_TEXT_H
#define GANTRY_OPENCL_TEXT_H

#include <gantry/backend_abi.h>

extern const char gantry__text_constants[];
extern const char gantry__text_opencl_cpu_types[];
extern const char gantry__text_opencl_cpu_tile[];
extern const char gantry__text_opencl_cpu_matmul[];
extern const char gantry__text_opencl_cpu_conv[];
extern const char gantry__text_opencl_cpu_dots[];
extern const char gantry__text_opencl_cpu_rows[];
extern const char gantry__text_opencl_tensor_matmul[];

/* A program of these parts after the constants of abi_types.h, for OpenCL alone. */
#define GANTRY__OPENCL_PROGRAM(variable, label_, ...)                                    \
    static const char *const variable##_parts[] = {gantry__text_constants, __VA_ARGS__}; \
    static const gantry_program_source_t variable = {                                    \
        .struct_size = sizeof(gantry_program_source_t),                                  \
        .kinds = GANTRY_PROGRAM_OPENCL_C,                                                \
        .label = label_,                                                                 \
        .parts = variable##_parts,                                                       \
        .part_count = sizeof variable##_parts / sizeof variable##_parts[0]}

#endif
