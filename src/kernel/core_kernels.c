/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/core_kernels.h"

/* The dispatcher makes the alias itself; no work is left. */
static int32_t compute_alias(gantry_op_call_t *call) {
    (void)call;
    return 0;
}

static const char *const reshape_host[] = {"shape"};
static const char *const expand_dims_host[] = {"dim"};

#define ALIAS(token, name, hosts, count)                                                           \
    static const gantry_kernel_def_t token##_kernel = {.struct_size = sizeof(gantry_kernel_def_t), \
                                                       .priority = 100,                            \
                                                       .op = name,                                 \
                                                       .host_args = hosts,                         \
                                                       .host_arg_count = count,                    \
                                                       .promises = GANTRY_KERNEL_BATCH_INVARIANT,  \
                                                       .compute = compute_alias};

ALIAS(identity, "Identity", 0, 0)
ALIAS(stop_gradient, "StopGradient", 0, 0)
ALIAS(squeeze, "Squeeze", 0, 0)
ALIAS(bitcast, "Bitcast", 0, 0)
ALIAS(reshape, "Reshape", reshape_host, 1)
ALIAS(expand_dims, "ExpandDims", expand_dims_host, 1)

static const gantry_kernel_def_t *const kernels[] = {&identity_kernel, &stop_gradient_kernel,
                                                     &squeeze_kernel,  &bitcast_kernel,
                                                     &reshape_kernel,  &expand_dims_kernel};

uint32_t gantry__core_kernels(const gantry_kernel_def_t *const **out_kernels) {
    *out_kernels = kernels;
    return sizeof kernels / sizeof kernels[0];
}
