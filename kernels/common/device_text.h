/* SPDX-License-Identifier: Apache-2.0 */
/* The device text of the portable pack: the build turns each kernels/X.cl into `const char
 * gantry__text_X[]`, a NUL-terminated string.
 *
 * A program's parts, in this order: constants (of abi_types.h), dialect, launch, types, [math_float32, math_float64], the
 * family's own text.
 * Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_DEVICE_TEXT_H
#define GANTRY_KERNELS_DEVICE_TEXT_H

#include "kernels/common/kernel_definition.h"

/* common parts */
extern const char gantry__text_constants[];
extern const char gantry__text_dialect[];
extern const char gantry__text_launch[];
extern const char gantry__text_types[];
extern const char gantry__text_math_float32[];
extern const char gantry__text_math_float32_pair[];
extern const char gantry__text_math_float32_special[];
extern const char gantry__text_math_float32_activation[];
extern const char gantry__text_math_float32_gamma[];
extern const char gantry__text_math_float32_pow[];
extern const char gantry__text_math_float32_hyperbolic[];
extern const char gantry__text_math_float32_trig[];
extern const char gantry__text_math_float64[];
extern const char gantry__text_math_float64_erf[];
extern const char gantry__text_math_float64_library[];
extern const char gantry__text_math_float64_special[];
extern const char gantry__text_math_float64_trig[];
extern const char gantry__text_math_integer[];
extern const char gantry__text_math_modulo[];
extern const char gantry__text_math_rounding[];

extern const char gantry__text_convert[];
extern const char gantry__text_half[];
extern const char gantry__text_element[];
extern const char gantry__text_philox[];
extern const char gantry__text_work[];
extern const char gantry__text_item[];
extern const char gantry__text_indices[];
extern const char gantry__text_fold_lanes[];

/* families: one line each */
extern const char gantry__text_elementwise[];
extern const char gantry__text_cast[];
extern const char gantry__text_select[];
extern const char gantry__text_fill[];
extern const char gantry__text_range[];
extern const char gantry__text_lin_space[];
extern const char gantry__text_add_n[];
extern const char gantry__text_random[];
extern const char gantry__text_reduce_tree[];
extern const char gantry__text_reduce[];
extern const char gantry__text_reduce_finish[];
extern const char gantry__text_reduce_line[];
extern const char gantry__text_argmax[];
extern const char gantry__text_layer_norm[];
extern const char gantry__text_softmax[];
extern const char gantry__text_scan[];
extern const char gantry__text_scan_transposed[];
extern const char gantry__text_normalize_channels[];
extern const char gantry__text_loss[];
extern const char gantry__text_matmul[];
extern const char gantry__text_move[];
extern const char gantry__text_gather[];
extern const char gantry__text_one_hot[];
extern const char gantry__text_matrix[];
extern const char gantry__text_clip[];
extern const char gantry__text_permutation[];
extern const char gantry__text_pad_tile_roll[];
extern const char gantry__text_space_batch[];
extern const char gantry__text_draw[];
extern const char gantry__text_sort_key[];
extern const char gantry__text_sort[];
extern const char gantry__text_radix_pairs[];
extern const char gantry__text_sort_network_rows[];
extern const char gantry__text_sort_network[];
extern const char gantry__text_radix[];
extern const char gantry__text_top_k[];
extern const char gantry__text_scatter[];
extern const char gantry__text_segment[];
extern const char gantry__text_compaction[];
extern const char gantry__text_window[];
extern const char gantry__text_window_lines[];
extern const char gantry__text_pool[];
extern const char gantry__text_patches[];
extern const char gantry__text_window_sum[];

/* Defines the program `variable`, of these parts after the four that all have. */
#define GANTRY_K_PROGRAM(variable, label_, ...)                                                  \
    static const char *const variable##_parts[] = {gantry__text_constants, gantry__text_dialect, \
                                                   gantry__text_launch, gantry__text_types,      \
                                                   __VA_ARGS__};                                 \
    static const gantry_program_source_t variable = {                                            \
        .struct_size = sizeof(gantry_program_source_t),                                          \
        .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,                                \
        .label = label_,                                                                         \
        .parts = variable##_parts,                                                               \
        .part_count = GANTRY_K_COUNT_OF(variable##_parts)}

#endif
