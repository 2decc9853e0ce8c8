/* SPDX-License-Identifier: Apache-2.0 */
/* Registers kernels with TensorFlow. Owner: TensorFlow copies what it keeps. Threads: init-only,
 * while TensorFlow loads the plug-in. */
#ifndef GANTRY_TENSORFLOW_REGISTER_H
#define GANTRY_TENSORFLOW_REGISTER_H

#include <gantry/gantry.h>
#include "tf_kernels.h"

/* The type of the devices, as programs name it. */
#define REGISTER_DEVICE_TYPE "GPU"

/* The most type attributes of a kernel that are limited, and the most arguments in host memory. */
#define REGISTER_TYPES 4
#define REGISTER_HOST_ARGS 12

/* The element types that a kernel takes for one attribute of its op. */
typedef struct register_types_t {
    const char *attr; /* "T"; NULL ends a list */
    uint64_t types;   /* GANTRY_DTYPE_BIT of each: TensorFlow's numbers are Gantry's */
} register_types_t;

/* A kernel, which must serve every combination of the types. */
typedef struct register_kernel_t {
    const char *op;                            /* TensorFlow's name: "AddV2" */
    register_types_t types[REGISTER_TYPES];    /* none: every type */
    const char *host_args[REGISTER_HOST_ARGS]; /* inputs and outputs on the host */
    uint32_t priority; /* 1: before a kernel that TensorFlow itself has for such devices */
    void *(*create)(TF_OpKernelConstruction *construction);
    void (*compute)(void *kernel, TF_OpKernelContext *context);
    void (*destroy)(void *kernel);
} register_kernel_t;

/* Registers one kernel. An op may have only one kernel of this plug-in for a combination of types,
 * because TensorFlow refuses to choose between two. */
void register_kernel(const register_kernel_t *kernel);

/* Registers all kernels: those of the op table, and each set of kernel_sets.def. `wrap` may replace
 * the functions of each before it is registered. */
void register_all(void (*wrap)(register_kernel_t *kernel));

/* The function of each set, such as bitcast_register. */
#define KERNEL_SET(name) void name##_register(void);
#include "kernel_sets.def"
#undef KERNEL_SET

#endif
