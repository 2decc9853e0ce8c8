/* SPDX-License-Identifier: Apache-2.0 */
/* Slices whose place is an input: XlaDynamicSlice and XlaDynamicUpdateSlice, which Keras calls for
 * keras.ops.slice_update. TensorFlow would compile both by XLA, which has no compiler for Gantry's
 * devices. */
#include <gantry/ops.h>

#include "bridge.h"

/* A slice of an input: where it begins in each dimension, and its shape. */
typedef struct dynamic_slice_t {
    int64_t begin[GANTRY_MAX_RANK];
    gantry_shape_t shape;
} dynamic_slice_t;

/* Reads the list of input i, which must have one number for each dimension. */
static void read_numbers(bridge_call_t *call, int i, const char *name, int32_t rank,
                         int64_t *out_numbers) {
    TF_Tensor *tensor;
    (void)bridge_host_input(call, i, &tensor);
    if (bridge_has_failed(call)) return;
    const int64_t count = TF_TensorElementCount(tensor);
    if (TF_NumDims(tensor) != 1 || count != rank) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "%s has %lld numbers in %d dimensions; a vector of %d is accepted, the number "
                    "of the input's dimensions",
                    name, (long long)count, TF_NumDims(tensor), rank);
        return;
    }
    for (int32_t d = 0; d < rank; ++d) out_numbers[d] = bridge_host_int(tensor, d);
}

/* Follows XLA's rule: a slice that would end outside begins earlier. */
static void move_inside(bridge_call_t *call, dynamic_slice_t *slice, const gantry_shape_t *input) {
    for (int32_t d = 0; d < input->rank; ++d) {
        const int64_t last = input->dims[d] - slice->shape.dims[d];
        if (slice->shape.dims[d] < 0 || last < 0) {
            bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                        "a slice of %lld in dimension %d, which has %lld elements",
                        (long long)slice->shape.dims[d], d, (long long)input->dims[d]);
            return;
        }
        if (slice->begin[d] > last) slice->begin[d] = last;
        if (slice->begin[d] < 0) slice->begin[d] = 0;
    }
}

/* ---- XlaDynamicSlice ---- */

static void dynamic_slice_compute(void *kernel, TF_OpKernelContext *context) {
    (void)kernel;
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *input = bridge_input(&call, 0);
    if (input) {
        const gantry_shape_t *shape = gantry_tensor_shape(input);
        dynamic_slice_t slice = {.shape.rank = shape->rank};
        read_numbers(&call, 1, "start_indices", shape->rank, slice.begin);
        if (!bridge_has_failed(&call))
            read_numbers(&call, 2, "size_indices", shape->rank, slice.shape.dims);
        if (!bridge_has_failed(&call)) move_inside(&call, &slice, shape);
        if (!bridge_has_failed(&call))
            bridge_output(&call, 0, gantry_slice(call.scope, input, slice.begin, slice.shape.dims));
    }
    bridge_end(&call);
}

/* ---- XlaDynamicUpdateSlice ---- */

/* Puts the update at its place in a tensor of the input's shape. The mask is true around the
 * place. */
static const gantry_tensor_t *put_update(bridge_call_t *call, const dynamic_slice_t *slice,
                                         const gantry_tensor_t *input,
                                         const gantry_tensor_t *update) {
    static const uint8_t yes = 1;
    const gantry_shape_t *shape = gantry_tensor_shape(input);
    int64_t paddings[2 * GANTRY_MAX_RANK];
    for (int32_t d = 0; d < shape->rank; ++d) {
        paddings[2 * d] = slice->begin[d];
        paddings[2 * d + 1] = shape->dims[d] - slice->begin[d] - slice->shape.dims[d];
    }
    const gantry_pad_options_t around = {
        .value = gantry_constant(call->scope, GANTRY_BOOL, GANTRY_SCALAR, &yes, sizeof yes)};
    const gantry_tensor_t *mask = gantry_pad(
        call->scope, gantry_zeros(call->scope, GANTRY_BOOL, slice->shape), paddings, &around);
    return gantry_select(call->scope, mask, input, gantry_pad(call->scope, update, paddings, NULL));
}

static void dynamic_update_slice_compute(void *kernel, TF_OpKernelContext *context) {
    (void)kernel;
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *input = bridge_input(&call, 0), *update = bridge_input(&call, 1);
    if (input && update) {
        const gantry_shape_t *shape = gantry_tensor_shape(input);
        dynamic_slice_t slice = {.shape = *gantry_tensor_shape(update)};
        if (slice.shape.rank != shape->rank) {
            bridge_fail(&call, GANTRY_INVALID_ARGUMENT,
                        "update has %d dimensions; accepted are %d, as many as the input's",
                        slice.shape.rank, shape->rank);
        } else {
            read_numbers(&call, 2, "indices", shape->rank, slice.begin);
        }
        if (!bridge_has_failed(&call)) move_inside(&call, &slice, shape);
        if (!bridge_has_failed(&call))
            bridge_output(&call, 0, put_update(&call, &slice, input, update));
    }
    bridge_end(&call);
}

/* ---- the kernels ---- */

void dynamic_slice_register(void) {
    register_kernel_t kernel = {
        .op = "XlaDynamicSlice",
        .types = {{"T", GANTRY_DTYPES_NUMERIC_BOOL}, {"Tindices", GANTRY_DTYPES_INTS}},
        .host_args = {"start_indices", "size_indices"},
        .priority = 1, /* before TensorFlow's kernel, which compiles by XLA */
        .create = bridge_create_nothing,
        .compute = dynamic_slice_compute,
        .destroy = bridge_destroy_nothing};
    register_kernel(&kernel);
    kernel.op = "XlaDynamicUpdateSlice";
    kernel.host_args[0] = "indices";
    kernel.host_args[1] = NULL;
    kernel.compute = dynamic_update_slice_compute;
    register_kernel(&kernel);
}
