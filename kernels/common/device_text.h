/* SPDX-License-Identifier: Apache-2.0 */
/* The device text of the portable pack: the build turns each kernels/X.cl into gantry__text_X, a
 * packed text.
 *
 * A program's parts must come in this order: constants (of abi_types.h), dialect, launch,
 * type_table (of ops/types.def), types, [math_float32, math_float64], the family's own text. Owner:
 * constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_DEVICE_TEXT_H
#define GANTRY_KERNELS_DEVICE_TEXT_H

#include "kernels/common/kernel_definition.h"
#include "kernels/common/packed_text.h"

/* The constants of gantry/abi_types.h, which the build writes. */
extern const unsigned char gantry__text_constants[];
/* The build writes `extern const unsigned char gantry__text_X[];` for each
 * kernels/<family>/X.cl. */
#include "kernels/common/device_texts.inc"

/* Defines the program `variable`: the five parts that all programs have, followed by the given
 * ones. */
#define GANTRY_K_PROGRAM(variable, label_, ...)                                                 \
    GANTRY_K_TEXTS(variable, gantry__text_constants, gantry__text_dialect, gantry__text_launch, \
                   gantry__text_type_table, gantry__text_types, __VA_ARGS__);                   \
    static const gantry_program_source_t variable = {                                           \
        .struct_size = sizeof(gantry_program_source_t),                                         \
        .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,                               \
        .label = label_,                                                                        \
        GANTRY_K_TEXTS_SOURCE(variable)}

#endif
