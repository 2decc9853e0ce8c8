/* SPDX-License-Identifier: Apache-2.0 */
#include "train/tape/signature.h"

#include "shared/memory.h"

typedef const gantry_tensor_t tensor;

/* traced: the shape in the function's trace; NULL: the tensor's. */
static gantry_input_spec_t spec_of(tensor *given, const gantry_shape_t *traced) {
    gantry_input_spec_t spec = {NULL, gantry_tensor_dtype(given),
                                traced ? *traced : *gantry_tensor_shape(given)};
    for (int32_t d = 0; d < spec.shape.rank; ++d) {
        if (spec.shape.dims[d] < 0) spec.shape.dims[d] = GANTRY_OPEN_SIZE;
    }
    return spec;
}

gantry_status_t gantry__signature_of_call(gantry__signature_t *signature,
                                          const gantry__callee_t *callee) {
    signature->count = callee->input_count;
    signature->inputs = gantry__alloc(callee->input_count, sizeof *signature->inputs);
    if (!signature->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < callee->input_count; ++i)
        signature->inputs[i] =
            spec_of(callee->inputs[i], callee->shapes ? &callee->shapes[i] : NULL);
    return GANTRY_OK;
}

gantry_status_t gantry__signature_of_backward(gantry__signature_t *signature,
                                              const gantry__gradient_block_t *block,
                                              const gantry__record_t *record, tensor *const *inputs,
                                              size_t count) {
    const gantry_shape_t *shapes = record->shapes;
    size_t at = 0;
    signature->count = count;
    signature->inputs = gantry__alloc(count, sizeof *signature->inputs);
    if (!signature->inputs) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < block->input_count + block->output_count; ++i) {
        if (i >= block->input_count && !block->has_dy[i - block->input_count]) continue;
        signature->inputs[at] = spec_of(inputs[at], shapes ? &shapes[i] : NULL);
        ++at;
    }
    return GANTRY_OK;
}

bool gantry__signature_equal(const gantry__signature_t *a, const gantry__signature_t *b) {
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; ++i)
        equal = a->inputs[i].dtype == b->inputs[i].dtype &&
                gantry_shape_equal(&a->inputs[i].shape, &b->inputs[i].shape);
    return equal;
}
