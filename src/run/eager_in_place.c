/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs in the memory of inputs:
 *
 *     donated        output 0 takes any input of its size that ends with the op
 *     overwritten    output i takes input i: the former value of a variable that an op updates */
#include "device/device_open.h"
#include "device/logical_device.h"
#include "run/eager_state.h"

static bool has_room_in(const gantry__eager_t *eager, uint32_t input, uint32_t output) {
    const gantry_tensor_t *tensor = eager->inputs[input];
    const gantry_arg_t *out = &eager->results[output];
    const uint64_t bytes =
        (uint64_t)out->element_count * gantry_dtype_size((gantry_dtype_t)out->dtype);
    return eager->used[input] == tensor && tensor->elements == out->element_count &&
           tensor->size_bytes == bytes && gantry__tensor_is_sole(tensor);
}

/* The first of the inputs over which the kernel may not write output 0. */
static uint32_t end_of_inputs(const gantry__eager_t *eager) {
    const uint32_t flags = eager->call.abi.kernel->flags;
    if (flags & GANTRY_KERNEL_IN_PLACE) return eager->input_count;
    if (!(flags & GANTRY_KERNEL_IN_PLACE_FIRST)) return 0;
    for (uint32_t i = 1; i < eager->input_count; ++i) {
        if (eager->inputs[i] == eager->inputs[0]) return 0;
    }
    return 1;
}

/* A fused program reads all operands of an element before it writes results. Results that inherit
 * faults need memory for them after the kernel, when the former value must no longer be needed. */
static bool is_overwritten(const gantry__eager_t *eager, uint32_t i) {
    return i < 32 && !eager->has_faults && eager->scope->overwritten >> i & 1 &&
           (i == 0 || eager->op->id == GANTRY__OP_ID__FusedElementwise);
}

const gantry_tensor_t *gantry__eager_find_donor(const gantry__eager_t *eager, uint32_t i) {
    const uint32_t end = end_of_inputs(eager);
    if (i < end && is_overwritten(eager, i))
        return has_room_in(eager, i, i) ? eager->inputs[i] : NULL;
    for (uint32_t k = 0; k < end && i == 0; ++k) {
        if (gantry__scope_is_donated(eager->scope, eager->inputs[k]) && has_room_in(eager, k, 0))
            return eager->inputs[k];
    }
    return NULL;
}
