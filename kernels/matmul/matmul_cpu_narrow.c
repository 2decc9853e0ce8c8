/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul and BatchMatMul of types of 16 bits: the operands are widened to 32, that product runs,
 * and each of its elements is cast back. Of float16 and bfloat16 the products of two are exact in
 * float32, and their sum is rounded once; int16 wraps around from int32 as it would in itself.
 *
 * Cost: one pass over each tensor beside the wide product, and 4 bytes of scratch for each of
 * their elements. */
#include <string.h>

#include "kernels/elementwise/elementwise_cpu.h"
#include "kernels/matmul/matmul_cpu.h"

#define LINE_BYTES 64

#define WIDE_BYTES 4

/* The tensors a, b and c of 32 bits: copies of the call's own whose data lies in scratch. */
typedef struct wide_t {
    gantry_arg_t args[3];
} wide_t;

static int32_t place(gantry_op_call_t *call, int32_t dtype, wide_t *wide) {
    const gantry_arg_t *const own[3] = {call->inputs[0], call->inputs[1], call->outputs[0]};
    uint64_t offsets[3], bytes = 0;
    gantry_span_t span;
    for (int i = 0; i < 3; ++i) {
        offsets[i] = bytes;
        bytes += ((uint64_t)own[i]->element_count * WIDE_BYTES + LINE_BYTES - 1) / LINE_BYTES *
                 LINE_BYTES;
    }
    int32_t status = call->services->scratch(call, bytes, &span);
    if (status != GANTRY_OK) return status;
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
    int32_t status = gantry__cpu_matmul(call);
    call->inputs = inputs;
    call->outputs = outputs;
    return status;
}

int32_t gantry__cpu_matmul_narrow(gantry_op_call_t *call) {
    const gantry_arg_t *c = call->outputs[0];
    const int32_t dtype = c->dtype == GANTRY_INT16 ? GANTRY_INT32 : GANTRY_FLOAT32;
    wide_t wide;
    /* a sum over nothing: place would have nothing to widen */
    if (call->inputs[0]->element_count == 0) {
        memset(c->data, 0, (size_t)c->element_count * gantry__k_size(c->dtype));
        return GANTRY_OK;
    }
    int32_t status = place(call, dtype, &wide);
    if (status != GANTRY_OK) return status;
    for (int i = 0; i < 2; ++i) {
        const gantry_arg_t *x = call->inputs[i];
        gantry__cpu_convert(call->device, x->dtype, x->data, dtype, wide.args[i].data,
                            x->element_count, 0);
    }
    status = matmul_cpu_narrow_multiply(call, &wide);
    if (status == GANTRY_OK) {
        gantry__cpu_convert(call->device, dtype, wide.args[2].data, c->dtype, c->data,
                            c->element_count, 0);
    }
    return status;
}
