/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul and BatchMatMul of 16-bit types: widens the operands to 32 bits, computes that product,
 * and casts its elements back. A product of two float16 or bfloat16 is exact in float32, and their
 * sum is rounded once to 16 bits. An int32 cast to int16 wraps around just as int16 sums would.
 *
 * Cost: the 32-bit product, one pass over each tensor, and 4 bytes of scratch for each element. */
#include <string.h>

#include "host/try.h"
#include "kernels/elementwise/elementwise_cpu.h"
#include "kernels/matmul/matmul_cpu.h"

#define LINE_BYTES 64

#define WIDE_BYTES 4

/* The tensors a, b and c with 32-bit elements: copies of the call's own, with data in scratch. */
typedef struct wide_t {
    gantry_arg_t args[3];
} wide_t;

static int32_t place_wide(gantry_op_call_t *call, int32_t dtype, wide_t *wide) {
    const gantry_arg_t *const own[3] = {call->inputs[0], call->inputs[1], call->outputs[0]};
    uint64_t offsets[3], bytes = 0;
    for (int i = 0; i < 3; ++i) {
        offsets[i] = bytes;
        bytes += ((uint64_t)own[i]->element_count * WIDE_BYTES + LINE_BYTES - 1) / LINE_BYTES *
                 LINE_BYTES;
    }
    gantry_span_t span;
    GANTRY__TRY(call->services->scratch(call, bytes, &span));
    for (int i = 0; i < 3; ++i) {
        wide->args[i] = *own[i];
        wide->args[i].dtype = dtype;
        wide->args[i].span = (gantry_span_t){span.region, span.offset_bytes + offsets[i],
                                             (uint64_t)own[i]->element_count * WIDE_BYTES};
        wide->args[i].data = (char *)(uintptr_t)(span.region + span.offset_bytes + offsets[i]);
    }
    return GANTRY_OK;
}

static int32_t matmul_cpu_narrow_multiply(gantry_op_call_t *call, wide_t *wide) {
    const gantry_arg_t *const *inputs = call->inputs;
    gantry_arg_t *const *outputs = call->outputs;
    const gantry_arg_t *const wide_inputs[] = {&wide->args[0], &wide->args[1]};
    gantry_arg_t *const wide_outputs[] = {&wide->args[2]};
    call->inputs = wide_inputs;
    call->outputs = wide_outputs;
    int32_t status = gantry__cpu_matmul(call, NULL);
    call->inputs = inputs;
    call->outputs = outputs;
    return status;
}

int32_t gantry__cpu_matmul_narrow(gantry_op_call_t *call) {
    const gantry_arg_t *c = call->outputs[0];
    const int32_t dtype = c->dtype == GANTRY_INT16 ? GANTRY_INT32 : GANTRY_FLOAT32;
    if (call->inputs[0]->element_count == 0) { /* a sum of no terms */
        memset(c->data, 0, (size_t)c->element_count * gantry__k_size(c->dtype));
        return GANTRY_OK;
    }
    wide_t wide;
    GANTRY__TRY(place_wide(call, dtype, &wide));
    for (int i = 0; i < 2; ++i) {
        const gantry_arg_t *x = call->inputs[i];
        gantry__cpu_convert(call->device, x->dtype, x->data, dtype, wide.args[i].data,
                            x->element_count, 0);
    }
    GANTRY__TRY(matmul_cpu_narrow_multiply(call, &wide));
    gantry__cpu_convert(call->device, dtype, wide.args[2].data, c->dtype, c->data, c->element_count,
                        0);
    return GANTRY_OK;
}
