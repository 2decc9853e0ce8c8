/* SPDX-License-Identifier: Apache-2.0 */
/* Bitcast: the same memory under another type. A smaller type gets a further dimension, a larger
 * one takes the last:
 *
 *     float32[2, 3] as uint8     [2, 3, 4]
 *     uint8[2, 3, 4] as float32  [2, 3]
 */
#include "bridge.h"

/* Writes the shape under the other type. Returns false if the call has failed. */
static bool cast_shape(bridge_call_t *call, gantry_shape_t *shape, size_t from, size_t to) {
    if (from == to) return true;
    if (from > to) {
        if (shape->rank == GANTRY_MAX_RANK) {
            bridge_fail(call, GANTRY_UNIMPLEMENTED,
                        "Bitcast to a tensor of %d dimensions; "
                        "accepted are %d",
                        shape->rank + 1, GANTRY_MAX_RANK);
            return false;
        }
        shape->dims[shape->rank++] = (int64_t)(from / to);
        return true;
    }
    if (shape->rank == 0 || shape->dims[shape->rank - 1] != (int64_t)(to / from)) {
        bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                    "Cannot bitcast due to shape: the last dimension must be %zu, the number of "
                    "elements of %zu bytes in one of %zu",
                    to / from, from, to);
        return false;
    }
    --shape->rank;
    return true;
}

static void bitcast_compute(void *kernel, TF_OpKernelContext *context) {
    (void)kernel;
    bridge_call_t call;
    if (!bridge_begin(&call, context)) return;
    const gantry_tensor_t *input = bridge_input(&call, 0);
    if (input) {
        const gantry_dtype_t dtype = (gantry_dtype_t)TF_ExpectedOutputDataType(context, 0);
        gantry_shape_t shape = *gantry_tensor_shape(input);
        const size_t from = gantry_dtype_size(gantry_tensor_dtype(input));
        if (cast_shape(&call, &shape, from, gantry_dtype_size(dtype)))
            bridge_output(&call, 0, gantry_tensor_view(call.scope, input, 0, dtype, shape));
    }
    bridge_end(&call);
}

void bitcast_register(void) {
    const uint64_t types = GANTRY_DTYPES_NUMERIC | GANTRY_DTYPE_BIT(GANTRY_COMPLEX64);
    register_kernel(&(register_kernel_t){.op = "Bitcast",
                                         .types = {{"T", types}, {"type", types}},
                                         .create = bridge_create_nothing,
                                         .compute = bitcast_compute,
                                         .destroy = bridge_destroy_nothing});
}
