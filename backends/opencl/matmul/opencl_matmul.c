/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a call as plain numbers (opencl_matmul.h). */
#include "opencl/matmul/opencl_matmul.h"

#include <string.h>

#include "kernels/common/kernel_types.h"

/* The number of elements from one index of batch dimension d (counted in the output's) to the next,
 * 0 where the tensor is broadcast. */
static int64_t batch_stride(const gantry_arg_t *arg, int32_t output_rank, int32_t d) {
    int32_t own = d - (output_rank - arg->rank);
    int64_t stride = 1;
    if (own < 0 || arg->dims[own] == 1) return 0;
    for (int32_t i = own + 1; i < arg->rank; ++i) stride *= arg->dims[i];
    return stride;
}

/* Joins batch dimensions through which both tensors run evenly, so that few remain. */
static void read_batches(const gantry_op_call_t *call, gantry__opencl_matmul_t *matmul) {
    const gantry_arg_t *output = call->outputs[0];
    int32_t rank = 0;
    matmul->batch_count = 1;
    for (int32_t d = 0; d < output->rank - 2; ++d) {
        int64_t dim = output->dims[d];
        int64_t a_stride = batch_stride(call->inputs[0], output->rank, d);
        int64_t b_stride = batch_stride(call->inputs[1], output->rank, d);
        if (dim == 1) continue;
        matmul->batch_count *= dim;
        if (rank > 0 && matmul->a_batch[rank - 1] == dim * a_stride &&
            matmul->b_batch[rank - 1] == dim * b_stride) {
            matmul->batch_dims[rank - 1] *= dim;
            --rank;
        } else {
            matmul->batch_dims[rank] = dim;
        }
        matmul->a_batch[rank] = a_stride;
        matmul->b_batch[rank] = b_stride;
        ++rank;
    }
    matmul->batch_rank = rank;
}

/* Makes one taller product of a whole run of a's with one b. */
static void opencl_matmul_fold_batches(gantry__opencl_matmul_t *matmul) {
    if (matmul->batch_rank == 1 && !matmul->is_a_transposed && matmul->b_batch[0] == 0 &&
        matmul->a_batch[0] == matmul->m * matmul->k) {
        matmul->m *= matmul->batch_count;
        matmul->batch_rank = 0;
        matmul->batch_count = 1;
    }
}

void gantry__opencl_matmul_read(const gantry_op_call_t *call, gantry__opencl_matmul_t *out_matmul) {
    const gantry_arg_t *a = call->inputs[0];
    const gantry_arg_t *output = call->outputs[0];
    bool is_batched = strcmp(call->op, "BatchMatMul") == 0;
    memset(out_matmul, 0, sizeof *out_matmul);
    out_matmul->dtype = a->dtype;
    out_matmul->is_a_transposed =
        gantry__k_attr_int(call, is_batched ? "adj_x" : "transpose_a", 0) != 0;
    out_matmul->is_b_transposed =
        gantry__k_attr_int(call, is_batched ? "adj_y" : "transpose_b", 0) != 0;
    out_matmul->m = output->dims[output->rank - 2];
    out_matmul->n = output->dims[output->rank - 1];
    out_matmul->k = a->dims[a->rank - (out_matmul->is_a_transposed ? 2 : 1)];
    read_batches(call, out_matmul);
    opencl_matmul_fold_batches(out_matmul);
}

void gantry__opencl_matmul_read_groups(const gantry_op_call_t *call,
                                       gantry__opencl_matmul_t *out_matmul) {
    const gantry_arg_t *x = call->inputs[0], *w = call->inputs[1];
    *out_matmul =
        (gantry__opencl_matmul_t){.dtype = x->dtype,
                                  .m = x->dims[0],
                                  .n = w->dims[2],
                                  .k = x->dims[2],
                                  .batch_rank = 1,
                                  .batch_count = x->dims[1],
                                  .groups = x->dims[1],
                                  .is_interleaved = gantry__k_attr_int(call, "interleaved", 0) != 0,
                                  .batch_dims = {x->dims[1]},
                                  .a_batch = {x->dims[2]},
                                  .b_batch = {w->dims[2]}};
}

int32_t gantry__opencl_matmul_clear(gantry_op_call_t *call) {
    const uint32_t zero = 0;
    return call->services->fill(call, &call->outputs[0]->span, &zero, sizeof zero);
}

int32_t gantry__opencl_lanes(const gantry_device_info_t *info) {
    return info->native_vector_width >= 16 ? 16 : info->native_vector_width >= 8 ? 8 : 4;
}
