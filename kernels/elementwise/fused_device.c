/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/device_kernel.h"
#include "kernels/elementwise/fused_shape.h"
static int32_t device_compute_fused(gantry_op_call_t *call) {
    return call->services->fail(call, GANTRY_UNIMPLEMENTED, "not yet");
}
static const gantry_kernel_def_t fused_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_OP, NULL, 0, NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE,
                        .compute = device_compute_fused);
static const gantry_kernel_def_t *const kernels[] = {&fused_kernel};
GANTRY_K_PACK(fused, "fused", kernels);
