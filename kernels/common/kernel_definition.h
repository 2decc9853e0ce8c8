/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for definitions of kernels and packs. A family that both the CPU backend and the pack for
 * devices have lists its kernels once, in the header of its shapes; both expand the list.
 *
 * Owner: constant data. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_KERNEL_DEFINITION_H
#define GANTRY_KERNELS_KERNEL_DEFINITION_H

#include "kernels/common/kernel_types.h"

/* The type constraints that many kernels have. */
static const gantry_type_constraint_t gantry__k_any_type[] = {{"T", GANTRY_DTYPES_ANY}};
static const gantry_type_constraint_t gantry__k_numeric_type[] = {{"T", GANTRY_DTYPES_NUMERIC}};
static const gantry_type_constraint_t gantry__k_floating_type[] = {{"T", GANTRY_DTYPES_FLOATING}};

#define GANTRY_K_COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* The initialiser of a definition. compute, and fields that few definitions have, come last, as
 * `.compute = f`. */
#define GANTRY_K_DEFINITION(op_, types_, type_count_, hosts_, host_count_, ...)         \
    GANTRY_K_PROMISING(GANTRY_KERNEL_BATCH_INVARIANT, op_, types_, type_count_, hosts_, \
                       host_count_, __VA_ARGS__)
/* The same with other promises. */
#define GANTRY_K_PROMISING(promises_, op_, types_, type_count_, hosts_, host_count_, ...) \
    {                                                                                     \
        .struct_size = sizeof(gantry_kernel_def_t), .op = op_, .types = types_,           \
        .type_count = type_count_, .host_args = hosts_, .host_arg_count = host_count_,    \
        .promises = promises_, __VA_ARGS__                                                \
    }

/* For a list over X(stem, "Op", compute, type constraints, names of host inputs, how many).
 * GANTRY_K_SIDE makes the function of compute: the CPU's (cpu_kernels.h) or the one of devices that
 * build programs (device_kernel.h). */
#define GANTRY_K_KERNEL(variable, op_, compute_, types_, hosts_, host_count_)            \
    const gantry_kernel_def_t variable =                                                 \
        GANTRY_K_DEFINITION(op_, types_, GANTRY_K_COUNT_OF(types_), hosts_, host_count_, \
                            .compute = GANTRY_K_SIDE(compute_));
#define GANTRY_K_CPU_KERNEL(stem, ...) GANTRY_K_KERNEL(gantry__cpu_##stem##_kernel, __VA_ARGS__)
#define GANTRY_K_CPU_KERNEL_DECLARATION(stem, ...) \
    extern const gantry_kernel_def_t gantry__cpu_##stem##_kernel;
#define GANTRY_K_CPU_KERNEL_POINTER(stem, ...) &gantry__cpu_##stem##_kernel,
#define GANTRY_K_PORTABLE_KERNEL(stem, ...) \
    GANTRY_K_KERNEL(gantry__portable_##stem##_kernel, __VA_ARGS__)
#define GANTRY_K_PORTABLE_KERNEL_DECLARATION(stem, ...) \
    extern const gantry_kernel_def_t gantry__portable_##stem##_kernel;
#define GANTRY_K_PORTABLE_KERNEL_POINTER(stem, ...) &gantry__portable_##stem##_kernel,

/* Defines the pack of kernels_, an array of pointers, and gantry_pack_query_<stem>, which the list
 * of packs names. */
#define GANTRY_K_PACK(stem, name_, kernels_)                                                    \
    static const gantry_kernel_pack_t stem##_pack = {                                           \
        .struct_size = sizeof(gantry_kernel_pack_t),                                            \
        .abi_version = 1,                                                                       \
        .name = name_,                                                                          \
        .program_kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,                       \
        .kernel_count = GANTRY_K_COUNT_OF(kernels_),                                            \
        .kernels = kernels_};                                                                   \
    int32_t gantry_pack_query_##stem(uint32_t max_abi, const gantry_kernel_pack_t **out_pack);  \
    int32_t gantry_pack_query_##stem(uint32_t max_abi, const gantry_kernel_pack_t **out_pack) { \
        *out_pack = max_abi >= stem##_pack.abi_version ? &stem##_pack : NULL;                   \
        return *out_pack ? GANTRY_OK : GANTRY_FAILED_PRECONDITION;                              \
    }                                                                                           \
    int32_t gantry_pack_query_##stem(uint32_t max_abi, const gantry_kernel_pack_t **out_pack)

#endif
